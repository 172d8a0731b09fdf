//! Scalar functions, element by element: the rows of the table of scalar operations as methods.

use cotan_ir::scalar::Op;

use crate::arr::{Arr, Operand};
use crate::element::{Float, Number};
use crate::ops::elementwise;

macro_rules! unary {
    ($bound:ident: $($method:ident $op:ident $doc:literal;)*) => {
        impl<T: $bound> Arr<T> { $(
            #[doc = $doc]
            #[track_caller]
            pub fn $method(self) -> Arr<T> {
                Arr::from_raw(elementwise(Op::$op, &[self.raw]))
            }
        )* }
    };
}

macro_rules! binary {
    ($bound:ident: $($method:ident $op:ident $doc:literal;)*) => {
        impl<T: $bound> Arr<T> { $(
            #[doc = $doc]
            #[track_caller]
            pub fn $method(self, other: impl Operand<T>) -> Arr<T> {
                Arr::from_raw(elementwise(Op::$op, &[self.raw, other.operand().raw]))
            }
        )* }
    };
}

unary! { Number:
    abs Abs "The absolute value; its derivative at 0 is 0.";
    sign Sign "-1, 0 or 1.";
}

binary! { Number:
    minimum Min "The smaller of two, element by element; of equal ones the derivative goes to the first.";
    maximum Max "The larger of two, element by element; of equal ones the derivative goes to the first.";
    floor_div FloorDiv "The quotient rounded down. An integer divided by 0 is 0.";
}

unary! { Float:
    recip Recip "`1 / x`.";
    sqrt Sqrt "The square root.";
    cbrt Cbrt "The cube root.";
    exp Exp "The exponential.";
    exp2 Exp2 "2 to the power of `x`.";
    expm1 Expm1 "`exp(x) - 1`, precise near 0.";
    log Log "The natural logarithm.";
    log2 Log2 "The logarithm to base 2.";
    log10 Log10 "The logarithm to base 10.";
    log1p Log1p "`log(1 + x)`, precise near 0.";
    sin Sin "The sine.";
    cos Cos "The cosine.";
    tan Tan "The tangent.";
    asin Asin "The inverse sine.";
    acos Acos "The inverse cosine.";
    atan Atan "The inverse tangent.";
    sinh Sinh "The hyperbolic sine.";
    cosh Cosh "The hyperbolic cosine.";
    tanh Tanh "The hyperbolic tangent.";
    asinh Asinh "The inverse hyperbolic sine.";
    acosh Acosh "The inverse hyperbolic cosine.";
    atanh Atanh "The inverse hyperbolic tangent.";
    erf Erf "The error function.";
    erfc Erfc "`1 - erf(x)`, precise for large `x`.";
    lgamma Lgamma "The logarithm of the absolute value of the gamma function.";
    digamma Digamma "The derivative of `lgamma`.";
    logistic Logistic "`1 / (1 + exp(-x))`.";
    floor Floor "Rounded down; its derivative is 0.";
    ceil Ceil "Rounded up; its derivative is 0.";
    round Round "Rounded to the nearest integer, halves to even; its derivative is 0.";
    trunc Trunc "Rounded towards 0; its derivative is 0.";
    stop_gradient StopGradient "The same values, as constants: no derivative passes.";
}

binary! { Float:
    pow Pow "`x` to a real power.";
    atan2 Atan2 "The angle of the point `(other, self)`.";
}

impl<T: Float> Arr<T> {
    /// `x` to an integer power.
    #[track_caller]
    pub fn powi(self, n: impl Operand<i64>) -> Arr<T> {
        Arr::from_raw(elementwise(Op::Powi, &[self.raw, n.operand().raw]))
    }

    /// The polygamma function of order `n`: derivative number `n` of [`digamma`](Arr::digamma).
    #[track_caller]
    pub fn polygamma(self, n: impl Operand<i64>) -> Arr<T> {
        Arr::from_raw(elementwise(Op::Polygamma, &[n.operand().raw, self.raw]))
    }
}

impl<T: Number> Arr<T> {
    /// `x * x`.
    #[track_caller]
    pub fn square(self) -> Arr<T> {
        self * self
    }

    /// `x` where it lies between `lo` and `hi`, else the nearer of these.
    #[doc(alias = "clip")]
    #[track_caller]
    pub fn clamp(self, lo: impl Operand<T>, hi: impl Operand<T>) -> Arr<T> {
        self.maximum(lo).minimum(hi)
    }
}

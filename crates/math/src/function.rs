//! The functions as data: what each is called, where its formula holds, and its value at scalars.

use crate::arith::Pair;
use crate::machine::{Double, Machine, Precision, Single};
use crate::{double, single};

/// The largest arguments of the formulas of the circular functions.
const CIRCULAR64: f64 = (1u64 << 30) as f64;
const CIRCULAR32: f64 = (1u64 << 16) as f64;

/// What an argument of a circular function was reduced to: $|x| = n \pi/2 + r$ up to whole turns, and
/// $r$ as a sum.
#[derive(Clone, Copy, Debug)]
pub struct Reduced<R, B> {
    /// $r$.
    pub high: R,
    /// What is left of $r$.
    pub low: R,
    /// $n$.
    pub n: B,
}

/// The functions of one number: which have a formula in single precision, and what they are.
macro_rules! unary {
    ($($variant:ident $name:ident $single:ident $doc:literal;)*) => {
        /// A function of one number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Unary { $(#[doc = $doc] $variant),* }

        impl Unary {
            /// All of them.
            pub const ALL: &[Unary] = &[$(Unary::$variant),*];

            /// The name of the function.
            pub fn name(self) -> &'static str {
                match self { $(Unary::$variant => stringify!($name)),* }
            }

            /// The function as operations of a machine, or `None` if it has no formula in its
            /// precision: in single precision it is then that of double precision, rounded.
            ///
            /// Where there is a [`limit`](Unary::limit), this is the function only up to there.
            #[inline(always)]
            pub fn body<M: Machine>(self, m: &M, x: M::Real) -> Option<M::Real> {
                match m.precision() {
                    Precision::Double => match self {
                        $(Unary::$variant => Some(double::$name(m, x))),*
                    },
                    Precision::Single => match self {
                        $(Unary::$variant => unary!(@$single $name m x)),*
                    },
                }
            }

            /// Whether the function has a formula in single precision.
            pub fn has_single(self) -> bool {
                match self { $(Unary::$variant => unary!(@$single)),* }
            }
        }
    };
    (@own $name:ident $m:ident $x:ident) => { Some(single::$name($m, $x)) };
    (@rounded $name:ident $m:ident $x:ident) => { None };
    (@own) => { true };
    (@rounded) => { false };
}

unary! {
    Exp exp own "e to the power x.";
    Exp2 exp2 own "2 to the power x.";
    Expm1 expm1 own "e to the power x, minus 1.";
    Log log own "The natural logarithm.";
    Log2 log2 own "The logarithm to base 2.";
    Log10 log10 rounded "The logarithm to base 10.";
    Log1p log1p own "The natural logarithm of 1 + x.";
    Cbrt cbrt rounded "The cube root.";
    Sin sin own "The sine.";
    Cos cos own "The cosine.";
    Tan tan rounded "The tangent.";
    Asin asin rounded "The inverse sine.";
    Acos acos rounded "The inverse cosine.";
    Atan atan rounded "The inverse tangent.";
    Sinh sinh rounded "The hyperbolic sine.";
    Cosh cosh rounded "The hyperbolic cosine.";
    Tanh tanh own "The hyperbolic tangent.";
    Asinh asinh rounded "The inverse hyperbolic sine.";
    Acosh acosh rounded "The inverse hyperbolic cosine.";
    Atanh atanh rounded "The inverse hyperbolic tangent.";
    Erf erf rounded "The error function.";
    Erfc erfc rounded "1 minus the error function.";
    Logistic logistic own "1 / (1 + exp(-x)).";
}

/// A function of two numbers. In single precision it is that of double precision, rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The first to the power of the second.
    Pow,
    /// The angle of the point whose second coordinate comes first.
    Atan2,
}

/// Runs a function compiled with fused multiplication and addition where the machine has it: the
/// bits are the same without, but then each of these operations is a call.
macro_rules! with_fma {
    ($plain:ident($($arg:ident: $t:ty),*) -> $out:ty) => {{
        #[cfg(target_arch = "x86_64")]
        fn best($($arg: $t),*) -> $out {
            #[target_feature(enable = "fma")]
            fn fused($($arg: $t),*) -> $out {
                $plain($($arg),*)
            }
            if is_x86_feature_detected!("fma") {
                // SAFETY: the machine has the instructions.
                #[allow(unsafe_code)]
                return unsafe { fused($($arg),*) };
            }
            $plain($($arg),*)
        }
        #[cfg(not(target_arch = "x86_64"))]
        use $plain as best;
        best($($arg),*)
    }};
}

#[inline(always)]
fn unary64(f: Unary, x: f64) -> f64 {
    f.body(&Double, x).unwrap_or(x)
}

#[inline(always)]
fn unary32(f: Unary, x: f32) -> Option<f32> {
    f.body(&Single, x)
}

#[inline(always)]
fn binary64(f: Binary, x: f64, y: f64) -> f64 {
    f.body(&Double, x, y).unwrap_or(x)
}

impl Unary {
    /// The largest absolute value of an argument for which [`Unary::body`] is the function, if that
    /// is not so for all. Past it, the function is [`Unary::f64`] or [`Unary::f32`]: an executor
    /// calls these for the elements concerned. NaN is not among them.
    pub fn limit(self, precision: Precision) -> Option<f64> {
        match (self, precision) {
            (Unary::Sin | Unary::Cos | Unary::Tan, Precision::Double) => Some(CIRCULAR64),
            (Unary::Sin | Unary::Cos, Precision::Single) => Some(CIRCULAR32),
            _ => None,
        }
    }

    /// A circular function in double precision past its limit, as operations of a machine: of an
    /// argument and what it was [reduced](double::reduce_large) to.
    #[inline(always)]
    pub fn of_reduced<M: Machine>(
        self,
        m: &M,
        x: M::Real,
        reduced: Reduced<M::Real, M::Bits>,
    ) -> M::Real {
        let Reduced { high, low, n } = reduced;
        let r = Pair { high, low };
        match self {
            Unary::Sin => double::sin_of(m, r, n, x),
            Unary::Cos => double::cos_of(m, r, n),
            Unary::Tan => double::tan_of(m, r, n, x),
            // Others have no limit.
            _ => x,
        }
    }

    /// The function of one `f64`.
    pub fn f64(self, x: f64) -> f64 {
        if self.limit(Precision::Double).is_some_and(|limit| x.abs() > limit) {
            let (high, low, n) = double::reduce_large(x.abs());
            let reduced = Reduced { high, low, n };
            return if x.is_finite() { self.of_reduced(&Double, x, reduced) } else { f64::NAN };
        }
        let f = self;
        with_fma!(unary64(f: Unary, x: f64) -> f64)
    }

    /// The function of one `f32`.
    pub fn f32(self, x: f32) -> f32 {
        let past = |limit| f64::from(x.abs()) > limit;
        if !self.has_single() || self.limit(Precision::Single).is_some_and(past) {
            return self.f64(f64::from(x)) as f32;
        }
        let f = self;
        with_fma!(unary32(f: Unary, x: f32) -> Option<f32>).unwrap_or(x)
    }
}

impl Binary {
    /// All of them.
    pub const ALL: &[Binary] = &[Binary::Pow, Binary::Atan2];

    /// The name of the function.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Pow => "pow",
            Binary::Atan2 => "atan2",
        }
    }

    /// The function as operations of a machine of double precision, `None` for any other.
    #[inline(always)]
    pub fn body<M: Machine>(self, m: &M, x: M::Real, y: M::Real) -> Option<M::Real> {
        match (m.precision(), self) {
            (Precision::Double, Binary::Pow) => Some(double::pow(m, x, y)),
            (Precision::Double, Binary::Atan2) => Some(double::atan2(m, x, y)),
            (Precision::Single, _) => None,
        }
    }

    /// The function of two `f64`.
    pub fn f64(self, x: f64, y: f64) -> f64 {
        let f = self;
        with_fma!(binary64(f: Binary, x: f64, y: f64) -> f64)
    }

    /// The function of two `f32`.
    pub fn f32(self, x: f32, y: f32) -> f32 {
        self.f64(f64::from(x), f64::from(y)) as f32
    }
}

//! **The table**: one row per scalar operation.
//!
//! `a`, `b`, `c` are the arguments and `y` is the result in the partial derivatives.
//! At kinks the derivative is the one the text gives: `|x|' = sign(0) = 0` at `0`,
//! `min` and `max` attribute ties to their first argument.

use std::cmp::Ordering;

use super::special::{digamma, floored_rem, lgamma, polygamma};
use super::{Domain::*, Field1, Field2, Fp, Notation, Real1, Real2, Row, Rule, precedence as p};
use cotan_array::Dtype;
use cotan_math::{Binary, Unary};

const CALL: Notation = Notation::Call;
const fn infix(text: &'static str, strength: u8) -> Notation {
    Notation::Infix(text, strength)
}
const fn prefix(text: &'static str, strength: u8) -> Notation {
    Notation::Prefix(text, strength)
}
const OPAQUE1: Field1 = Field1::Opaque;
const OPAQUE2: Field2 = Field2::Opaque;

/// An elementary function, opaque to the test field.
const fn unary(f: Unary) -> Rule {
    Rule::Real1(Real1::Elementary(f), OPAQUE1)
}
const fn binary(f: Binary) -> Rule {
    Rule::Real2(Real2::Elementary(f), OPAQUE2)
}
/// Another function of one float.
const fn rounded(f: fn(f64) -> f64) -> Rule {
    Rule::Real1(Real1::Rounded(f), OPAQUE1)
}

macro_rules! scalar_ops {
    ($($op:ident $name:literal $notation:expr, $rule:expr, $partials:expr,
       $zero:ident, $domains:expr, $cost:literal, $doc:literal;)*) => {
        /// The scalar operations. Each variant is documented by its row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op { $(#[doc = $doc] $op),* }

        pub(super) static ROWS: &[Row] = &[$(Row {
            op: Op::$op, name: $name, notation: $notation, rule: $rule, partials: &$partials,
            preserves_zero: $zero, domains: &$domains, cost: $cost, doc: $doc,
        }),*];
    };
}

const YES: bool = true;
const NO: bool = false;

scalar_ops! {
//  variant name notation, typing and evaluation, partial derivatives, op(0..) = 0?, domains, cost, doc
    Add "add" infix("+", p::ADD), Rule::Numeric2(|a, b| a + b, i64::wrapping_add, Field2::Exact(|a, b| a + b)),
        ["1", "1"], YES, [Any, Any], 1, "Sum. Integers wrap.";
    Sub "sub" infix("-", p::ADD), Rule::Numeric2(|a, b| a - b, i64::wrapping_sub, Field2::Exact(|a, b| a - b)),
        ["1", "-1"], YES, [Any, Any], 1, "Difference. Integers wrap.";
    Mul "mul" infix("*", p::MUL), Rule::Numeric2(|a, b| a * b, i64::wrapping_mul, Field2::Exact(|a, b| a * b)),
        ["b", "a"], YES, [Any, Any], 1, "Product. Integers wrap.";
    Div "div" infix("/", p::MUL), Rule::Real2(Real2::Rounded(|a, b| a / b), Field2::Exact(|a, b| a * b.recip())),
        ["recip(b)", "-(y / b)"], NO, [Any, NonZero], 4, "Quotient, as IEEE 754 has it.";
    FloorDiv "floor_div" infix("//", p::MUL), Rule::Numeric2(|a, b| libm::floor(a / b), floor_div, OPAQUE2),
        ["0", "0"], NO, [BetweenSteps, NonZero], 8, "Quotient rounded down. An integer divided by 0 is 0.";
    Rem "rem" infix("%", p::MUL), Rule::Numeric2(floored_rem, floor_rem, OPAQUE2),
        ["1", "-floor_div(a, b)"], NO, [BetweenSteps, NonZero], 8, "Remainder of `floor_div`, with the sign of the divisor. An integer modulo 0 is 0.";
    Neg "neg" prefix("-", p::NEG), Rule::Numeric1(|a| -a, i64::wrapping_neg, Field1::Exact(|a| -a)),
        ["-1"], YES, [Any], 1, "Negation. Integers wrap.";
    Abs "abs" CALL, Rule::Numeric1(f64::abs, i64::wrapping_abs, OPAQUE1),
        ["sign(a)"], YES, [NonZero], 1, "Absolute value; its derivative at 0 is 0. Integers wrap.";
    Sign "sign" CALL, Rule::Numeric1(sign, i64::signum, OPAQUE1),
        ["0"], YES, [NonZero], 1, "-1, 0 or 1; NaN for NaN; keeps the sign of a zero.";
    Min "min" CALL, Rule::Numeric2(|a, b| if b < a || b.is_nan() { b } else { a }, i64::min, Field2::Exact(Fp::min)),
        ["where(b < a, 0, 1)", "where(b < a, 1, 0)"], YES, [Any, Any], 1, "The smaller; the first when equal; NaN if either is.";
    Max "max" CALL, Rule::Numeric2(|a, b| if b > a || b.is_nan() { b } else { a }, i64::max, Field2::Exact(Fp::max)),
        ["where(b > a, 0, 1)", "where(b > a, 1, 0)"], YES, [Any, Any], 1, "The larger; the first when equal; NaN if either is.";

    Recip "recip" CALL, Rule::Real1(Real1::Rounded(|a| 1.0 / a), Field1::Exact(Fp::recip)),
        ["-(y * y)"], NO, [NonZero], 4, "1/a.";
    Sqrt "sqrt" CALL, rounded(libm::sqrt),
        ["0.5 / y"], YES, [Positive], 4, "Square root; NaN below 0.";
    Cbrt "cbrt" CALL, unary(Unary::Cbrt),
        ["1 / (3 * (y * y))"], YES, [NonZero], 16, "Cube root.";
    Exp "exp" CALL, unary(Unary::Exp),
        ["y"], NO, [Any], 16, "e to the power a.";
    Exp2 "exp2" CALL, unary(Unary::Exp2),
        ["y * 0.6931471805599453"], NO, [Any], 16, "2 to the power a.";
    Expm1 "expm1" CALL, unary(Unary::Expm1),
        ["y + 1"], YES, [Any], 16, "e to the power a, minus 1, accurate near 0.";
    Log "log" CALL, unary(Unary::Log),
        ["recip(a)"], NO, [Positive], 16, "Natural logarithm; -inf at 0, NaN below.";
    Log2 "log2" CALL, unary(Unary::Log2),
        ["1.4426950408889634 / a"], NO, [Positive], 16, "Logarithm to base 2.";
    Log10 "log10" CALL, unary(Unary::Log10),
        ["0.4342944819032518 / a"], NO, [Positive], 16, "Logarithm to base 10.";
    Log1p "log1p" CALL, unary(Unary::Log1p),
        ["recip(1 + a)"], YES, [Positive], 16, "Natural logarithm of 1 + a, accurate near 0.";
    Pow "pow" infix("**", p::POW), binary(Binary::Pow),
        ["scale(b, pow(a, b - 1))", "where(a == 0, 0, y * log(a))"],
        NO, [Positive, Any], 24, "a to the power b; a**0 is 1. The derivative by b is 0 at a = 0.";
    Powi "powi" CALL, Rule::RealInt(powi, |a, n| Some(a.pow(n))),
        ["scale(to_float(b), powi(a, b - 1))", "0"], NO, [NonZero, SmallNatural], 2,
        "a to the integer power b; a**0 is 1.";
    Sin "sin" CALL, unary(Unary::Sin),
        ["cos(a)"], YES, [Any], 16, "Sine.";
    Cos "cos" CALL, unary(Unary::Cos),
        ["-sin(a)"], NO, [Any], 16, "Cosine.";
    Tan "tan" CALL, unary(Unary::Tan),
        ["1 + y * y"], YES, [Unit], 16, "Tangent.";
    Asin "asin" CALL, unary(Unary::Asin),
        ["recip(sqrt((1 - a) * (1 + a)))"], YES, [Unit], 16, "Inverse sine; NaN outside [-1, 1].";
    Acos "acos" CALL, unary(Unary::Acos),
        ["-recip(sqrt((1 - a) * (1 + a)))"], NO, [Unit], 16, "Inverse cosine; NaN outside [-1, 1].";
    Atan "atan" CALL, unary(Unary::Atan),
        ["recip(1 + a * a)"], YES, [Any], 16, "Inverse tangent.";
    Atan2 "atan2" CALL, binary(Binary::Atan2),
        ["b / (a * a + b * b)", "-(a / (a * a + b * b))"], YES, [NonZero, NonZero], 24,
        "The angle of the point (b, a); 0 at the origin.";
    Sinh "sinh" CALL, unary(Unary::Sinh),
        ["cosh(a)"], YES, [Any], 16, "Hyperbolic sine.";
    Cosh "cosh" CALL, unary(Unary::Cosh),
        ["sinh(a)"], NO, [Any], 16, "Hyperbolic cosine.";
    Tanh "tanh" CALL, unary(Unary::Tanh),
        ["(1 - y) * (1 + y)"], YES, [Any], 16, "Hyperbolic tangent.";
    Asinh "asinh" CALL, unary(Unary::Asinh),
        ["recip(sqrt(1 + a * a))"], YES, [Any], 16, "Inverse hyperbolic sine.";
    Acosh "acosh" CALL, unary(Unary::Acosh),
        ["recip(sqrt(a - 1) * sqrt(a + 1))"], NO, [AboveOne], 16, "Inverse hyperbolic cosine; NaN below 1.";
    Atanh "atanh" CALL, unary(Unary::Atanh),
        ["recip((1 - a) * (1 + a))"], YES, [Unit], 16, "Inverse hyperbolic tangent; NaN outside [-1, 1].";
    Erf "erf" CALL, unary(Unary::Erf),
        ["1.1283791670955126 * exp(-(a * a))"], YES, [Any], 16, "Error function.";
    Erfc "erfc" CALL, unary(Unary::Erfc),
        ["-1.1283791670955126 * exp(-(a * a))"], NO, [Any], 16, "1 - erf(a), accurate for large a.";
    Lgamma "lgamma" CALL, rounded(lgamma),
        ["digamma(a)"], NO, [Positive], 16, "Logarithm of the absolute value of the gamma function.";
    Digamma "digamma" CALL, rounded(digamma),
        ["polygamma(1, a)"], NO, [Positive], 16, "Derivative of lgamma; NaN at 0, -1, -2, ...";
    Polygamma "polygamma" CALL, Rule::IntReal(polygamma),
        ["0", "polygamma(a + 1, b)"], NO, [SmallNatural, Positive], 16,
        "The a-th derivative of digamma at b; NaN for negative a.";
    Logistic "logistic" CALL, unary(Unary::Logistic),
        ["y * logistic(-a)"], NO, [Any], 16, "1 / (1 + exp(-a)).";
    Scale "scale" CALL, Rule::Real2(Real2::Rounded(|a, b| if a == 0.0 { 0.0 } else { a * b }), Field2::Exact(|a, b| a * b)),
        ["b", "a"], YES, [NonZero, Any], 2, "Product in which 0 as the first factor annihilates also an infinite or undefined second one.";
    StrongMul "strong_mul" CALL, Rule::Real2(Real2::Rounded(|a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }), Field2::Exact(|a, b| a * b)),
        ["b", "a"], YES, [Any, Any], 3, "Product in which 0 as either factor annihilates also an infinite or undefined other one.";
    StopGradient "stop_gradient" CALL, Rule::Numeric1(|a| a, |a| a, Field1::Exact(|a| a)),
        ["0"], YES, [Any], 1, "The argument, taken as a constant by every derivative.";
    Floor "floor" CALL, rounded(libm::floor),
        ["0"], YES, [BetweenSteps], 1, "Largest integer not above a.";
    Ceil "ceil" CALL, rounded(libm::ceil),
        ["0"], YES, [BetweenSteps], 1, "Smallest integer not below a.";
    Round "round" CALL, rounded(libm::rint),
        ["0"], YES, [BetweenSteps], 1, "Nearest integer, halves to the even one.";
    Trunc "trunc" CALL, rounded(libm::trunc),
        ["0"], YES, [BetweenSteps], 1, "The integer part, rounded towards 0.";

    Eq "eq" infix("==", p::COMPARE), Rule::Compare(|o| o == Some(Ordering::Equal)),
        [], NO, [Any, Any], 1, "Equal; false if either is NaN.";
    Ne "ne" infix("!=", p::COMPARE), Rule::Compare(|o| o != Some(Ordering::Equal)),
        [], YES, [Any, Any], 1, "Not equal; true if either is NaN.";
    Lt "lt" infix("<", p::COMPARE), Rule::Compare(|o| o == Some(Ordering::Less)),
        [], YES, [Any, Any], 1, "Less; false if either is NaN; false < true.";
    Le "le" infix("<=", p::COMPARE), Rule::Compare(|o| matches!(o, Some(Ordering::Less | Ordering::Equal))),
        [], NO, [Any, Any], 1, "Less or equal; false if either is NaN.";
    Gt "gt" infix(">", p::COMPARE), Rule::Compare(|o| o == Some(Ordering::Greater)),
        [], YES, [Any, Any], 1, "Greater; false if either is NaN.";
    Ge "ge" infix(">=", p::COMPARE), Rule::Compare(|o| matches!(o, Some(Ordering::Greater | Ordering::Equal))),
        [], NO, [Any, Any], 1, "Greater or equal; false if either is NaN.";

    And "logical_and" infix("and", p::AND), Rule::Logic2(|a, b| a & b, |a, b| a & b),
        [], YES, [Any, Any], 1, "Both; bitwise on integers.";
    Or "logical_or" infix("or", p::OR), Rule::Logic2(|a, b| a | b, |a, b| a | b),
        [], YES, [Any, Any], 1, "Either; bitwise on integers.";
    Xor "logical_xor" infix("xor", p::XOR), Rule::Logic2(|a, b| a ^ b, |a, b| a ^ b),
        [], YES, [Any, Any], 1, "Exactly one; bitwise on integers.";
    Not "logical_not" prefix("not", p::NOT), Rule::Logic1(|a| !a, |a| !a),
        [], NO, [Any], 1, "Negation; bitwise on integers.";

    ShiftLeft "shift_left" CALL, Rule::Int2(shift_left),
        [], YES, [Any, SmallNatural], 2, "The bits of a moved up by b, zeros below; by a negative b, moved down as by `shift_right`.";
    ShiftRight "shift_right" CALL, Rule::Int2(shift_right),
        [], YES, [Any, SmallNatural], 2, "The bits of a moved down by b, copies of the sign above: a // 2**b; by a negative b, moved up.";
    ShiftRightZero "shift_right_zero" CALL, Rule::Int2(shift_right_zero),
        [], YES, [Any, SmallNatural], 2, "The bits of a moved down by b, zeros above; by a negative b, moved up.";
    Popcount "popcount" CALL, Rule::Int1(|a| i64::from(a.count_ones())),
        [], YES, [Any], 2, "How many of the 64 bits are 1.";
    Clz "clz" CALL, Rule::Int1(|a| i64::from(a.leading_zeros())),
        [], NO, [Any], 2, "How many bits are 0 above the highest 1; 64 for 0.";
    Ctz "ctz" CALL, Rule::Int1(|a| i64::from(a.trailing_zeros())),
        [], NO, [Any], 2, "How many bits are 0 below the lowest 1; 64 for 0.";
    IntPow "int_pow" CALL, Rule::Int2(int_pow),
        [], NO, [Any, SmallNatural], 16, "a to the power b on integers, wrapping; a negative power is 1 // a**-b rounded towards 0, and that of 0 is 0. Written `a ** b`.";
    ToBits "to_bits" CALL, Rule::ToBits,
        [], YES, [Any], 2, "The 64 bits of a float as an integer; all NaNs have the same.";
    FromBits "from_bits" CALL, Rule::FromBits,
        ["0"], YES, [Any], 2, "The float of 64 bits.";

    Select "where" CALL, Rule::Select,
        ["0", "where(a, 1, 0)", "where(a, 0, 1)"], YES, [Any, Any, Any], 1, "b where a holds, c elsewhere.";

    ToF64 "to_f64" CALL, Rule::Cast(Dtype::F64),
        ["1"], YES, [Any], 1, "Conversion to f64, rounded to nearest; false is 0, true is 1.";
    ToF32 "to_f32" CALL, Rule::Cast(Dtype::F32),
        ["1"], YES, [Any], 1, "Conversion to f32, rounded to nearest; false is 0, true is 1.";
    ToI64 "to_i64" CALL, Rule::Cast(Dtype::I64),
        [], YES, [Any], 1, "Conversion to i64: rounds towards 0, saturates, NaN gives 0.";
    ToBool "to_bool" CALL, Rule::Cast(Dtype::Bool),
        [], YES, [Any], 1, "Whether a is not 0; true for NaN.";
}

fn sign(a: f64) -> f64 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        a
    }
}

fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

fn floor_rem(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let r = a.wrapping_rem(b);
    if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
}

fn shift_left(a: i64, n: i64) -> i64 {
    match n {
        0..64 => a << n,
        64.. => 0,
        _ => shift_right(a, n.saturating_neg()),
    }
}

fn shift_right(a: i64, n: i64) -> i64 {
    match n {
        0.. => a >> n.min(63),
        _ => shift_left(a, n.saturating_neg()),
    }
}

fn shift_right_zero(a: i64, n: i64) -> i64 {
    match n {
        0..64 => ((a as u64) >> n) as i64,
        64.. => 0,
        _ => shift_left(a, n.saturating_neg()),
    }
}

fn int_pow(a: i64, n: i64) -> i64 {
    if n < 0 {
        return match a {
            1 => 1,
            -1 if n % 2 != 0 => -1,
            -1 => 1,
            _ => 0,
        };
    }
    let (mut base, mut m, mut y) = (a, n, 1i64);
    while m > 0 {
        if m & 1 == 1 {
            y = y.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        m >>= 1;
    }
    y
}

/// Integer power by repeated squaring; a negative power is the reciprocal of the positive one.
fn powi(a: f64, n: i64) -> f64 {
    let (mut base, mut m, mut y) = (a, n.unsigned_abs(), 1.0);
    while m > 0 {
        if m & 1 == 1 {
            y *= base;
        }
        base *= base;
        m >>= 1;
    }
    if n < 0 { 1.0 / y } else { y }
}

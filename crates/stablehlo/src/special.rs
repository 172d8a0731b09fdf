//! Powers by integers and the functions around the gamma function.

use std::f64::consts::PI;

use cotan_array::Dtype;
use cotan_ir::scalar::cot_polynomial;
use cotan_ir::{Error, ErrorKind, Result};

use crate::value::Val;
use crate::writer::Writer;

/// Powers up to this are products.
const UNROLLED: u64 = 32;

/// A float to the power of an integer.
pub(crate) fn powi(w: &mut Writer, a: &Val, n: &Val) -> Val {
    let one = w.real(1.0, a);
    if let Some(n) = n.integer().filter(|n| n.unsigned_abs() <= UNROLLED) {
        let power = by_squaring(w, a, n.unsigned_abs()).unwrap_or_else(|| one.clone());
        return if n < 0 { w.binary("divide", &one, &power) } else { power };
    }
    // Of the absolute value in f64, and the sign by the parity: a float may not hold the integer.
    let (zero, wide) = (w.zeros(&a.ty), w.convert(a, Dtype::F64));
    let (size, exponent) = (w.unary("abs", &wide), w.convert(n, Dtype::F64));
    let power = w.binary("power", &size, &exponent);
    let power = w.convert(&power, a.ty.dtype);
    let (low, one, none) = (w.compare("LT", a, &zero), w.int(1, n), w.int(0, n));
    let parity = w.binary("and", n, &one);
    let odd = w.compare("NE", &parity, &none);
    let flips = w.binary("and", &low, &odd);
    let minus = w.unary("negate", &power);
    w.select(&flips, &minus, &power)
}

/// `a` to a power that is known; none to the power 0.
fn by_squaring(w: &mut Writer, a: &Val, n: u64) -> Option<Val> {
    let (mut base, mut rest, mut power) = (a.clone(), n, None);
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(match power {
                Some(power) => w.binary("multiply", &power, &base),
                None => base.clone(),
            });
        }
        rest >>= 1;
        if rest > 0 {
            base = w.binary("multiply", &base, &base);
        }
    }
    power
}

/// An integer to the power of an integer, wrapping; of a negative power only ones are left.
pub(crate) fn int_pow(w: &mut Writer, a: &Val, n: &Val) -> Val {
    let (zero, one) = (w.int(0, a), w.int(1, a));
    if let Some(n) = n.integer().filter(|n| (0..=UNROLLED as i64).contains(n)) {
        return by_squaring(w, a, n.unsigned_abs()).unwrap_or(one);
    }
    let positive = {
        let m = w.binary("maximum", n, &zero);
        squaring_loop(w, a, &m, &one)
    };
    let (parity, minus_one) = (w.binary("and", n, &one), w.int(-1, a));
    let even = w.compare("EQ", &parity, &zero);
    let (is_one, is_minus_one) = (w.compare("EQ", a, &one), w.compare("EQ", a, &minus_one));
    let alternating = w.select(&even, &one, &minus_one);
    let negative = w.select(&is_minus_one, &alternating, &zero);
    let negative = w.select(&is_one, &one, &negative);
    let inverse = w.compare("LT", n, &zero);
    w.select(&inverse, &negative, &positive)
}

/// `a` to the power `m`, which is not negative, in as many steps as the largest has bits.
fn squaring_loop(w: &mut Writer, a: &Val, m: &Val, one: &Val) -> Val {
    let begun = w.begin_while(&[a.clone(), m.clone(), one.clone()]);
    let [base, rest, power] = begun.inside.as_slice() else { return one.clone() };
    let zero = w.int(0, a);
    let done = w.compare("EQ", rest, &zero);
    let all = w.all(&done);
    let more = w.unary("not", &all);
    w.give(&[more]);
    w.turn("} do {");
    let one = w.int(1, a);
    let parity = w.binary("and", rest, &one);
    let odd = w.compare("EQ", &parity, &one);
    let product = w.binary("multiply", power, base);
    let next = w.select(&odd, &product, power);
    let square = w.binary("multiply", base, base);
    let half = w.binary("shift_right_logical", rest, &one);
    w.give(&[square, half, next]);
    w.end_while(&begun).pop().unwrap_or_else(|| one.clone())
}

/// Where a function of the family has a pole, 0, -1, -2 and so on, or no limit, at $-\infty$.
fn at_pole(w: &mut Writer, x: &Val) -> Val {
    let (zero, down) = (w.zeros(&x.ty), w.unary("floor", x));
    let (whole, low) = (w.compare("EQ", x, &down), w.compare("LE", x, &zero));
    w.binary("and", &whole, &low)
}

/// The derivative of the logarithm of the gamma function; NaN at the poles.
pub(crate) fn digamma(w: &mut Writer, x: &Val) -> Val {
    let (pole, nan) = (at_pole(w, x), w.real(f64::NAN, x));
    let y = w.higher("digamma", &[x]);
    w.select(&pole, &nan, &y)
}

/// The `n`-th derivative of digamma.
pub(crate) fn polygamma(w: &mut Writer, n: &Val, x: &Val) -> Result<Val> {
    let Some(n) = n.integer() else {
        let message = "the order of a polygamma function is computed by the program";
        let hint = "StableHLO needs an order that is known: write it as a number";
        return Err(Error::new(ErrorKind::Type, "polygamma", message).with_hint(hint));
    };
    if n == 0 {
        return Ok(digamma(w, x));
    }
    let nan = w.real(f64::NAN, x);
    if n < 0 {
        return Ok(nan);
    }
    let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
    let wide = w.convert(x, Dtype::F64);
    let y = if n > 170 {
        // n! overflows; the value does too unless x is large enough to shrink it to nothing.
        let (order, none) = (w.real(n as f64, &wide), w.real(sign * 0.0, &wide));
        let far = w.compare("GT", &wide, &order);
        let infinite = w.real(sign * f64::INFINITY, &wide);
        w.select(&far, &none, &infinite)
    } else {
        let half = w.real(0.5, &wide);
        let (low, one) = (w.compare("LT", &wide, &half), w.real(1.0, &wide));
        let mirrored = w.binary("subtract", &one, &wide);
        let right = w.select(&low, &mirrored, &wide);
        let order = w.real(n as f64, &wide);
        let value = w.higher("polygamma", &[&order, &right]);
        // psi_n(1 - x) + (-1)^(n+1) psi_n(x) = (-1)^n pi d^n/dx^n cot(pi x)
        let cot = cot_derivative(w, n as usize, &wide);
        let (factor, minus) = (w.real(sign, &wide), w.unary("negate", &cot));
        let reflected = w.binary("multiply", &factor, &value);
        let left = w.binary("subtract", &minus, &reflected);
        w.select(&low, &left, &value)
    };
    let y = w.convert(&y, x.ty.dtype);
    let (pole, no_number) = (at_pole(w, x), w.is_nan(x));
    let undefined = w.binary("or", &pole, &no_number);
    Ok(w.select(&undefined, &nan, &y))
}

/// $\pi \, d^n/dx^n \cot(\pi x)$, as a polynomial in the cotangent.
fn cot_derivative(w: &mut Writer, n: usize, x: &Val) -> Val {
    let mut p = cot_polynomial(n);
    let nearest = w.unary("round_nearest_even", x);
    let (rest, pi) = (w.binary("subtract", x, &nearest), w.real(PI, x));
    let angle = w.binary("multiply", &pi, &rest);
    let (tan, one) = (w.unary("tan", &angle), w.real(1.0, x));
    let c = w.binary("divide", &one, &tan);
    let leading = p.pop().unwrap_or(0.0);
    let mut y = w.real(leading, x);
    for &a in p.iter().rev() {
        let (product, a) = (w.binary("multiply", &y, &c), w.real(a, x));
        y = w.binary("add", &product, &a);
    }
    let scale = w.real(PI.powi(n as i32 + 1), x);
    w.binary("multiply", &scale, &y)
}

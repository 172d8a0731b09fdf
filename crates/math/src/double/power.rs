//! Powers and the cube root.

use super::exp::exp_parts;
use super::log::{BIAS, SMALLEST_NORMAL, Split, TWO_54, split, split_normal};
use super::{LN2, LN2_LOW};
use crate::arith::{Pair, ordered_sum, pair_product, poly, product};
use crate::formulas::clamp;
use crate::machine::Machine;

/// $2 \,\mathrm{artanh}\, s = 2 s + s z (2/3 + z (2/5 + z L(z)))$ for $z = s^2$, to 2^-72 of it.
const LOG: [f64; 7] = [
    0.2857142857143319,
    0.22222222220001125,
    0.1818181860724822,
    0.15384572753480183,
    0.13335769396579714,
    0.11684902961742386,
    0.11912209395752008,
];

const TWO_THIRDS: f64 = 0.6666666666666666;
const TWO_THIRDS_LOW: f64 = 3.700743415417188e-17;
/// From here on all numbers are integers.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// $\log x$ of a positive number, to about 2^-65 of it.
#[inline(always)]
fn log<M: Machine>(m: &M, x: M::Real) -> Pair<M::Real> {
    let Split { exponent: k, fraction, .. } = split(m, x);
    let (one, two) = (m.real(1.0), m.real(2.0));
    let f = m.sub(fraction, one);
    // s = f / (2 + f), with its error.
    let bottom = ordered_sum(m, two, f);
    let inverse = m.div(one, bottom.high);
    let s = m.mul(f, inverse);
    let error = m.neg_mul_add(s, bottom.low, m.neg_mul_add(s, bottom.high, f));
    let s = Pair { high: s, low: m.mul(error, inverse) };
    let z = pair_product(m, s, s);
    let t = m.mul_add(z.high, poly(m, z.high, &LOG), m.real(0.4));
    let t = ordered_sum(m, m.real(TWO_THIRDS), m.mul(z.high, t));
    let t = Pair { high: t.high, low: m.add(t.low, m.real(TWO_THIRDS_LOW)) };
    let t = pair_product(m, s, pair_product(m, z, t));
    // k log 2 + 2 s + t, each smaller than the one before.
    let y = ordered_sum(m, m.add(s.high, s.high), t.high);
    let low = m.mul_add(two, s.low, m.add(t.low, y.low));
    let whole = product(m, k, m.real(LN2));
    let y = ordered_sum(m, whole.high, y.high);
    let low = m.add(low, m.mul_add(k, m.real(LN2_LOW), whole.low));
    ordered_sum(m, y.high, m.add(y.low, low))
}

/// Whether a number that is not negative is an integer.
#[inline(always)]
fn is_integer<M: Machine>(m: &M, a: M::Real) -> M::Mask {
    let integers = m.real(INTEGERS);
    let rounded = m.sub(m.add(a, integers), integers);
    m.either(m.eq(rounded, a), m.le(integers, a))
}

/// $x^y = e^{y \log x}$ with the logarithm to more than twenty bits past a number's.
#[inline(always)]
pub fn pow<M: Machine>(m: &M, x: M::Real, y: M::Real) -> M::Real {
    let (zero, one, infinity) = (m.real(0.0), m.real(1.0), m.real(f64::INFINITY));
    let a = m.abs(x);
    let l = log(m, a);
    // The logarithm of 0 and infinity; NaN stays.
    let inside = m.both(m.lt(zero, a), m.lt(a, infinity));
    let edge = m.select(m.eq(a, zero), m.real(f64::NEG_INFINITY), a);
    let (high, low) = (m.select(inside, l.high, edge), m.select(inside, l.low, zero));
    let p = m.mul(y, high);
    let p_low = m.mul_add(y, low, m.mul_sub(y, high, p));
    // Where the result overflows or underflows the low part may be undefined.
    let p_low = m.select(m.lt(m.abs(p), m.real(800.0)), p_low, zero);
    let (rest, n) = exp_parts(m, Pair { high: clamp(m, p, -746.0, 710.0), low: p_low });
    let e = m.scale(m.add(one, rest), n);
    let e = m.select(m.eq(a, one), one, e);
    // A negative number has the powers that are integers.
    let b = m.abs(y);
    let integer = is_integer(m, b);
    let odd = m.except(integer, is_integer(m, m.mul(m.real(0.5), b)));
    let e = m.with_sign(e, m.select(odd, x, zero));
    let negative = m.both(m.lt(x, zero), m.lt(m.real(f64::NEG_INFINITY), x));
    let e = m.select(m.except(negative, integer), m.real(f64::NAN), e);
    let e = m.select(m.eq(x, one), one, e);
    m.select(m.eq(y, zero), one, e)
}

/// The cube root between the roots of 1/2 and 2, to 2^-19.
const CBRT: [f64; 6] = [
    0.4216897276974275,
    1.0560153430724641,
    -0.8360703493008053,
    0.5109664850555088,
    -0.1795571819119899,
    0.026954988651708353,
];
/// The cube root of 2; that of 1/2 is half its square.
const CBRT_2: f64 = 1.2599210498948732;

/// The cube root: that of $2^{3n + j} f$ is $2^n (2^j f)^{1/3}$.
#[inline(always)]
pub fn cbrt<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (zero, one) = (m.real(0.0), m.real(1.0));
    let a = m.abs(x);
    // 2^54 is the cube of 2^18.
    let subnormal = m.lt(a, m.real(SMALLEST_NORMAL));
    let normal = m.select(subnormal, m.mul(a, m.real(TWO_54)), a);
    let Split { exponent: k, fraction, .. } = split_normal(m, normal, m.real(BIAS));
    let n = m.round_product(k, m.real(1.0 / 3.0));
    let j = m.neg_mul_add(m.real(3.0), n.value, k);
    let (down, up) = (m.lt(j, zero), m.lt(zero, j));
    let pick =
        |low, middle, high| m.select(down, m.real(low), m.select(up, m.real(high), m.real(middle)));
    let f = m.mul(fraction, pick(0.5, 1.0, 2.0));
    let y = m.mul(poly(m, fraction, &CBRT), pick(CBRT_2 * CBRT_2 / 2.0, 1.0, CBRT_2));
    // One step of Halley: y - y (y^3 - f) / (2 y^3 + f).
    let square = product(m, y, y);
    let error = m.mul_add(y, square.low, m.mul_sub(y, square.high, f));
    let bottom = m.mul_add(m.real(2.0), error, m.mul(m.real(3.0), f));
    let y = m.neg_mul_add(y, m.div(error, bottom), y);
    let back = m.select(subnormal, m.real(1.0 / (1u64 << 18) as f64), one);
    let y = m.mul(m.mul(y, m.power(n, 0)), back);
    let regular = m.both(m.lt(zero, a), m.lt(a, m.real(f64::INFINITY)));
    m.select(regular, m.with_sign(y, x), x)
}

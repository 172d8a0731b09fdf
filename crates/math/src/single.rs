//! The functions in single precision, for machines of [`Precision::Single`](crate::Precision):
//! those worth a formula of their own, which is that of double precision with shorter polynomials.

use crate::arith::{Pair, poly, sum};
use crate::formulas::{self, clamp, log_series, reduce_by_half_pi, with_edges};
use crate::machine::{Machine, Rounded};

/// $(e^r - 1 - r) / r^2$ for $|r| \le \log 2 / 2$, to 2^-28 of $e^r$.
const EXP: [f64; 5] = [
    0.4999999403953552,
    0.1666652113199234,
    0.04166838899254799,
    0.00836874544620514,
    0.0013814539415761828,
];
/// The same, to 2^-28 of $e^r - 1$.
const EXPM1: [f64; 6] = [
    0.5,
    0.1666666567325592,
    0.04166635870933533,
    0.008333389647305012,
    0.0013940668432042003,
    0.00019845881615765393,
];
/// $(2^r - 1) / r$ for $|r| \le 1/2$, to 2^-25 of $2^r$.
const EXP2: [f64; 6] = [
    0.6931471824645996,
    0.24022647738456726,
    0.05550331994891167,
    0.00961843878030777,
    0.0013399003073573112,
    0.00015353254275396466,
];
/// $(2 \,\mathrm{artanh}\, s - 2 s) / s^3$ for $z = s^2$, to 2^-30 of the logarithm.
const LOG: [f64; 3] = [0.6666677594184875, 0.399774968624115, 0.29873090982437134];
/// $(\sin r - r) / r^3$ and $(\cos r - 1 + r^2/2) / r^4$ for $|r| \le \pi/4$, to 2^-26.
const SIN: [f64; 3] = [-0.16666655242443085, 0.008332155644893646, -0.00019514629093464464];
const COS: [f64; 3] = [0.04166664555668831, -0.0013887309469282627, 2.443241282890085e-05];

const LOG2E: f64 = 1.4426950216293335;
const LOG2E_LOW: f64 = 1.925963033500011e-08;
const LN2: f64 = 0.6931471824645996;
const LN2_LOW: f64 = -1.9046542121259336e-09;
const HALF_PI: [f64; 3] = [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15];

const ONE: u64 = 0x3f80_0000;
const SQRT_HALF: u64 = 0x3f35_04f3;
const FRACTION: u64 = (1 << 23) - 1;
/// 2^23, whose lowest bits hold an integer that is added to it.
const INTEGERS: f64 = 8_388_608.0;
const INTEGERS_BITS: u64 = 0x4b00_0000;
/// 1.5 * 2^23: adding it rounds to an integer, which is then in the lowest bits.
const SHIFT: f64 = 12_582_912.0;

/// $r$ and $n$ with $x = n \log 2 + r$.
#[inline(always)]
fn reduce<M: Machine>(m: &M, x: M::Real) -> (M::Real, Rounded<M::Real>) {
    let n = m.round_product(x, m.real(LOG2E));
    let r = m.neg_mul_add(n.value, m.real(LN2), x);
    (m.neg_mul_add(n.value, m.real(LN2_LOW), r), n)
}

/// $e^r - 1$, accurate relative to $e^r$.
#[inline(always)]
fn rest<M: Machine>(m: &M, r: M::Real) -> M::Real {
    m.mul_add(m.mul(r, r), poly(m, r, &EXP), r)
}

/// $e^r - 1$, accurate relative to itself.
#[inline(always)]
fn rest_near_zero<M: Machine>(m: &M, r: M::Real) -> M::Real {
    m.mul_add(m.mul(r, r), poly(m, r, &EXPM1), r)
}

/// $e^x$
#[inline(always)]
pub fn exp<M: Machine>(m: &M, x: M::Real) -> M::Real {
    // Past these bounds the result is 0 or infinite, as it is at them.
    let (r, n) = reduce(m, clamp(m, x, -105.0, 89.0));
    m.scale(m.add(m.real(1.0), rest(m, r)), n)
}

/// $2^x$
#[inline(always)]
pub fn exp2<M: Machine>(m: &M, x: M::Real) -> M::Real {
    formulas::exp2(m, clamp(m, x, -152.0, 129.0), &EXP2)
}

/// $e^x - 1$
#[inline(always)]
pub fn expm1<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (r, n) = reduce(m, clamp(m, x, -20.0, 89.0));
    formulas::expm1(m, x, rest_near_zero(m, r), n, TINY)
}

/// Below 2^-25 the first term of a series that begins with $x$ is all there is.
const TINY: f64 = 1.0 / (1u64 << 25) as f64;

/// $\tanh x$
#[inline(always)]
pub fn tanh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let a = m.abs(x);
    // From 10 on the result is 1.
    let (r, n) = reduce(m, m.min(m.real(20.0), m.add(a, a)));
    formulas::tanh(m, x, rest_near_zero(m, r), n)
}

/// $1 / (1 + e^{-x})$
#[inline(always)]
pub fn logistic<M: Machine>(m: &M, x: M::Real) -> M::Real {
    formulas::logistic(m, x, exp)
}

/// A positive number as `2^exponent * fraction`, the fraction between the root of 1/2 and that of 2.
struct Split<M: Machine> {
    exponent: M::Real,
    fraction: M::Real,
    /// The exponent plus 127, as an integer.
    biased: M::Bits,
}

/// Splits a positive normal number; `bias` is to be 2^23 + 127, plus what the exponent is to be
/// less.
#[inline(always)]
fn split_normal<M: Machine>(m: &M, x: M::Real, bias: M::Real) -> Split<M> {
    let bits = m.int_add(m.bits_of(x), m.bits(ONE - SQRT_HALF));
    let biased = m.shr(bits, 23);
    let exponent = m.with_bits(m.bit_or(biased, m.bits(INTEGERS_BITS)));
    let fraction = m.int_add(m.bit_and(bits, m.bits(FRACTION)), m.bits(SQRT_HALF));
    Split { exponent: m.sub(exponent, bias), fraction: m.with_bits(fraction), biased }
}

/// Splits a positive number.
#[inline(always)]
fn split<M: Machine>(m: &M, x: M::Real) -> Split<M> {
    let subnormal = m.lt(x, m.real(f64::from(f32::MIN_POSITIVE)));
    let x = m.select(subnormal, m.mul(x, m.real((1u64 << 25) as f64)), x);
    let bias = |less: f64| m.real(INTEGERS + 127.0 + less);
    split_normal(m, x, m.select(subnormal, bias(25.0), bias(0.0)))
}

/// $\log x$
#[inline(always)]
pub fn log<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Split { exponent: k, fraction, .. } = split(m, x);
    let f = m.sub(fraction, m.real(1.0));
    let (t, h) = log_series(m, f, &LOG);
    let t = m.mul_add(k, m.real(LN2_LOW), t);
    let y = m.mul_add(k, m.real(LN2), m.sub(f, m.sub(h, t)));
    with_edges(m, x, 0.0, y)
}

/// $\log_2 x$
#[inline(always)]
pub fn log2<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Split { exponent: k, fraction, .. } = split(m, x);
    let f = m.sub(fraction, m.real(1.0));
    let (t, h) = log_series(m, f, &LOG);
    // log(1 + f) as a sum, times log2 e as a sum, plus k.
    let a = m.sub(f, h);
    let low = m.add(t, m.sub(m.sub(f, a), h));
    let low = m.mul_add(a, m.real(LOG2E_LOW), m.mul(low, m.real(LOG2E)));
    let p = m.mul(a, m.real(LOG2E));
    let low = m.add(low, m.mul_sub(a, m.real(LOG2E), p));
    let y = m.add(k, m.add(p, low));
    with_edges(m, x, 0.0, y)
}

/// $\log(1 + x)$
#[inline(always)]
pub fn log1p<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Pair { high, low } = sum(m, m.real(1.0), x);
    let Split { exponent: k, fraction, biased } = split_normal(m, high, m.real(INTEGERS + 127.0));
    let f = m.sub(fraction, m.real(1.0));
    let (t, h) = log_series(m, f, &LOG);
    // The low part, scaled by half as the fraction is, over the fraction: 1 / (1 + f) only roughly.
    let twice = m.with_bits(m.shl(m.int_sub(m.bits(255), biased), 23));
    let inverse = m.mul_add(f, m.mul_sub(m.real(0.5), f, m.real(0.5)), m.real(0.5));
    let low = m.mul(m.mul(low, twice), inverse);
    let t = m.mul_add(k, m.real(LN2_LOW), t);
    let y = m.mul_add(k, m.real(LN2), m.add(f, m.sub(low, m.sub(h, t))));
    m.select(m.eq(x, m.real(0.0)), x, with_edges(m, x, -1.0, y))
}

/// $\sin r$, $\cos r$ and a number whose lowest bits are $n$, with $x = n \pi/2 + r$.
#[inline(always)]
fn circle<M: Machine>(m: &M, x: M::Real) -> (M::Real, M::Real, M::Bits) {
    let (Pair { high: r, low }, n) = reduce_by_half_pi(m, x, HALF_PI, SHIFT);
    let z = m.mul(r, r);
    let sin = m.mul_add(m.mul(r, z), poly(m, z, &SIN), low);
    let cos = m.mul_add(z, poly(m, z, &COS), m.real(-0.5));
    let cos = m.mul_sub(z, cos, m.mul(r, low));
    (m.add(r, sin), m.add(m.real(1.0), cos), n)
}

/// $\sin x$ for $|x| \le 2^{16}$
#[inline(always)]
pub fn sin<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (sin, cos, n) = circle(m, m.abs(x));
    let y = m.select(m.top_bit(m.shl(n, 31)), cos, sin);
    let sign = m.bit_and(m.bit_xor(m.shl(n, 30), m.bits_of(x)), m.sign_bit());
    m.with_bits(m.bit_xor(m.bits_of(y), sign))
}

/// $\cos x$ for $|x| \le 2^{16}$
#[inline(always)]
pub fn cos<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (sin, cos, n) = circle(m, x);
    let y = m.select(m.top_bit(m.shl(n, 31)), sin, cos);
    let sign = m.bit_and(m.shl(m.int_add(n, m.bits(1)), 30), m.sign_bit());
    m.with_bits(m.bit_xor(m.bits_of(y), sign))
}

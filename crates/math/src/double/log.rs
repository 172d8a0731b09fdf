//! Logarithms: $\log x = k \log 2 + \log(1 + f)$ with $x = 2^k (1 + f)$ and
//! $\sqrt{1/2} \le 1 + f < \sqrt 2$.
//!
//! With $s = f / (2 + f)$ and $h = f^2/2$: $\log(1 + f) = 2 \,\mathrm{artanh}\, s
//! = f - h + s (h + s^2 R(s^2))$.

use super::{LN2, LN2_LOW, LOG2E, LOG2E_LOW};
use crate::arith::{Pair, ordered_sum, product, sum};
use crate::formulas::{log_series, with_edges};
use crate::machine::Machine;

/// $R(z)$ for $z = s^2$: $(2 \,\mathrm{artanh}\, s - 2 s) / s^3$, to 2^-59 of the logarithm.
const LOG: [f64; 7] = [
    0.6666666666666735,
    0.3999999999941109,
    0.2857142874326283,
    0.2222219847597916,
    0.18183569740005542,
    0.1531390324396188,
    0.14797507714292876,
];

const LOG10E: f64 = std::f64::consts::LOG10_E;
const LOG10E_LOW: f64 = 1.098319650216765e-17;
/// Short enough that products with exponents are exact.
const LOG10_2: f64 = 0.30102999566383914;
const LOG10_2_LOW: f64 = 1.42050232272661e-13;

const ONE: u64 = 1.0f64.to_bits();
const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
const FRACTION: u64 = (1 << 52) - 1;
/// 2^52, whose lowest bits hold an integer that is added to it.
const INTEGERS: f64 = 4_503_599_627_370_496.0;
/// What is subtracted from 2^52 plus a biased exponent.
pub(super) const BIAS: f64 = INTEGERS + 1023.0;
pub(super) const SMALLEST_NORMAL: f64 = f64::MIN_POSITIVE;
pub(super) const TWO_54: f64 = (1u64 << 54) as f64;

/// A positive number as `2^exponent * fraction`, the fraction between the root of 1/2 and that of 2.
#[derive(Clone, Copy)]
pub(super) struct Split<M: Machine> {
    pub(super) exponent: M::Real,
    pub(super) fraction: M::Real,
    /// The exponent plus 1023, as an integer.
    biased: M::Bits,
}

/// Splits a positive normal number; `bias` is [`BIAS`], plus what the exponent is to be less.
#[inline(always)]
pub(super) fn split_normal<M: Machine>(m: &M, x: M::Real, bias: M::Real) -> Split<M> {
    let bits = m.int_add(m.bits_of(x), m.bits(ONE - SQRT_HALF));
    let biased = m.shr(bits, 52);
    let exponent = m.with_bits(m.bit_or(biased, m.bits(INTEGERS.to_bits())));
    let fraction = m.int_add(m.bit_and(bits, m.bits(FRACTION)), m.bits(SQRT_HALF));
    Split { exponent: m.sub(exponent, bias), fraction: m.with_bits(fraction), biased }
}

/// Splits a positive number.
#[inline(always)]
pub(super) fn split<M: Machine>(m: &M, x: M::Real) -> Split<M> {
    let subnormal = m.lt(x, m.real(SMALLEST_NORMAL));
    let x = m.select(subnormal, m.mul(x, m.real(TWO_54)), x);
    let bias = |less: f64| m.real(BIAS + less);
    split_normal(m, x, m.select(subnormal, bias(54.0), bias(0.0)))
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

/// $\log(1 + f)$ times a constant, to a few bits more than a number has.
#[inline(always)]
fn scaled_log<M: Machine>(m: &M, f: M::Real, by: f64, by_low: f64) -> Pair<M::Real> {
    let (t, h) = log_series(m, f, &LOG);
    let h_low = m.mul_sub(m.mul(m.real(0.5), f), f, h);
    let a = ordered_sum(m, f, m.neg(h));
    let y = ordered_sum(m, a.high, m.add(t, m.sub(a.low, h_low)));
    let by = m.real(by);
    let p = product(m, y.high, by);
    let low = m.mul_add(y.low, by, m.mul_add(y.high, m.real(by_low), p.low));
    Pair { high: p.high, low }
}

/// $\log_2 x$
#[inline(always)]
pub fn log2<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Split { exponent: k, fraction, .. } = split(m, x);
    let part = scaled_log(m, m.sub(fraction, m.real(1.0)), LOG2E, LOG2E_LOW);
    let y = ordered_sum(m, k, part.high);
    with_edges(m, x, 0.0, m.add(y.high, m.add(y.low, part.low)))
}

/// $\log_{10} x$
#[inline(always)]
pub fn log10<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Split { exponent: k, fraction, .. } = split(m, x);
    let part = scaled_log(m, m.sub(fraction, m.real(1.0)), LOG10E, LOG10E_LOW);
    let y = ordered_sum(m, m.mul(k, m.real(LOG10_2)), part.high);
    let low = m.mul_add(k, m.real(LOG10_2_LOW), m.add(y.low, part.low));
    with_edges(m, x, 0.0, m.add(y.high, low))
}

/// $\log x + n \log 2$ for a positive normal number $x$ given as a pair.
#[inline(always)]
pub(super) fn log_pair<M: Machine>(m: &M, x: Pair<M::Real>, n: M::Real) -> M::Real {
    let Split { exponent, fraction, biased } = split_normal(m, x.high, m.real(BIAS));
    let k = m.add(exponent, n);
    let f = m.sub(fraction, m.real(1.0));
    let (t, h) = log_series(m, f, &LOG);
    // The low part, scaled by half as the fraction is, over the fraction: 1 / (1 + f) only roughly.
    let twice = m.with_bits(m.shl(m.int_sub(m.bits(2047), biased), 52));
    let inverse = m.mul_add(f, m.mul_sub(m.real(0.5), f, m.real(0.5)), m.real(0.5));
    let low = m.mul(m.mul(x.low, twice), inverse);
    let t = m.mul_add(k, m.real(LN2_LOW), t);
    m.mul_add(k, m.real(LN2), m.add(f, m.sub(low, m.sub(h, t))))
}

/// $\log(1 + x)$
#[inline(always)]
pub fn log1p<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let y = log_pair(m, sum(m, m.real(1.0), x), m.real(0.0));
    m.select(m.eq(x, m.real(0.0)), x, with_edges(m, x, -1.0, y))
}

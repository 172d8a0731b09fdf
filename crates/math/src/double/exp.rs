//! Exponentials: $e^x = 2^n (1 + p)$ with $x = n \log 2 + r$, $p = e^r - 1$, $|r| \le \log 2 / 2$.

use super::{LN2, LN2_LOW, LOG2E};
use crate::arith::{Pair, ordered_sum, poly};
use crate::formulas::{self, clamp};
use crate::machine::{Machine, Rounded};

/// $(e^r - 1 - r) / r^2$, to 2^-59 of $e^r - 1$.
const EXP: [f64; 11] = [
    0.5,
    0.16666666666666677,
    0.041666666666666505,
    0.008333333333321655,
    0.001388888888896259,
    0.00019841269886072984,
    2.480158717224829e-05,
    2.7557244254765574e-06,
    2.7557402769450367e-07,
    2.5109024236748145e-08,
    2.0875328203897707e-09,
];

/// $(2^r - 1) / r$ for $|r| \le 1/2$, to 2^-55 of $2^r$.
const EXP2: [f64; 11] = [
    std::f64::consts::LN_2,
    0.2402265069591013,
    0.05550410866482007,
    0.009618129107593848,
    0.0013333558146777485,
    0.00015403530457491245,
    1.5252733491162303e-05,
    1.3215435077948503e-06,
    1.0178200069530972e-07,
    7.0738207006303605e-09,
    4.434743057086764e-10,
];

/// $r$ and $n$ with $x = n \log 2 + r$.
#[inline(always)]
pub(super) fn reduce<M: Machine>(m: &M, x: M::Real) -> (M::Real, Rounded<M::Real>) {
    let n = m.round_product(x, m.real(LOG2E));
    // The first difference is exact.
    let r = m.neg_mul_add(n.value, m.real(LN2), x);
    (m.neg_mul_add(n.value, m.real(LN2_LOW), r), n)
}

/// $e^r - 1$, accurate relative to itself.
#[inline(always)]
pub(super) fn rest<M: Machine>(m: &M, r: M::Real) -> M::Real {
    m.mul_add(m.mul(r, r), poly(m, r, &EXP), r)
}

/// [`reduce`] and [`rest`] for a number given as a pair.
#[inline(always)]
pub(super) fn exp_parts<M: Machine>(m: &M, x: Pair<M::Real>) -> (M::Real, Rounded<M::Real>) {
    let n = m.round_product(x.high, m.real(LOG2E));
    let first = m.neg_mul_add(n.value, m.real(LN2), x.high);
    let r = ordered_sum(m, first, m.neg_mul_add(n.value, m.real(LN2_LOW), x.low));
    let p = m.mul_add(m.mul(r.high, r.high), poly(m, r.high, &EXP), r.low);
    (m.add(r.high, p), n)
}

/// $e^x$
#[inline(always)]
pub fn exp<M: Machine>(m: &M, x: M::Real) -> M::Real {
    // Past these bounds the result is 0 or infinite, as it is at them.
    let (r, n) = reduce(m, clamp(m, x, -746.0, 710.0));
    m.scale(m.add(m.real(1.0), rest(m, r)), n)
}

/// $2^x$
#[inline(always)]
pub fn exp2<M: Machine>(m: &M, x: M::Real) -> M::Real {
    formulas::exp2(m, clamp(m, x, -1080.0, 1025.0), &EXP2)
}

/// $e^x - 1$
#[inline(always)]
pub fn expm1<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (r, n) = reduce(m, clamp(m, x, -40.0, 710.0));
    formulas::expm1(m, x, rest(m, r), n, TINY)
}

/// Below 2^-54 the first term of a series that begins with $x$ is all there is.
const TINY: f64 = 1.0 / (1u64 << 54) as f64;

/// $1 / (1 + e^{-x})$
#[inline(always)]
pub fn logistic<M: Machine>(m: &M, x: M::Real) -> M::Real {
    formulas::logistic(m, x, exp)
}

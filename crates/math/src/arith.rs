//! Polynomials, and sums and products with their rounding errors.

use crate::machine::Machine;

/// `c[0] + c[1] x + c[2] x^2 + ..`, by Horner.
#[inline(always)]
pub(crate) fn poly<M: Machine, const N: usize>(m: &M, x: M::Real, c: &[f64; N]) -> M::Real {
    let mut y = m.real(c[N - 1]);
    let mut k = N - 1;
    while k > 0 {
        k -= 1;
        y = m.mul_add(y, x, m.real(c[k]));
    }
    y
}

/// A number as an unevaluated sum, the second a rounding error of the first.
#[derive(Clone, Copy)]
pub(crate) struct Pair<R> {
    pub(crate) high: R,
    pub(crate) low: R,
}

/// `a + b` exactly.
#[inline(always)]
pub(crate) fn sum<M: Machine>(m: &M, a: M::Real, b: M::Real) -> Pair<M::Real> {
    let high = m.add(a, b);
    let part = m.sub(high, a);
    let low = m.add(m.sub(a, m.sub(high, part)), m.sub(b, part));
    Pair { high, low }
}

/// `a - b` exactly.
#[inline(always)]
pub(crate) fn difference<M: Machine>(m: &M, a: M::Real, b: M::Real) -> Pair<M::Real> {
    let high = m.sub(a, b);
    let part = m.sub(high, a);
    let low = m.sub(m.sub(a, m.sub(high, part)), m.add(b, part));
    Pair { high, low }
}

/// `a + b` exactly, for `a = 0` or `|a| >= |b|`.
#[inline(always)]
pub(crate) fn ordered_sum<M: Machine>(m: &M, a: M::Real, b: M::Real) -> Pair<M::Real> {
    let high = m.add(a, b);
    Pair { high, low: m.add(m.sub(a, high), b) }
}

/// `a * b` exactly.
#[inline(always)]
pub(crate) fn product<M: Machine>(m: &M, a: M::Real, b: M::Real) -> Pair<M::Real> {
    let high = m.mul(a, b);
    Pair { high, low: m.mul_sub(a, b, high) }
}

/// `a * b` to about twice the precision.
#[inline(always)]
pub(crate) fn pair_product<M: Machine>(m: &M, a: Pair<M::Real>, b: Pair<M::Real>) -> Pair<M::Real> {
    let y = product(m, a.high, b.high);
    let low = m.mul_add(a.high, b.low, m.mul_add(a.low, b.high, y.low));
    Pair { high: y.high, low }
}

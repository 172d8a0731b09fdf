//! Formulas that both precisions share: what differs are coefficients and bounds.

use crate::arith::{Pair, difference, poly, product};
use crate::machine::{Machine, Rounded};

/// `x`, but no less than `low` and no more than `high`; NaN stays.
#[inline(always)]
pub(crate) fn clamp<M: Machine>(m: &M, x: M::Real, low: f64, high: f64) -> M::Real {
    m.min(m.real(high), m.max(m.real(low), x))
}

/// $2^x$ for $x$ within bounds; `c` are the coefficients of $(2^r - 1) / r$.
#[inline(always)]
pub(crate) fn exp2<M: Machine, const N: usize>(m: &M, x: M::Real, c: &[f64; N]) -> M::Real {
    let one = m.real(1.0);
    let n = m.round_product(x, one);
    let r = m.sub(x, n.value);
    m.scale(m.mul_add(r, poly(m, r, c), one), n)
}

/// $2^n (1 + p) - 1$, but $x$ itself where that is less than `tiny`.
#[inline(always)]
pub(crate) fn expm1<M: Machine>(
    m: &M,
    x: M::Real,
    p: M::Real,
    n: Rounded<M::Real>,
    tiny: f64,
) -> M::Real {
    // Half of it, because 2^n alone may be too large.
    let half_power = m.power(n, -1);
    let half = m.mul_add(p, half_power, m.sub(half_power, m.real(0.5)));
    m.select(m.lt(m.abs(x), m.real(tiny)), x, m.add(half, half))
}

/// $\tanh x = E / (E + 2)$ with $E = e^{2|x|} - 1 = 2^n (1 + p) - 1$
#[inline(always)]
pub(crate) fn tanh<M: Machine>(m: &M, x: M::Real, p: M::Real, n: Rounded<M::Real>) -> M::Real {
    let power = m.power(n, 0);
    let e = m.mul_add(p, power, m.sub(power, m.real(1.0)));
    m.with_sign(m.div(e, m.add(e, m.real(2.0))), x)
}

/// $1 / (1 + e^{-x})$
#[inline(always)]
pub(crate) fn logistic<M: Machine>(
    m: &M,
    x: M::Real,
    exp: impl FnOnce(&M, M::Real) -> M::Real,
) -> M::Real {
    let one = m.real(1.0);
    // With t = e^-|x|, which cannot overflow: 1 / (1 + t), or t / (1 + t) for negative x.
    let t = exp(m, m.neg(m.abs(x)));
    let negative = m.lt(x, m.real(0.0));
    m.div(m.select(negative, t, one), m.add(one, t))
}

/// $s (h + s^2 R(s^2))$ and $h$, with $s = f / (2 + f)$ and $h = f^2/2$; `c` are the coefficients of
/// $R$. Then $\log(1 + f) = f - h + s (h + s^2 R)$.
#[inline(always)]
pub(crate) fn log_series<M: Machine, const N: usize>(
    m: &M,
    f: M::Real,
    c: &[f64; N],
) -> (M::Real, M::Real) {
    let s = m.div(f, m.add(m.real(2.0), f));
    let z = m.mul(s, s);
    let h = m.mul(m.mul(m.real(0.5), f), f);
    (m.mul(s, m.mul_add(z, poly(m, z, c), h)), h)
}

/// The values of a logarithm: `y` where `x` is above `edge` and finite; -inf at the edge, NaN below,
/// else `x`.
#[inline(always)]
pub(crate) fn with_edges<M: Machine>(m: &M, x: M::Real, edge: f64, y: M::Real) -> M::Real {
    let (edge, infinity) = (m.real(edge), m.real(f64::INFINITY));
    let inside = m.both(m.lt(edge, x), m.lt(x, infinity));
    let outside = m.select(m.lt(x, edge), m.real(f64::NAN), x);
    let outside = m.select(m.eq(x, edge), m.real(f64::NEG_INFINITY), outside);
    m.select(inside, y, outside)
}

/// $r$, and a number whose lowest bits are $n$, with $x = n \pi/2 + r$ and $\pi/2$ as a sum. Adding
/// `shift` rounds to an integer, which is then in the lowest bits.
#[inline(always)]
pub(crate) fn reduce_by_half_pi<M: Machine>(
    m: &M,
    x: M::Real,
    half_pi: [f64; 3],
    shift: f64,
) -> (Pair<M::Real>, M::Bits) {
    let shift = m.real(shift);
    let shifted = m.mul_add(x, m.real(std::f64::consts::FRAC_2_PI), shift);
    let n = m.sub(shifted, shift);
    let [first, second, third] = half_pi.map(|part| m.real(part));
    // Exact; then a sum with its error, as close to a multiple little is left of the first.
    let a = m.neg_mul_add(n, first, x);
    let p = product(m, n, second);
    let r = difference(m, a, p.high);
    let low = m.neg_mul_add(n, third, m.sub(r.low, p.low));
    (Pair { high: r.high, low }, m.bits_of(shifted))
}

//! Sine, cosine and tangent: $x = n \pi/2 + r$ with $|r| \le \pi/4$, and the series of both sine and
//! cosine at $r$, of which the quadrant $n \bmod 4$ chooses.
//!
//! The reduction takes $\pi/2$ in three parts, which is accurate for $|x| \le 2^{30}$: then $n$
//! times the first part is subtracted from $x$ without error, and the parts have so many bits that
//! no number of this size is too close to a multiple of $\pi/2$.

use crate::arith::{Pair, poly};
use crate::formulas::reduce_by_half_pi;
use crate::machine::Machine;

/// $(\sin r - r) / r^3$ as a polynomial in $r^2$, to 2^-57 of the sine.
const SIN: [f64; 6] = [
    -0.1666666666666663,
    0.008333333333322005,
    -0.00019841269829495457,
    2.7557313587612545e-06,
    -2.505074230758611e-08,
    1.5895904755191472e-10,
];

/// $(\cos r - 1 + r^2/2) / r^4$ as a polynomial in $r^2$, to 2^-59 of the cosine.
const COS: [f64; 6] = [
    0.041666666666666595,
    -0.0013888888888872895,
    2.4801587288748234e-05,
    -2.755731414863355e-07,
    2.0875696573618028e-09,
    -1.1358310531927826e-11,
];

const HALF_PI: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
/// 1.5 * 2^52: adding it rounds to an integer, which is then in the lowest bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// $r$, and a number whose lowest bits are $n$.
#[inline(always)]
fn reduce<M: Machine>(m: &M, x: M::Real) -> (Pair<M::Real>, M::Bits) {
    reduce_by_half_pi(m, x, HALF_PI, SHIFT)
}

/// $\sin r$ and $\cos r$
#[inline(always)]
fn series<M: Machine>(m: &M, r: Pair<M::Real>) -> (M::Real, M::Real) {
    let z = m.mul(r.high, r.high);
    let sin = m.mul_add(m.mul(r.high, z), poly(m, z, &SIN), r.low);
    // 1 - z/2 with its error, and the rest.
    let (half, one) = (m.real(0.5), m.real(1.0));
    let head = m.neg_mul_add(half, z, one);
    let error = m.neg_mul_add(half, z, m.sub(one, head));
    let error = m.neg_mul_add(r.high, r.low, error);
    let cos = m.mul_add(m.mul(z, z), poly(m, z, &COS), error);
    (m.add(r.high, sin), m.add(head, cos))
}

/// $\sin x$ for $|x| \le 2^{30}$
#[inline(always)]
pub fn sin<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (r, n) = reduce(m, m.abs(x));
    sin_of(m, r, n, x)
}

/// $\sin x$ with $|x| = n \pi/2 + r$
#[inline(always)]
pub(crate) fn sin_of<M: Machine>(m: &M, r: Pair<M::Real>, n: M::Bits, x: M::Real) -> M::Real {
    let (sin, cos) = series(m, r);
    let y = m.select(m.top_bit(m.shl(n, 63)), cos, sin);
    // The sign is that of x, changed in the quadrants 2 and 3.
    let sign = m.bit_and(m.bit_xor(m.shl(n, 62), m.bits_of(x)), m.sign_bit());
    m.with_bits(m.bit_xor(m.bits_of(y), sign))
}

/// $\cos x$ for $|x| \le 2^{30}$
#[inline(always)]
pub fn cos<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (r, n) = reduce(m, x);
    cos_of(m, r, n)
}

/// $\cos x$ with $x = n \pi/2 + r$
#[inline(always)]
pub(crate) fn cos_of<M: Machine>(m: &M, r: Pair<M::Real>, n: M::Bits) -> M::Real {
    let (sin, cos) = series(m, r);
    let y = m.select(m.top_bit(m.shl(n, 63)), sin, cos);
    // Negative in the quadrants 1 and 2.
    let sign = m.bit_and(m.shl(m.int_add(n, m.bits(1)), 62), m.sign_bit());
    m.with_bits(m.bit_xor(m.bits_of(y), sign))
}

/// $\tan x$ for $|x| \le 2^{30}$
#[inline(always)]
pub fn tan<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (r, n) = reduce(m, m.abs(x));
    tan_of(m, r, n, x)
}

/// $\tan x$ with $|x| = n \pi/2 + r$
#[inline(always)]
pub(crate) fn tan_of<M: Machine>(m: &M, r: Pair<M::Real>, n: M::Bits, x: M::Real) -> M::Real {
    let (sin, cos) = series(m, r);
    // -cos / sin in odd quadrants.
    let odd = m.shl(n, 63);
    let mask = m.top_bit(odd);
    let y = m.div(m.select(mask, cos, sin), m.select(mask, sin, cos));
    let sign = m.bit_xor(odd, m.bit_and(m.bits_of(x), m.sign_bit()));
    m.with_bits(m.bit_xor(m.bits_of(y), sign))
}

//! Inverse circular functions.

use crate::arith::poly;
use crate::machine::Machine;

/// $(\arcsin s / s - 1) / z$ for $z = s^2 \le 1/4$, to 2^-59 of the arcsine.
const ASIN: [f64; 13] = [
    0.1666666666666676,
    0.07499999999970798,
    0.04464285717461333,
    0.03038194270772988,
    0.022372214988845562,
    0.017351611996121657,
    0.013980820724528041,
    0.011398910935962675,
    0.01078025961326803,
    0.003706383289243663,
    0.02170750953098702,
    -0.02099915225131088,
    0.032628680748719656,
];

/// $(\arctan t / t - 1) / z$ for $z = t^2 \le 1/4$, to 2^-57 of the arctangent.
const ATAN: [f64; 13] = [
    -0.33333333333333315,
    0.1999999999999327,
    -0.14285714284960999,
    0.11111111068564995,
    -0.09090907669773167,
    0.07692277080306073,
    -0.0666621900886678,
    0.05877771425572423,
    -0.05229820364053995,
    0.04588750990632072,
    -0.03710250374153174,
    0.02363304574988517,
    -0.00835254185116876,
];

const PI: f64 = std::f64::consts::PI;
const PI_LOW: f64 = 1.2246467991473532e-16;

/// For $|x| > 1/2$: $\arcsin |x| = \pi/2 - 2 \arcsin s$ with $s^2 = (1 - |x|)/2$; else $s = |x|$.
struct Arcsine<M: Machine> {
    far: M::Mask,
    s: M::Real,
    /// $\arcsin s - s$
    rest: M::Real,
}

#[inline(always)]
fn arcsine<M: Machine>(m: &M, x: M::Real) -> Arcsine<M> {
    let (a, half) = (m.abs(x), m.real(0.5));
    let far = m.lt(half, a);
    let z = m.select(far, m.neg_mul_add(half, a, half), m.mul(a, a));
    let s = m.select(far, m.sqrt(z), a);
    Arcsine { far, s, rest: m.mul(m.mul(s, z), poly(m, z, &ASIN)) }
}

/// $c - 2 (s + \mathrm{rest})$ for a constant $c$ in two parts.
#[inline(always)]
fn less_twice<M: Machine>(m: &M, c: f64, c_low: f64, a: M::Real) -> M::Real {
    m.sub(m.real(c), m.mul_sub(m.real(2.0), a, m.real(c_low)))
}

/// $\arcsin x$
#[inline(always)]
pub fn asin<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Arcsine { far, s, rest } = arcsine(m, x);
    let y = m.add(s, rest);
    let y = m.select(far, less_twice(m, PI / 2.0, PI_LOW / 2.0, y), y);
    m.with_sign(y, x)
}

/// $\arccos x$
#[inline(always)]
pub fn acos<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let Arcsine { far, s, rest } = arcsine(m, x);
    // pi/2 - arcsin x, as the arcsine of a small x has the sign of x.
    let signed = m.with_sign(rest, x);
    let near = m.sub(m.real(PI / 2.0), m.sub(x, m.sub(m.real(PI_LOW / 2.0), signed)));
    let y = m.add(s, rest);
    let negative = m.lt(x, m.real(0.0));
    let y = m.select(negative, less_twice(m, PI, PI_LOW, y), m.add(y, y));
    m.select(far, y, near)
}

/// $\arctan(a / b) = c + \arctan t$ for $a, b \ge 0$ whose sum is finite or of which one is
/// infinite, not both 0.
///
/// Where $a/b$ is above 1/2 or 2, $c = \arctan 1$ or $\arctan \infty$ and $t = (a - b) / (a + b)$ or
/// $-b / a$; else $c = 0$ and $t = a / b$.
struct Angle<M: Machine> {
    c: M::Real,
    c_low: M::Real,
    t: M::Real,
}

#[inline(always)]
fn angle<M: Machine>(m: &M, a: M::Real, b: M::Real) -> Angle<M> {
    let zero = m.real(0.0);
    let above_half = m.lt(b, m.add(a, a));
    let above_two = m.lt(m.add(b, b), a);
    let pick = |low, middle, high| m.select(above_two, high, m.select(above_half, middle, low));
    let top = pick(a, m.sub(a, b), m.neg(b));
    let bottom = pick(b, m.add(a, b), a);
    Angle {
        c: pick(zero, m.real(PI / 4.0), m.real(PI / 2.0)),
        c_low: pick(zero, m.real(PI_LOW / 4.0), m.real(PI_LOW / 2.0)),
        t: m.div(top, bottom),
    }
}

/// $c + \arctan t$
#[inline(always)]
fn arctangent<M: Machine>(m: &M, Angle { c, c_low, t }: Angle<M>) -> M::Real {
    let z = m.mul(t, t);
    let rest = m.mul_add(m.mul(t, z), poly(m, z, &ATAN), c_low);
    m.add(c, m.add(t, rest))
}

/// $\arctan x$
#[inline(always)]
pub fn atan<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let angle = angle(m, m.abs(x), m.real(1.0));
    m.with_sign(arctangent(m, angle), x)
}

/// The angle of the point $(x, y)$.
#[inline(always)]
pub fn atan2<M: Machine>(m: &M, y: M::Real, x: M::Real) -> M::Real {
    let (zero, one, infinity) = (m.real(0.0), m.real(1.0), m.real(f64::INFINITY));
    let (a, b) = (m.abs(y), m.abs(x));
    // So that the sum of two large numbers stays finite.
    let large = m.lt(m.real(LARGE), m.max(a, b));
    let scale = m.select(large, m.real(0.25), one);
    // Two infinities are as good as two ones, and the quotient of 0 is 0 whatever the other is.
    let infinite = m.both(m.eq(a, infinity), m.eq(b, infinity));
    let top = m.select(infinite, one, m.mul(a, scale));
    let bottom = m.select(m.either(infinite, m.eq(a, zero)), one, m.mul(b, scale));
    let Angle { c, c_low, t } = angle(m, top, bottom);
    // To the left, pi minus the angle: the difference of the constants is exact.
    let side = m.bits_of(x);
    let left = m.top_bit(side);
    let t = m.with_bits(m.bit_xor(m.bits_of(t), m.bit_and(side, m.sign_bit())));
    let c = m.select(left, m.sub(m.real(PI), c), c);
    let c_low = m.select(left, m.sub(m.real(PI_LOW), c_low), c_low);
    let angle = arctangent(m, Angle { c, c_low, t });
    let angle = m.select(m.eq(b, b), angle, b);
    // The angle of (0, 0) to the right may be -0, that of (x, y) has the sign of y.
    m.with_sign(m.abs(angle), y)
}

/// 2^1021
const LARGE: f64 = f64::MAX / 8.0;

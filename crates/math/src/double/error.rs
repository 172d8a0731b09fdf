//! The error function and its complement.
//!
//! For small arguments erf is $x$ times a polynomial in $x^2$. For others
//! $\mathrm{erfc}\, x = e^{-x^2} g(x)$, where $(x + c)\, g(x)$ is a polynomial in
//! $t = (x - c) / (x + c)$, a variable that stays between -1 and 1.

use super::exp::exp_parts;
use crate::arith::{Pair, ordered_sum, poly, product, sum};
use crate::machine::Machine;

/// $\mathrm{erf}\, x / x - 1$ for $z = x^2 \le 1$, to 2^-56 of erf.
const ERF: [f64; 13] = [
    0.1283791670955126,
    -0.3761263890318375,
    0.11283791670954857,
    -0.026866170645072893,
    0.005223977624780849,
    -0.0008548326978741269,
    0.00012055331036868164,
    -1.492559350619007e-05,
    1.6460972806618244e-06,
    -1.6350025120702805e-07,
    1.4657879211358954e-08,
    -1.1365663730815376e-09,
    5.945258317858944e-11,
];

/// $(x + c) e^{x^2} \mathrm{erfc}\, x$ for $1 \le x \le 28$, to 2^-61 of it: the first two
/// coefficients in two parts each, and the others.
const ERFC_0: f64 = 1.0740069070883398;
const ERFC_0_LOW: f64 = -8.784531799699874e-17;
const ERFC_1: f64 = -0.8833944531698836;
const ERFC_1_LOW: f64 = -3.9151474505876867e-17;
const ERFC: [f64; 19] = [
    0.5902283571041015,
    -0.310467261900561,
    0.1195277612873219,
    -0.02682723462476827,
    -0.001212416628218127,
    0.003034062007341274,
    -0.0005483096761552511,
    -0.00027677792221553497,
    0.00010756135860482638,
    3.039876291857128e-05,
    -1.7470037426391993e-05,
    -4.752310816731543e-06,
    2.764883315007577e-06,
    1.008734238479794e-06,
    -4.123720310359381e-07,
    -2.502855519968011e-07,
    6.338277656303536e-08,
    5.9009290880915055e-08,
    -2.114379814359738e-08,
];
const C: f64 = 3.0;

/// erfc of a number that is at least 1.
#[inline(always)]
fn complement<M: Machine>(m: &M, a: M::Real) -> M::Real {
    // From here on the result is 0.
    let a = m.min(m.real(27.5), a);
    let one = m.real(1.0);
    // The inverse of a + c, of which `error` is the relative error.
    let bottom = sum(m, a, m.real(C));
    let inverse = m.div(one, bottom.high);
    let error = m.neg_mul_add(inverse, bottom.low, m.neg_mul_add(inverse, bottom.high, one));
    let twice = m.mul(m.real(2.0 * C), inverse);
    let t = m.neg_mul_add(twice, error, m.sub(one, twice));
    let g = ordered_sum(m, m.real(ERFC_1), m.mul(t, poly(m, t, &ERFC)));
    let low = m.mul_add(t, m.add(g.low, m.real(ERFC_1_LOW)), m.real(ERFC_0_LOW));
    let g = ordered_sum(m, m.real(ERFC_0), m.mul_add(t, g.high, low));
    let p = product(m, inverse, g.high);
    let g = Pair { high: p.high, low: m.mul_add(inverse, g.low, p.low) };
    let square = product(m, a, a);
    let (p, n) = exp_parts(m, Pair { high: m.neg(square.high), low: m.neg(square.low) });
    // g (1 + error) (1 + p) 2^n
    let p = m.mul_add(error, m.add(one, p), p);
    m.scale(m.add(g.high, m.mul_add(g.high, p, g.low)), n)
}

/// $\mathrm{erf}\, x$
#[inline(always)]
pub fn erf<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (a, one) = (m.abs(x), m.real(1.0));
    let near = m.mul_add(a, poly(m, m.mul(a, a), &ERF), a);
    let far = m.sub(one, complement(m, a));
    m.with_sign(m.select(m.lt(a, one), near, far), x)
}

/// $\mathrm{erfc}\, x = 1 - \mathrm{erf}\, x$
#[inline(always)]
pub fn erfc<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (a, one) = (m.abs(x), m.real(1.0));
    let near = m.neg_mul_add(x, poly(m, m.mul(x, x), &ERF), m.sub(one, x));
    let far = complement(m, a);
    let far = m.select(m.lt(x, m.real(0.0)), m.sub(m.real(2.0), far), far);
    m.select(m.lt(a, one), near, far)
}

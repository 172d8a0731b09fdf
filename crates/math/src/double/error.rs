//! The error function and its complement.
//!
//! For small arguments erf is $x$ times a polynomial in $x^2$. For others
//! $\mathrm{erfc}\, x = e^{-x^2} g(x)$, where $(x + c)\, g(x)$ is a polynomial in
//! $t = (x - c) / (x + c)$, a variable that stays between -1 and 1.

use super::exp::{reduce, rest};
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

/// $(x + c) e^{x^2} \mathrm{erfc}\, x$ for $1/2 \le x \le 28$, to 2^-57 of it: the constant in two
/// parts, and the rest divided by $t$.
const ERFC_0: f64 = 1.054031820305718;
const ERFC_0_LOW: f64 = -6.151806589474893e-17;
const ERFC: [f64; 21] = [
    -0.8046518494391488,
    0.45391411664809983,
    -0.17125114524606075,
    0.02836155013174668,
    0.008393044303170932,
    -0.004818785516869864,
    -0.00043920828234456414,
    0.0007026936411170717,
    5.830798104156025e-05,
    -0.00011260421708984321,
    -1.9533440559883545e-05,
    1.8241654547685482e-05,
    6.759930662123191e-06,
    -2.325345109577272e-06,
    -1.9797219548771476e-06,
    -1.4552214320455201e-08,
    4.801999972863093e-07,
    1.376520452291254e-07,
    -1.0394371582747077e-07,
    -3.9606459715325936e-08,
    2.040933660700732e-08,
];
const C: f64 = 2.5;

/// erfc of a number that is at least 1/2.
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
    let g = m.mul_add(t, poly(m, t, &ERFC), m.real(ERFC_0_LOW));
    let g = ordered_sum(m, m.real(ERFC_0), g);
    let p = product(m, inverse, g.high);
    let g = Pair { high: p.high, low: m.mul_add(inverse, g.low, p.low) };
    let square = product(m, a, a);
    let (r, n) = reduce(m, m.neg(square.high));
    let p = rest(m, m.sub(r, square.low));
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
    m.select(m.lt(a, m.real(0.5)), near, far)
}

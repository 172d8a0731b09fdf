//! Hyperbolic functions and their inverses.

use super::exp::{reduce, rest};
use super::log::{log_pair, log1p};
use crate::arith::{Pair, sum};
use crate::formulas;
use crate::machine::Machine;

/// From here on both hyperbolic sine and cosine are infinite.
const LARGEST: f64 = 710.6;
/// Below 2^-27 all odd functions here are their arguments.
const TINY: f64 = 1.0 / (1u64 << 27) as f64;
/// From 2^60 on, 1 added to a number makes no difference, nor to its square.
const HUGE: f64 = (1u64 << 60) as f64;

/// $\sinh x = (E + E / (E + 1)) / 2$ with $E = e^{|x|} - 1$
#[inline(always)]
pub fn sinh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let a = m.abs(x);
    let (r, n) = reduce(m, m.min(m.real(LARGEST), a));
    let p = rest(m, r);
    // A quarter of E, because E and even its half may be too large.
    let power = m.power(n, -2);
    let quarter = m.mul_add(p, power, m.sub(power, m.real(0.25)));
    let whole = m.mul_add(m.real(4.0), quarter, m.real(1.0));
    let half = m.add(quarter, m.div(quarter, whole));
    let y = m.with_sign(m.add(half, half), x);
    m.select(m.lt(a, m.real(TINY)), x, y)
}

/// $\cosh x = (e^{|x|} + e^{-|x|}) / 2$
#[inline(always)]
pub fn cosh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (r, n) = reduce(m, m.min(m.real(LARGEST), m.abs(x)));
    let power = m.power(n, -2);
    let quarter = m.mul_add(rest(m, r), power, power);
    let half = m.add(quarter, m.div(m.real(0.0625), quarter));
    m.add(half, half)
}

/// $\tanh x$
#[inline(always)]
pub fn tanh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let a = m.abs(x);
    // From 20 on the result is 1.
    let (r, n) = reduce(m, m.min(m.real(40.0), m.add(a, a)));
    formulas::tanh(m, x, rest(m, r), n)
}

/// $\log(1 + v)$, or $\log 2a$ where $a$ is huge.
#[inline(always)]
fn log_of_sum<M: Machine>(m: &M, v: M::Real, a: M::Real) -> M::Real {
    let (zero, one) = (m.real(0.0), m.real(1.0));
    let huge = m.lt(m.real(HUGE), a);
    let u = sum(m, one, v);
    let u = Pair { high: m.select(huge, a, u.high), low: m.select(huge, zero, u.low) };
    let y = log_pair(m, u, m.select(huge, one, zero));
    m.select(m.lt(a, m.real(f64::INFINITY)), y, a)
}

/// $\mathrm{arsinh}\, x = \log(1 + |x| + x^2 / (1 + \sqrt{1 + x^2}))$ with the sign of $x$
#[inline(always)]
pub fn asinh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let (a, one) = (m.abs(x), m.real(1.0));
    let root = m.sqrt(m.mul_add(a, a, one));
    let v = m.add(a, m.div(m.mul(a, a), m.add(one, root)));
    let y = m.with_sign(log_of_sum(m, v, a), x);
    m.select(m.lt(a, m.real(TINY)), x, y)
}

/// $\mathrm{arcosh}\, x = \log(1 + t + \sqrt{2 t + t^2})$ with $t = x - 1$
#[inline(always)]
pub fn acosh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let one = m.real(1.0);
    let t = m.sub(x, one);
    let v = m.add(t, m.sqrt(m.mul_add(t, t, m.add(t, t))));
    let y = log_of_sum(m, v, x);
    m.select(m.lt(x, one), m.real(f64::NAN), y)
}

/// $\mathrm{artanh}\, x = \log(1 + 2|x| / (1 - |x|)) / 2$ with the sign of $x$
#[inline(always)]
pub fn atanh<M: Machine>(m: &M, x: M::Real) -> M::Real {
    let a = m.abs(x);
    let v = m.div(m.add(a, a), m.sub(m.real(1.0), a));
    let y = m.with_sign(m.mul(m.real(0.5), log1p(m, v)), x);
    m.select(m.lt(a, m.real(TINY)), x, y)
}

//! The functions to about 90 bits, by series and by Newton's method. `known.rs` holds values of
//! theirs that were computed elsewhere.

use crate::dd::Dd;
use cotan_math::{Binary, Unary};

/// `value * 2^exponent`, so that neither part is lost where the number is tiny or huge.
#[derive(Clone, Copy, Debug)]
pub struct Scaled {
    pub value: Dd,
    pub exponent: i32,
}

const LN2: Dd = Dd::new(std::f64::consts::LN_2, 2.3190468138462996e-17);
const LN10: Dd = Dd::new(std::f64::consts::LN_10, -2.1707562233822494e-16);
const TWO_OVER_ROOT_PI: Dd = Dd::new(std::f64::consts::FRAC_2_SQRT_PI, 1.533545961316588e-17);
/// Half of pi to 160 bits.
const HALF_PI: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
const PI: Dd = Dd::new(std::f64::consts::PI, 1.2246467991473532e-16);

fn whole(value: impl Into<Dd>) -> Scaled {
    Scaled { value: value.into(), exponent: 0 }
}

fn power_of_two(n: i32) -> f64 {
    2f64.powi(n)
}

impl Scaled {
    /// As a sum of two numbers; infinite or 0 when out of range.
    pub fn unscaled(self) -> Dd {
        let (half, rest) = (self.exponent / 2, self.exponent - self.exponent / 2);
        self.value.times_power(power_of_two(half)).times_power(power_of_two(rest))
    }
}

/// $e^x = 2^k (1 + p)$: $p$ and $k$.
fn exp_parts(x: Dd) -> (Dd, i32) {
    let k = (x.hi / std::f64::consts::LN_2).round();
    let r = (x - LN2 * k).times_power(1.0 / 512.0);
    // e^r - 1 by Taylor, then squared nine times.
    let mut p = Dd::from(0.0);
    for n in (2..=13).rev() {
        p = (p + 1.0) * r / f64::from(n);
    }
    let mut p = (p + 1.0) * r;
    for _ in 0..9 {
        p = p * (p + 2.0);
    }
    (p, k as i32)
}

fn exp(x: Dd) -> Scaled {
    let (p, exponent) = exp_parts(x);
    Scaled { value: p + 1.0, exponent }
}

/// For arguments that are not too large.
fn expm1(x: Dd) -> Dd {
    let (p, k) = exp_parts(x);
    let power = power_of_two(k);
    p.times_power(power) + (Dd::from(power) - 1.0)
}

/// A positive number as a fraction near 1 and an exponent.
fn split(x: f64) -> (f64, i32) {
    let (fraction, exponent) = libm::frexp(x);
    if fraction < std::f64::consts::FRAC_1_SQRT_2 {
        (2.0 * fraction, exponent - 1)
    } else {
        (fraction, exponent)
    }
}

/// The logarithm of a number near 1.
fn log_near_one(x: Dd) -> Dd {
    let y = x.hi.ln();
    let e = expm1(Dd::from(y));
    // log(x / e^y) = 2 artanh((x - e^y) / (x + e^y)), of which the first term is enough.
    let d = (x - 1.0) - e;
    Dd::from(y) + (d + d) / (x + 1.0 + e)
}

fn log(x: f64) -> Dd {
    let (fraction, exponent) = split(x);
    log_near_one(Dd::from(fraction)) + LN2 * f64::from(exponent)
}

/// The logarithm of a quotient of moderate numbers.
fn log_dd(x: Dd) -> Dd {
    let (_, exponent) = split(x.hi);
    log_near_one(x.times_power(power_of_two(-exponent))) + LN2 * f64::from(exponent)
}

fn log1p(x: f64) -> Dd {
    if x > 1e18 {
        return log(x);
    }
    let y = x.ln_1p();
    let e = expm1(Dd::from(y));
    let d = (Dd::from(x) - e) / (e + 1.0);
    Dd::from(y) + (d - d * d * 0.5)
}

/// $\sin x$ and $\cos x$ for $|x| \le 2^{31}$
fn circle(x: f64) -> (Dd, Dd) {
    let n = (x * std::f64::consts::FRAC_2_PI).round();
    let mut r = Dd::from(x);
    for part in HALF_PI {
        r = r - Dd::from(n) * part;
    }
    let z = r * r;
    let (mut sin, mut cos) = (Dd::from(1.0), Dd::from(1.0));
    for k in (1..=16).rev() {
        let k = f64::from(2 * k);
        sin = Dd::from(1.0) - sin * z / (k * (k + 1.0));
        cos = Dd::from(1.0) - cos * z / ((k - 1.0) * k);
    }
    let sin = sin * r;
    match (n as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// The angle of the point $(x, y)$, of moderate coordinates.
fn angle(y: Dd, x: Dd) -> Dd {
    let first = y.hi.atan2(x.hi);
    let (sin, cos) = circle(first);
    Dd::from(first) + (y * cos - x * sin) / (x * cos + y * sin)
}

/// $\sqrt{1 - x^2}$
fn other_side(x: f64) -> Dd {
    ((Dd::from(1.0) - x) * (Dd::from(1.0) + x)).sqrt()
}

/// sinh and cosh, of moderate arguments
fn hyperbola(x: Dd) -> (Dd, Dd) {
    let e = expm1(x);
    let inverse = e / (e + 1.0);
    ((e + inverse).times_power(0.5), (e - inverse + 2.0).times_power(0.5))
}

fn asinh(x: Dd) -> Dd {
    let y = x.hi.asinh();
    let (sinh, cosh) = hyperbola(Dd::from(y));
    Dd::from(y) + (x - sinh) / cosh
}

/// $\mathrm{erf}\, x = 2/\sqrt\pi\, e^{-x^2} \sum_n 2^n x^{2n+1} / (2n+1)!!$, for small arguments
fn erf_series(x: f64) -> Dd {
    let square = Dd::from(x) * x;
    let mut y = Dd::from(1.0);
    for n in (1..120).rev() {
        y = y * square * 2.0 / f64::from(2 * n + 1) + 1.0;
    }
    y * x * exp(-square).unscaled() * TWO_OVER_ROOT_PI
}

/// erfc of a positive number
fn erfc(x: f64) -> Scaled {
    if x < 3.0 {
        return whole(Dd::from(1.0) - erf_series(x));
    }
    // The continued fraction x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ..))), from within.
    let mut fraction = Dd::from(x);
    for n in (1..150).rev() {
        fraction = Dd::from(0.5 * f64::from(n)) / fraction + x;
    }
    let Scaled { value, exponent } = exp(-(Dd::from(x) * x));
    Scaled { value: value * TWO_OVER_ROOT_PI / fraction * 0.5, exponent }
}

/// Below this, odd functions are their first terms.
const TINY: f64 = 1e-60;

/// The value of a function where it is finite and the argument is not special.
pub fn unary(f: Unary, x: f64) -> Scaled {
    if x.abs() < TINY {
        let first = Scaled { value: Dd::from(x * power_of_two(600)), exponent: -600 };
        match f {
            Unary::Erf => return Scaled { value: first.value * TWO_OVER_ROOT_PI, ..first },
            Unary::Expm1
            | Unary::Log1p
            | Unary::Sin
            | Unary::Tan
            | Unary::Asin
            | Unary::Atan
            | Unary::Sinh
            | Unary::Tanh
            | Unary::Asinh
            | Unary::Atanh => return first,
            _ => {}
        }
    }
    let wide = Dd::from(x);
    match f {
        Unary::Exp => exp(wide),
        Unary::Exp2 => {
            let n = x.round();
            let rest = exp(LN2 * (x - n));
            Scaled { exponent: rest.exponent + n as i32, ..rest }
        }
        Unary::Expm1 if x > 40.0 => exp(wide),
        Unary::Expm1 => whole(expm1(wide)),
        Unary::Log => whole(log(x)),
        Unary::Log2 => {
            let (fraction, exponent) = split(x);
            whole(log_near_one(Dd::from(fraction)) / LN2 + f64::from(exponent))
        }
        Unary::Log10 => whole(log(x) / LN10),
        Unary::Log1p => whole(log1p(x)),
        Unary::Cbrt => {
            let (fraction, exponent) = split(x.abs());
            let third = exponent.div_euclid(3);
            let a = fraction * power_of_two(exponent.rem_euclid(3)) * x.signum();
            let y = Dd::from(a.cbrt());
            let square = y * y;
            Scaled { value: y - (square * y - a) / (square * 3.0), exponent: third }
        }
        Unary::Sin => whole(circle(x).0),
        Unary::Cos => whole(circle(x).1),
        Unary::Tan => {
            let (sin, cos) = circle(x);
            whole(sin / cos)
        }
        Unary::Asin => whole(angle(wide, other_side(x))),
        Unary::Acos => whole(angle(other_side(x), wide)),
        Unary::Atan if x.abs() > 1e100 => whole(PI.times_power(0.5 * x.signum()) - 1.0 / x),
        Unary::Atan => whole(angle(wide, Dd::from(1.0))),
        Unary::Sinh | Unary::Cosh if x.abs() > 60.0 => {
            let e = exp(wide.abs());
            let sign = if f == Unary::Sinh { x.signum() } else { 1.0 };
            Scaled { value: e.value.times_power(sign), exponent: e.exponent - 1 }
        }
        Unary::Sinh => whole(hyperbola(wide).0),
        Unary::Cosh => whole(hyperbola(wide).1),
        Unary::Tanh => {
            let e = expm1(wide.times_power(2.0).abs());
            whole((e / (e + 2.0)).times_power(x.signum()))
        }
        Unary::Asinh if x.abs() > 1e18 => whole((log(x.abs()) + LN2).times_power(x.signum())),
        Unary::Asinh => whole(asinh(wide)),
        Unary::Acosh if x > 1e18 => whole(log(x) + LN2),
        Unary::Acosh => whole(asinh((wide - 1.0).times_power(0.5).sqrt()).times_power(2.0)),
        Unary::Atanh if x.abs() > 0.25 => {
            whole(log_dd((Dd::from(1.0) + x) / (Dd::from(1.0) - x)).times_power(0.5))
        }
        Unary::Atanh => {
            let y = x.atanh();
            let (sinh, cosh) = hyperbola(Dd::from(y));
            whole(Dd::from(y) + (wide * cosh - sinh) / (cosh - sinh * x))
        }
        Unary::Erf if x.abs() < 3.0 => whole(erf_series(x)),
        Unary::Erf => {
            let y = Dd::from(1.0) - erfc(x.abs()).unscaled();
            whole(y.times_power(x.signum()))
        }
        Unary::Erfc if x < 0.0 => whole(Dd::from(2.0) - erfc(-x).unscaled()),
        Unary::Erfc => erfc(x),
        Unary::Logistic => {
            let e = exp(-wide.abs());
            let below = e.unscaled() + 1.0;
            if x < 0.0 {
                Scaled { value: e.value / below, ..e }
            } else {
                whole(Dd::from(1.0) / below)
            }
        }
    }
}

/// The value of a function where it is finite and the arguments are not special; for a power the
/// first is positive, for an angle both are moderate.
pub fn binary(f: Binary, x: f64, y: f64) -> Scaled {
    match f {
        Binary::Pow => exp(log(x) * y),
        Binary::Atan2 => whole(angle(Dd::from(x), Dd::from(y))),
    }
}

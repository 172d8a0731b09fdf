//! Special functions that the standard library does not have, of the arithmetic and the elementary
//! functions that every executor has: one that is written again elsewhere gives the same bits.

use std::f64::consts::PI;

use cotan_math::{Binary, Unary};

fn log(x: f64) -> f64 {
    Unary::Log.f64(x)
}

fn pow(x: f64, y: f64) -> f64 {
    Binary::Pow.f64(x, y)
}

/// $\log\Gamma(2 + z) / z$ for $-3/4 \le z \le 1/2$, lowest power first, to $2^{-60}$.
const LGAMMA: [f64; 25] = [
    0.42278433509846713,
    0.3224670334241132,
    -0.0673523010531981,
    0.020580808427784557,
    -0.007385551028673713,
    0.002890510330740841,
    -0.0011927539117181768,
    0.0005096695247632334,
    -0.0002231547580287092,
    9.945751254098106e-05,
    -4.492624386630184e-05,
    2.0507212517524156e-05,
    -9.43941347505539e-06,
    4.374906583660434e-06,
    -2.039716059056738e-06,
    9.54654605005328e-07,
    -4.4715874760919424e-07,
    2.1504547762178742e-07,
    -1.053938959626937e-07,
    3.74973005802158e-08,
    -1.81062087371478e-08,
    2.952960616562811e-08,
    -7.995899597250956e-10,
    -1.1555545222787355e-08,
    -1.0998252606187326e-08,
];

/// $\log\Gamma(2 + z)$ for $-3/4 \le z \le 1/2$.
fn lgamma_near_two(z: f64) -> f64 {
    z * LGAMMA.iter().rev().fold(0.0, |y, c| y * z + c)
}

/// $\log|\Gamma(x)|$: infinite at $0, -1, -2, \ldots$
pub(super) fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.is_infinite() || (x <= 0.0 && x == libm::floor(x)) {
        return f64::INFINITY;
    }
    if x < 0.0 {
        // Gamma(x) Gamma(-x) = -pi / (x sin(pi x)); the sine has period 2, and its size period 1.
        let size = -x;
        let f = size - libm::floor(size);
        let f = if f > 0.5 { 1.0 - f } else { f };
        let sine = Unary::Sin.f64(PI * f);
        return log(PI / (size * sine)) - lgamma(size);
    }
    if x < 0.5 {
        // Gamma(x) = Gamma(2 + x) / (x (1 + x))
        return lgamma_near_two(x) - Unary::Log1p.f64(x) - log(x);
    }
    if x < 1.25 {
        return lgamma_near_two(x - 1.0) - log(x);
    }
    if x < 8.5 {
        // Gamma(x) = (x - 1) Gamma(x - 1), down to what is near 2.
        let (mut x, mut product) = (x, 1.0);
        while x >= 2.5 {
            x -= 1.0;
            product *= x;
        }
        return lgamma_near_two(x - 2.0) + log(product);
    }
    // Stirling: (x - 1/2) log x - x + log(2 pi) / 2 + sum of B_2k / (2k (2k - 1) x^(2k - 1))
    let z = 1.0 / (x * x);
    let series = 1.0 / 12.0
        - z * (1.0 / 360.0
            - z * (1.0 / 1260.0
                - z * (1.0 / 1680.0
                    - z * (1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0))))));
    let half_log = 0.4189385332046727;
    (x - 0.5) * (log(x) - 1.0) + (half_log + series / x)
}

/// The remainder with the sign of the divisor: $a - b \lfloor a/b \rfloor$.
pub(super) fn floored_rem(a: f64, b: f64) -> f64 {
    let r = libm::fmod(a, b);
    if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
}

/// $\psi(x)$, the derivative of $\log\Gamma$. NaN at the poles $0, -1, -2, \ldots$
pub(super) fn digamma(x: f64) -> f64 {
    if x.is_nan() || x == f64::NEG_INFINITY || (x <= 0.0 && x == libm::floor(x)) {
        return f64::NAN;
    }
    if x < 0.5 {
        // psi(1 - x) - psi(x) = pi cot(pi x)
        return digamma(1.0 - x) - PI / tan_pi(x);
    }
    // psi(x) = psi(x + 1) - 1/x until the asymptotic series is accurate.
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    // sum of B_2k / (2k x^2k)
    let series = z
        * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0
                    - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))));
    log(x) - 0.5 / x - series - shift
}

/// $\psi^{(n)}(x)$, the $n$-th derivative of [`digamma`]; NaN for negative `n` and at the poles.
pub(super) fn polygamma(n: i64, x: f64) -> f64 {
    if n == 0 {
        return digamma(x);
    }
    if n < 0 || x.is_nan() || x == f64::NEG_INFINITY || (x <= 0.0 && x == libm::floor(x)) {
        return f64::NAN;
    }
    let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
    if n > 170 {
        // n! overflows; the value does too unless x is large enough to shrink it to nothing.
        return if x > n as f64 { sign * 0.0 } else { sign * f64::INFINITY };
    }
    if x < 0.5 {
        // psi_n(1 - x) + (-1)^(n+1) psi_n(x) = (-1)^n pi d^n/dx^n cot(pi x)
        let cot = cot_derivative(n as usize, x);
        return sign * (-sign * cot - polygamma(n, 1.0 - x));
    }
    let factorial = (2..=n).fold(1.0, |product, k| product * k as f64);
    sign * factorial * hurwitz_zeta(n as f64 + 1.0, x)
}

/// The coefficients of $P_n$, lowest power first, for which $d^n/dx^n \cot x = P_n(\cot x)$:
/// $P_0 = c$, $P_{k+1} = -(1 + c^2) P_k'$.
pub fn cot_polynomial(n: usize) -> Vec<f64> {
    let mut p = vec![0.0, 1.0];
    for _ in 0..n {
        let mut q = vec![0.0; p.len() + 1];
        for (k, &a) in p.iter().enumerate().skip(1) {
            q[k - 1] -= k as f64 * a;
            q[k + 1] -= k as f64 * a;
        }
        p = q;
    }
    p
}

/// $\pi \, d^n/dx^n \cot(\pi x)$, by that polynomial.
fn cot_derivative(n: usize, x: f64) -> f64 {
    let mut p = cot_polynomial(n);
    let c = 1.0 / tan_pi(x);
    // From the leading coefficient, which is not 0, so that an infinite cotangent stays infinite.
    let leading = p.pop().unwrap_or(0.0);
    pow(PI, n as f64 + 1.0) * p.iter().rev().fold(leading, |y, a| y * c + a)
}

/// $\tan(\pi x)$ with the argument reduced before the multiplication.
fn tan_pi(x: f64) -> f64 {
    Unary::Tan.f64(PI * (x - libm::rint(x)))
}

/// $\zeta(s, x) = \sum_{k \ge 0} (x + k)^{-s}$ for $x > 0$, $s > 1$, by Euler and Maclaurin.
fn hurwitz_zeta(s: f64, x: f64) -> f64 {
    // B_2k / (2k)!
    const COEFFICIENTS: [f64; 10] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1209600.0,
        1.0 / 47900160.0,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0,
        -174611.0 / 802857662698291200000.0,
    ];
    // The series needs x + terms well above s to converge.
    let terms = if x > 12.0 + s { 0 } else { (12.0 + s - x) as usize + 1 };
    let head = (0..terms).fold(0.0, |sum, k| sum + pow(x + k as f64, -s));
    let a = x + terms as f64;
    let mut tail = pow(a, 1.0 - s) / (s - 1.0) + 0.5 * pow(a, -s);
    let mut factor = s * pow(a, -s - 1.0);
    for (k, c) in COEFFICIENTS.iter().enumerate() {
        tail += c * factor;
        let k = 2.0 * k as f64;
        factor *= (s + k + 1.0) * (s + k + 2.0) / (a * a);
    }
    head + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{got} against {want}");
    }

    #[test]
    fn digamma_at_known_points() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        close(digamma(1.0), -EULER, 1e-15);
        close(digamma(0.5), -EULER - 2.0 * 2f64.ln(), 1e-15);
        close(digamma(2.0), 1.0 - EULER, 1e-15);
        close(digamma(-0.5), 2.0 - EULER - 2.0 * 2f64.ln(), 1e-14);
        close(digamma(100.0), 4.600_161_852_738_087, 1e-15);
        assert!(digamma(0.0).is_nan() && digamma(-3.0).is_nan());
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn polygamma_at_known_points() {
        let zeta3 = 1.202_056_903_159_594_2;
        close(polygamma(1, 1.0), PI * PI / 6.0, 1e-14);
        close(polygamma(1, 0.5), PI * PI / 2.0, 1e-14);
        close(polygamma(2, 1.0), -2.0 * zeta3, 1e-14);
        close(polygamma(3, 1.0), PI.powi(4) / 15.0, 1e-14);
        // psi_1(-1/2) = psi_1(1/2) + 4
        close(polygamma(1, -0.5), PI * PI / 2.0 + 4.0, 1e-13);
        // psi_2(-1/2) = psi_2(1/2) + 16
        close(polygamma(2, -0.5), -14.0 * zeta3 + 16.0, 1e-13);
        assert!(polygamma(-1, 2.0).is_nan());
    }

    #[test]
    fn polygamma_is_the_derivative_of_the_order_below() {
        for n in 0..5 {
            for x in [-2.3, -0.7, 0.2, 0.8, 1.9, 7.5, 40.0] {
                let h = 1e-5 * f64::max(1.0, f64::abs(x));
                let slope = (polygamma(n, x + h) - polygamma(n, x - h)) / (2.0 * h);
                close(slope / polygamma(n + 1, x), 1.0, 1e-6);
            }
        }
    }

    #[test]
    fn remainder_has_the_sign_of_the_divisor() {
        assert_eq!(floored_rem(7.0, 3.0), 1.0);
        assert_eq!(floored_rem(-7.0, 3.0), 2.0);
        assert_eq!(floored_rem(7.0, -3.0), -2.0);
        assert_eq!(floored_rem(-6.0, 3.0), 0.0);
        assert!(floored_rem(1.0, 0.0).is_nan());
    }
}

//! Derivatives by complex steps: `f(x + ih) = f(x) + ih f'(x)` but for terms in the square of `h`, so
//! with a tiny `h` the imaginary part is the derivative, without any difference of nearly equal
//! numbers and without any rule of differentiation.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// What the functions under test are written with.
pub trait Number:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn re(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;

    fn tanh(self) -> Self {
        let e = (self + self).exp();
        (e - Self::from(1.0)) / (e + Self::from(1.0))
    }

    fn logistic(self) -> Self {
        Self::from(1.0) / (Self::from(1.0) + (-self).exp())
    }

    fn square(self) -> Self {
        self * self
    }
}

pub fn sum<N: Number>(terms: impl IntoIterator<Item = N>) -> N {
    terms.into_iter().fold(N::from(0.0), |s, x| s + x)
}

pub fn dot<N: Number>(a: &[N], b: &[N]) -> N {
    sum(a.iter().zip(b).map(|(a, b)| *a * *b))
}

#[derive(Clone, Copy, Debug)]
pub struct Complex {
    re: f64,
    im: f64,
}

const STEP: f64 = 1e-40;

impl From<f64> for Complex {
    fn from(re: f64) -> Complex {
        Complex { re, im: 0.0 }
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, b: Complex) -> Complex {
        Complex { re: self.re + b.re, im: self.im + b.im }
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, b: Complex) -> Complex {
        Complex { re: self.re - b.re, im: self.im - b.im }
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, b: Complex) -> Complex {
        Complex { re: self.re * b.re - self.im * b.im, im: self.re * b.im + self.im * b.re }
    }
}

impl Div for Complex {
    type Output = Complex;
    fn div(self, b: Complex) -> Complex {
        let scale = b.re * b.re + b.im * b.im;
        let conjugate = Complex { re: b.re / scale, im: -b.im / scale };
        self * conjugate
    }
}

impl Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex { re: -self.re, im: -self.im }
    }
}

impl Number for Complex {
    fn re(self) -> f64 {
        self.re
    }

    fn exp(self) -> Complex {
        let size = self.re.exp();
        Complex { re: size * self.im.cos(), im: size * self.im.sin() }
    }

    fn ln(self) -> Complex {
        Complex { re: self.re.hypot(self.im).ln(), im: self.im.atan2(self.re) }
    }

    /// Of numbers with a positive real part.
    fn sqrt(self) -> Complex {
        let re = ((self.re.hypot(self.im) + self.re) / 2.0).sqrt();
        Complex { re, im: self.im / (2.0 * re) }
    }

    fn sin(self) -> Complex {
        let (s, c) = self.re.sin_cos();
        Complex { re: s * self.im.cosh(), im: c * self.im.sinh() }
    }

    fn cos(self) -> Complex {
        let (s, c) = self.re.sin_cos();
        Complex { re: c * self.im.cosh(), im: -s * self.im.sinh() }
    }
}

pub fn complex(xs: &[f64]) -> Vec<Complex> {
    xs.iter().map(|x| Complex::from(*x)).collect()
}

/// The derivative of each result along a direction.
pub fn along(x: &[f64], direction: &[f64], f: impl Fn(&[Complex]) -> Vec<Complex>) -> Vec<f64> {
    let moved = x.iter().zip(direction).map(|(re, d)| Complex { re: *re, im: STEP * d });
    f(&moved.collect::<Vec<_>>()).iter().map(|y| y.im / STEP).collect()
}

/// The rows of the transposed Jacobian: for each argument the derivative of each result.
pub fn columns(x: &[f64], f: impl Fn(&[Complex]) -> Vec<Complex>) -> Vec<Vec<f64>> {
    let unit = |k: usize| (0..x.len()).map(|j| f64::from(u8::from(j == k))).collect::<Vec<_>>();
    (0..x.len()).map(|k| along(x, &unit(k), &f)).collect()
}

/// The gradient of a function to one number.
pub fn gradient(x: &[f64], f: impl Fn(&[Complex]) -> Complex) -> Vec<f64> {
    columns(x, |x| vec![f(x)]).into_iter().map(|column| column[0]).collect()
}

/// The value of a function to one number.
pub fn value(x: &[f64], f: impl Fn(&[Complex]) -> Complex) -> f64 {
    f(&complex(x)).re
}

#[test]
fn complex_steps_give_derivatives() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
    close(gradient(&[0.7], |x| x[0].exp())[0], 0.7f64.exp());
    close(gradient(&[0.7], |x| x[0].ln())[0], 1.0 / 0.7);
    close(gradient(&[0.7], |x| x[0].sqrt())[0], 0.5 / 0.7f64.sqrt());
    close(gradient(&[0.7], |x| x[0].sin())[0], 0.7f64.cos());
    close(gradient(&[0.7], |x| x[0].cos())[0], -0.7f64.sin());
    close(gradient(&[0.7], |x| x[0].tanh())[0], 1.0 - 0.7f64.tanh().powi(2));
    close(gradient(&[0.7, 2.0], |x| x[0] / x[1])[1], -0.7 / 4.0);
}

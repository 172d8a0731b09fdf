//! Complex numbers, Fourier transforms, and convolutions by them.

use std::ops::{Add, Div, Mul, Neg, Sub};

use cotan_derive::Arrays;

use super::call::{In, call_all, library};
use crate::arr::Arr;
use crate::element::Float;
use crate::sizes::Axes;
use crate::tensor::Tensor;

/// Complex numbers: an array of real parts and one of imaginary parts.
///
/// It is a structure of arrays like any other, so functions take and give it, and the derivative by a
/// complex number has the derivatives by both parts.
///
/// ```
/// use cotan::prelude::*;
///
/// let power = |z: Complex<Arr<f64>>| z.fft(-1).norm_squared().sum();
/// let z = Complex { re: Tensor::from([1.0, 0.0]), im: Tensor::from([2.0, 0.0]) };
/// let (value, slope) = value_and_grad(power).call(&z)?;
/// assert_eq!(value, 10.0);
/// assert_eq!((slope.re.to_vec(), slope.im.to_vec()), (vec![4.0, 0.0], vec![8.0, 0.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
#[arrays(crate = crate)]
pub struct Complex<A = Tensor<f64>> {
    /// The real parts.
    pub re: A,
    /// The imaginary parts.
    pub im: A,
}

/// Which transform is divided by the number of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// The inverse.
    #[default]
    Backward,
    /// Each by its root.
    Ortho,
    /// The transform itself.
    Forward,
}

impl Norm {
    fn word(self) -> &'static str {
        match self {
            Norm::Backward => "backward",
            Norm::Ortho => "ortho",
            Norm::Forward => "forward",
        }
    }
}

/// A call that gives complex numbers.
macro_rules! complex {
    ($name:expr, $f:ident($($param:ident = $arg:expr),* $(,)?)) => {
        Complex::of(call_all(
            $name,
            &cotan_library::functions::$f,
            vec![$((stringify!($param), In::from($arg))),*],
        ))
    };
}

impl<T: Float> From<Complex<Arr<T>>> for In {
    fn from(z: Complex<Arr<T>>) -> In {
        In::Arrays(vec![z.re.raw, z.im.raw])
    }
}

impl<T: Float> Complex<Arr<T>> {
    fn of(made: Option<Vec<crate::stage::Raw>>) -> Complex<Arr<T>> {
        match made.as_deref() {
            Some([re, im]) => Complex { re: Arr::from_raw(*re), im: Arr::from_raw(*im) },
            _ => Complex { re: Arr::nothing(), im: Arr::nothing() },
        }
    }

    /// The conjugates.
    pub fn conj(self) -> Complex<Arr<T>> {
        Complex { re: self.re, im: -self.im }
    }

    /// The squares of the absolute values.
    pub fn norm_squared(self) -> Arr<T> {
        self.re * self.re + self.im * self.im
    }

    /// The discrete Fourier transform along an axis; see [`fft_norm`](Complex::fft_norm).
    #[track_caller]
    pub fn fft(self, axis: i32) -> Complex<Arr<T>> {
        complex!("fft", fft(z = self, axis = axis))
    }

    /// The inverse of [`fft`](Complex::fft).
    #[track_caller]
    pub fn ifft(self, axis: i32) -> Complex<Arr<T>> {
        complex!("ifft", ifft(z = self, axis = axis))
    }

    /// The discrete Fourier transform along an axis: the sums of `z[j] exp(-2 pi i j k / n)`, divided as
    /// the norm says. Any length takes about n log n operations.
    #[track_caller]
    pub fn fft_norm(self, axis: i32, norm: Norm) -> Complex<Arr<T>> {
        complex!("fft_norm", fft(z = self, axis = axis, norm = norm.word()))
    }

    /// The inverse of [`fft_norm`](Complex::fft_norm) with the same norm.
    #[track_caller]
    pub fn ifft_norm(self, axis: i32, norm: Norm) -> Complex<Arr<T>> {
        complex!("ifft_norm", ifft(z = self, axis = axis, norm = norm.word()))
    }

    /// The transform along several axes: `fftn((0, 1))`, or `fftn(..)` for all.
    #[track_caller]
    pub fn fftn(self, axes: impl Axes) -> Complex<Arr<T>> {
        complex!("fftn", fftn(z = self, axes = axes.axes()))
    }

    /// The inverse of [`fftn`](Complex::fftn).
    #[track_caller]
    pub fn ifftn(self, axes: impl Axes) -> Complex<Arr<T>> {
        complex!("ifftn", ifftn(z = self, axes = axes.axes()))
    }

    /// The transform along the last two axes.
    #[track_caller]
    pub fn fft2(self) -> Complex<Arr<T>> {
        complex!("fft2", fft2(z = self))
    }

    /// The inverse of [`fft2`](Complex::fft2).
    #[track_caller]
    pub fn ifft2(self) -> Complex<Arr<T>> {
        complex!("ifft2", ifft2(z = self))
    }

    /// The inverse of [`rfft`](Arr::rfft): `n` real numbers along an axis.
    #[track_caller]
    pub fn irfft(self, axis: i32, n: usize) -> Arr<T> {
        library!("irfft", irfft(z = self, axis = axis, n = vec![n]))
    }
}

impl<T: Float> Arr<T> {
    /// The array as complex numbers, with imaginary parts 0.
    pub fn to_complex(self) -> Complex<Arr<T>> {
        Complex { re: self, im: self.zeros_like() }
    }

    /// The first `n / 2 + 1` numbers of the Fourier transform of `n` real numbers along an axis; the
    /// others are the conjugates of these.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.rfft(0).re);
    /// assert_eq!(f.call([1.0, 2.0, 3.0, 4.0])?.to_vec(), [10.0, -2.0, -2.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn rfft(self, axis: i32) -> Complex<Arr<T>> {
        complex!("rfft", rfft(x = self, axis = axis))
    }

    /// The elements with those of frequency 0 moved from the beginning to the middle of axes.
    #[track_caller]
    pub fn fftshift(self, axes: impl Axes) -> Arr<T> {
        library!("fftshift", fftshift(x = self, axes = axes.axes()))
    }

    /// The inverse of [`fftshift`](Arr::fftshift).
    #[track_caller]
    pub fn ifftshift(self, axes: impl Axes) -> Arr<T> {
        library!("ifftshift", ifftshift(x = self, axes = axes.axes()))
    }

    /// The convolution of two sequences along an axis, by Fourier transforms where these are cheaper:
    /// all sums that overlap. [`convolve_with`](Arr::convolve_with) has the choices.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>, y: Arr<f64>| x.convolve(y, 0));
    /// assert_eq!(f.call(([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]))?.to_vec(), [0.0, 1.0, 2.5, 4.0, 1.5]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn convolve(self, y: Arr<T>, axis: i32) -> Arr<T> {
        library!("convolve", convolve(x = self, y = y, axis = axis))
    }

    /// [`convolve`](Arr::convolve) with a mode, `full`, `same` or `valid`, and a method, `auto`, `direct`
    /// or `fft`.
    #[track_caller]
    pub fn convolve_with(self, y: Arr<T>, axis: i32, mode: &str, method: &str) -> Arr<T> {
        library!(
            "convolve_with",
            convolve(x = self, y = y, axis = axis, mode = mode, method = method)
        )
    }
}

/// The frequencies of the numbers that a Fourier transform gives of `n` samples at distances `d`.
///
/// ```
/// use cotan::prelude::*;
///
/// assert_eq!(cotan::fftfreq(4, 0.5).to_vec(), [0.0, 0.5, -1.0, -0.5]);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn fftfreq(n: usize, d: f64) -> Tensor<f64> {
    let at = |k: usize| if k < n.div_ceil(2) { k as f64 } else { k as f64 - n as f64 };
    (0..n).map(|k| at(k) / (n as f64 * d)).collect()
}

/// The frequencies of the numbers that [`rfft`](Arr::rfft) gives of `n` samples at distances `d`.
pub fn rfftfreq(n: usize, d: f64) -> Tensor<f64> {
    (0..n / 2 + 1).map(|k| if n == 0 { 0.0 } else { k as f64 / (n as f64 * d) }).collect()
}

impl<T: Float> Add for Complex<Arr<T>> {
    type Output = Complex<Arr<T>>;

    fn add(self, other: Complex<Arr<T>>) -> Complex<Arr<T>> {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<T: Float> Sub for Complex<Arr<T>> {
    type Output = Complex<Arr<T>>;

    fn sub(self, other: Complex<Arr<T>>) -> Complex<Arr<T>> {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<T: Float> Mul for Complex<Arr<T>> {
    type Output = Complex<Arr<T>>;

    fn mul(self, other: Complex<Arr<T>>) -> Complex<Arr<T>> {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl<T: Float> Div for Complex<Arr<T>> {
    type Output = Complex<Arr<T>>;

    /// As the product with the conjugate over the square of the absolute value, which may overflow.
    fn div(self, other: Complex<Arr<T>>) -> Complex<Arr<T>> {
        let (size, z) = (other.norm_squared(), self * other.conj());
        Complex { re: z.re / size, im: z.im / size }
    }
}

impl<T: Float> Mul<Arr<T>> for Complex<Arr<T>> {
    type Output = Complex<Arr<T>>;

    fn mul(self, factor: Arr<T>) -> Complex<Arr<T>> {
        Complex { re: self.re * factor, im: self.im * factor }
    }
}

impl<T: Float> Neg for Complex<Arr<T>> {
    type Output = Complex<Arr<T>>;

    fn neg(self) -> Complex<Arr<T>> {
        Complex { re: -self.re, im: -self.im }
    }
}

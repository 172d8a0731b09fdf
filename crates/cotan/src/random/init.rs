//! Initial values of parameters.

use super::orthogonal::orthogonal;
use super::{Key, bad_parameter};
use crate::element::Float;
use crate::error::Result;
use crate::sizes::Sizes;
use crate::tensor::Tensor;

/// With how many inputs and outputs an element of a layer is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fans {
    /// From how many inputs an output is computed.
    pub inputs: usize,
    /// Into how many outputs an input goes.
    pub outputs: usize,
}

impl Fans {
    /// Of parameters with axes output, input and others, over which the layer is convolved: matrices
    /// `[output, input]`, kernels of [`conv`](crate::nn::conv). Each fan is a size times the sizes of
    /// the others. Of a vector both are its size, of a scalar 1.
    ///
    /// ```
    /// use cotan::random::Fans;
    ///
    /// assert_eq!(Fans::out_in(&[8, 3, 5, 5]), Fans { inputs: 75, outputs: 200 });
    /// assert_eq!(Fans::out_in(&[10]), Fans { inputs: 10, outputs: 10 });
    /// ```
    pub fn out_in(sizes: &[usize]) -> Fans {
        match sizes {
            [] => Fans { inputs: 1, outputs: 1 },
            [k] => Fans { inputs: *k, outputs: *k },
            [outputs, inputs, field @ ..] => {
                let times = |k: &usize| field.iter().fold(*k, |n, &size| n.saturating_mul(size));
                Fans { inputs: times(inputs), outputs: times(outputs) }
            }
        }
    }

    /// Of parameters with axes input and output first: matrices that are multiplied from the right.
    ///
    /// ```
    /// use cotan::random::Fans;
    ///
    /// assert_eq!(Fans::in_out(&[3, 8]), Fans { inputs: 3, outputs: 8 });
    /// ```
    pub fn in_out(sizes: &[usize]) -> Fans {
        let Fans { inputs, outputs } = Fans::out_in(sizes);
        Fans { inputs: outputs, outputs: inputs }
    }
}

/// How parameters are initialised.
///
/// With `n` inputs and `m` outputs (see [`Fans`]), the variances are $2 / (n + m)$ of Glorot, also
/// called Xavier, $2 / n$ of He, also called Kaiming, and $1 / n$ of LeCun.
///
/// ```
/// use cotan::random::{Fans, Init, Key};
///
/// let w = Init::GlorotUniform.tensor::<f32>(Key::new(0), [4, 2])?;
/// assert!(w.iter().all(|x| x.abs() <= 1.0));
/// let w = Init::HeNormal.with_fans::<f64>(Key::new(0), [2, 4], Fans::in_out(&[2, 4]))?;
/// assert_eq!(w.shape(), [2, 4]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// A number.
    Constant(f64),
    /// Uniform numbers from the first to (excluding) the second.
    Uniform(f64, f64),
    /// Normal numbers of a mean and a standard deviation.
    Normal(f64, f64),
    /// Normal numbers as they are up to twice the deviation from the mean. (Their own deviation is
    /// 0.88 of that given.)
    TruncatedNormal(f64, f64),
    /// Uniform between $\pm\sqrt{6 / (n + m)}$.
    GlorotUniform,
    /// Normal, of variance $2 / (n + m)$.
    GlorotNormal,
    /// Uniform between $\pm\sqrt{6 / n}$.
    HeUniform,
    /// Normal, of variance $2 / n$.
    HeNormal,
    /// Uniform between $\pm\sqrt{3 / n}$.
    LecunUniform,
    /// Normal, of variance $1 / n$.
    LecunNormal,
    /// A random matrix with orthonormal rows or columns, whichever are fewer, times a gain; axes
    /// after the first are taken as one. All such matrices are equally likely.
    Orthogonal(f64),
}

impl Init {
    /// A tensor of parameters, with axes output, input and others: see [`Fans::out_in`].
    pub fn tensor<T: Float>(self, key: Key, sizes: impl Sizes) -> Result<Tensor<T>> {
        let sizes = sizes.sizes();
        let fans = Fans::out_in(&sizes);
        self.with_fans(key, sizes, fans)
    }

    /// A tensor of parameters that connect so many inputs and outputs.
    pub fn with_fans<T: Float>(
        self,
        key: Key,
        sizes: impl Sizes,
        Fans { inputs, outputs }: Fans,
    ) -> Result<Tensor<T>> {
        let (n, m) = (inputs.max(1) as f64, outputs.max(1) as f64);
        let uniform = |sizes, variance: f64| {
            let bound = libm::sqrt(3.0 * variance);
            key.uniform_in(sizes, -bound, bound)
        };
        let normal = |sizes, variance: f64| {
            Ok(scaled(&key.normal::<f64>(sizes)?, 0.0, libm::sqrt(variance)))
        };
        let sizes = sizes.sizes();
        match self {
            Init::Zeros => Tensor::zeros(sizes),
            Init::Ones => Tensor::full(sizes, T::ONE),
            Init::Constant(x) => Tensor::full(sizes, T::of(x)),
            Init::Uniform(low, high) => key.uniform_in(sizes, low, high),
            Init::Normal(mean, deviation) => {
                Ok(scaled(&key.normal::<f64>(sizes)?, mean, expect_deviation(deviation)?))
            }
            Init::TruncatedNormal(mean, deviation) => {
                let draws = key.truncated_normal::<f64>(sizes, 2.0)?;
                Ok(scaled(&draws, mean, expect_deviation(deviation)?))
            }
            Init::GlorotUniform => uniform(sizes, 2.0 / (n + m)),
            Init::GlorotNormal => normal(sizes, 2.0 / (n + m)),
            Init::HeUniform => uniform(sizes, 2.0 / n),
            Init::HeNormal => normal(sizes, 2.0 / n),
            Init::LecunUniform => uniform(sizes, 1.0 / n),
            Init::LecunNormal => normal(sizes, 1.0 / n),
            Init::Orthogonal(gain) => {
                let rows = sizes.first().copied().unwrap_or(1);
                let columns = sizes.iter().skip(1).product();
                let matrix = orthogonal(key, rows, columns)?;
                Tensor::new(sizes, matrix.into_iter().map(|x| T::of(gain * x)).collect())
            }
        }
    }
}

fn expect_deviation(deviation: f64) -> Result<f64> {
    if deviation >= 0.0 && deviation.is_finite() {
        return Ok(deviation);
    }
    let message = format!("a standard deviation of {deviation}");
    Err(bad_parameter("init", message, "it is finite and not negative"))
}

/// `mean + deviation * x`.
fn scaled<T: Float>(x: &Tensor<f64>, mean: f64, deviation: f64) -> Tensor<T> {
    x.map(|x| T::of(mean + deviation * x))
}

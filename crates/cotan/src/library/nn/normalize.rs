//! Normalisation and dropout.

use super::parts::chosen;
use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::error::Error;
use crate::library::axes::{failed, type_text as shown};
use crate::ops::select;
use crate::sizes::Axes;
use crate::stage::operation;

/// `x` with mean 0 and variance 1 along axes: $(x - \mu) / \sqrt{\sigma^2 + \epsilon}$, where
/// $\sigma^2$ is the mean of the squares of $x - \mu$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::standardize(x, 0, 0.0));
/// assert_eq!(f.call([1.0, 5.0])?.to_vec(), [-1.0, 1.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn standardize<T: Float>(x: Arr<T>, axes: impl Axes, epsilon: f64) -> Arr<T> {
    operation("standardize", || moments(x, &chosen("standardize", x, axes)).standardized(epsilon))
}

/// An array less its mean along axes, the mean, and the variance.
struct Moments<T> {
    centred: Arr<T>,
    mean: Arr<T>,
    variance: Arr<T>,
}

#[track_caller]
fn moments<T: Float>(x: Arr<T>, axes: &[usize]) -> Moments<T> {
    let mean = x.mean_keep(axes);
    let centred = x - mean;
    Moments { centred, mean, variance: (centred * centred).mean_keep(axes) }
}

impl<T: Float> Moments<T> {
    #[track_caller]
    fn standardized(&self, epsilon: f64) -> Arr<T> {
        self.centred / (self.variance + T::of(epsilon)).sqrt()
    }
}

/// Layer normalisation: [`standardize`] along the last axes, then times `scale` plus `bias`. The
/// axes are as many as `scale` has, and of its shape; `bias` has the same.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, scale: Arr<f64>, bias: Arr<f64>| nn::layer_norm(x, scale, bias, 0.0));
/// let y = f.call(([[1.0, 5.0], [7.0, 3.0]], [2.0, 3.0], [0.0, 1.0]))?;
/// assert_eq!(y, Tensor::from([[-2.0, 4.0], [2.0, -2.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn layer_norm<T: Float>(x: Arr<T>, scale: Arr<T>, bias: Arr<T>, epsilon: f64) -> Arr<T> {
    operation("layer_norm", || {
        match trailing_axes("layer_norm", x, &[("scale", scale), ("bias", bias)]) {
            Ok(axes) => moments(x, &axes).standardized(epsilon) * scale + bias,
            Err(error) => failed(error),
        }
    })
}

/// Layer normalisation without centring: `x` over the root of the mean of its squares along the last
/// axes, times `scale`: $x\,/\sqrt{\overline{x^2} + \epsilon}$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, scale: Arr<f64>| nn::rms_norm(x, scale, 0.0));
/// assert_eq!(f.call(([3.0, 3.0], [1.0, 2.0]))?.to_vec(), [1.0, 2.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn rms_norm<T: Float>(x: Arr<T>, scale: Arr<T>, epsilon: f64) -> Arr<T> {
    operation("rms_norm", || match trailing_axes("rms_norm", x, &[("scale", scale)]) {
        Ok(axes) => x / ((x * x).mean_keep(&axes[..]) + T::of(epsilon)).sqrt() * scale,
        Err(error) => failed(error),
    })
}

/// The last axes of `x`, which have the shape of every parameter.
fn trailing_axes<T: Float>(
    op: &str,
    x: Arr<T>,
    parameters: &[(&str, Arr<T>)],
) -> Result<Vec<usize>, Error> {
    let shape = x.shape();
    let rank = parameters.first().map_or(0, |(_, first)| first.rank());
    let begin = shape.len().saturating_sub(rank);
    for (name, parameter) in parameters {
        if shape.get(begin..) != Some(&parameter.shape()[..]) {
            let message =
                format!("a {name} {} for the last axes of {}", shown(*parameter), shown(x));
            let hint = "the parameters have the shape of the axes that are normalised";
            return Err(Error::type_error(op, message).with_hint(hint));
        }
    }
    Ok((begin..shape.len()).collect())
}

/// Batch normalisation as in training: [`standardize`] each channel, which is axis 1, over all other
/// axes, then times `scale` plus `bias`, vectors of channels.
///
/// The results are the array, and the mean and variance of each channel, from which one keeps the
/// running averages that [`batch_norm_with`] takes. (The variance is that of the batch, divided by
/// the number of elements.)
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, scale: Arr<f64>, bias: Arr<f64>| nn::batch_norm(x, scale, bias, 0.0));
/// let (y, mean, variance) = f.call(([[1.0, 0.0], [5.0, 4.0]], [1.0, 2.0], [0.0, 1.0]))?;
/// assert_eq!(y, Tensor::from([[-1.0, -1.0], [1.0, 3.0]]));
/// assert_eq!((mean.to_vec(), variance.to_vec()), (vec![3.0, 2.0], vec![4.0, 4.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn batch_norm<T: Float>(
    x: Arr<T>,
    scale: Arr<T>,
    bias: Arr<T>,
    epsilon: f64,
) -> (Arr<T>, Arr<T>, Arr<T>) {
    operation("batch_norm", || {
        let along = match along_channels("batch_norm", x, &[("scale", scale), ("bias", bias)]) {
            Ok(along) => along,
            Err(error) => return (failed(error), Arr::nothing(), Arr::nothing()),
        };
        let axes: Vec<usize> = (0..x.rank()).filter(|&axis| axis != 1).collect();
        let of_batch = moments(x, &axes);
        let [scale, bias] = [scale, bias].map(|parameter| parameter.reshape(&along));
        let channels = x.shape().get(1).copied().unwrap_or(1);
        let y = of_batch.standardized(epsilon) * scale + bias;
        (y, of_batch.mean.reshape(channels), of_batch.variance.reshape(channels))
    })
}

/// Batch normalisation as in inference: with given means and variances of the channels.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, mean: Arr<f64>, variance: Arr<f64>| {
///     nn::batch_norm_with(x, mean, variance, ones([2]), zeros([2]), 0.0)
/// });
/// let y = f.call(([[1.0, 2.0]], [0.0, 1.0], [1.0, 4.0]))?;
/// assert_eq!(y, Tensor::from([[1.0, 0.5]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn batch_norm_with<T: Float>(
    x: Arr<T>,
    mean: Arr<T>,
    variance: Arr<T>,
    scale: Arr<T>,
    bias: Arr<T>,
    epsilon: f64,
) -> Arr<T> {
    operation("batch_norm_with", || {
        let parameters = [("mean", mean), ("variance", variance), ("scale", scale), ("bias", bias)];
        match along_channels("batch_norm_with", x, &parameters) {
            Ok(along) => {
                // One factor for each channel, before it meets the array.
                let factor = scale / (variance + T::of(epsilon)).sqrt();
                let [mean, factor, bias] = [mean, factor, bias].map(|c| c.reshape(&along));
                (x - mean) * factor + bias
            }
            Err(error) => failed(error),
        }
    })
}

/// The shape of a vector of channels beside `x`, which every parameter is.
fn along_channels<T: Float>(
    op: &str,
    x: Arr<T>,
    parameters: &[(&str, Arr<T>)],
) -> Result<Vec<usize>, Error> {
    let shape = x.shape();
    let Some(&channels) = shape.get(1) else {
        let message = format!("axes of batch and channel are needed, of {}", shown(x));
        return Err(Error::type_error(op, message));
    };
    for (name, parameter) in parameters {
        if parameter.shape() != [channels] {
            let message =
                format!("a {name} {} for the channels of {}", shown(*parameter), shown(x));
            let hint = "one number for each channel, which is axis 1";
            return Err(Error::type_error(op, message).with_hint(hint));
        }
    }
    let mut along = vec![1; shape.len() - 1];
    if let Some(first) = along.first_mut() {
        *first = channels;
    }
    Ok(along)
}

/// `x` where `keep` holds, over the part `1 - rate` that is kept, and 0 elsewhere: the expectation
/// stays that of `x`. With a rate of 1, nothing is left.
///
/// The mask comes from outside, drawn anew for every step: what is drawn while a function is staged
/// is the same in every call.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
/// use cotan::random::Key;
///
/// let f = jit(|x: Arr<f64>, keep: Arr<bool>| nn::dropout(x, keep, 0.5));
/// let keep = Key::new(7).bernoulli([4], 0.5)?;
/// let y = f.call(([1.0, 2.0, 3.0, 4.0], &keep))?;
/// for (k, kept) in keep.iter().enumerate() {
///     assert_eq!(y.get(&[k]), Some(if kept { 2.0 * (k + 1) as f64 } else { 0.0 }));
/// }
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn dropout<T: Float>(x: Arr<T>, keep: impl Operand<bool>, rate: f64) -> Arr<T> {
    let keep = keep.operand();
    operation("dropout", || {
        if !(0.0..=1.0).contains(&rate) {
            let message = format!("a rate of {rate}");
            let hint = "it is the part that is dropped: between 0 and 1";
            return failed(Error::type_error("dropout", message).with_hint(hint));
        }
        let factor = if rate < 1.0 { 1.0 / (1.0 - rate) } else { 0.0 };
        select(keep, x * T::of(factor), T::default())
    })
}

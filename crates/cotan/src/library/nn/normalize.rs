//! Normalisation and dropout.

use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::library::call::{call_all, library};
use crate::sizes::Axes;

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
    library!("standardize", standardize(x = x, axis = axes.axes(), epsilon = epsilon))
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
    library!("layer_norm", layer_norm(x = x, scale = scale, bias = bias, epsilon = epsilon))
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
    library!("rms_norm", rms_norm(x = x, scale = scale, epsilon = epsilon))
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
    let args = vec![
        ("x", x.into()),
        ("scale", scale.into()),
        ("bias", bias.into()),
        ("epsilon", epsilon.into()),
    ];
    match call_all("batch_norm", &cotan_library::functions::batch_norm, args).as_deref() {
        Some(&[y, mean, variance]) => {
            (Arr::from_raw(y), Arr::from_raw(mean), Arr::from_raw(variance))
        }
        _ => (Arr::nothing(), Arr::nothing(), Arr::nothing()),
    }
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
    library!(
        "batch_norm_with",
        batch_norm_with(
            x = x,
            mean = mean,
            variance = variance,
            scale = scale,
            bias = bias,
            epsilon = epsilon
        )
    )
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
    library!("dropout", dropout(x = x, kept = keep.operand(), rate = rate))
}

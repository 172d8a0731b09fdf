//! Normalisation.

use cotan::{Arr, Arrays, Float, Result, Tensor, nn};

/// What keeps from a division by 0.
const EPSILON: f64 = 1e-5;

/// Layer normalisation of the last axis: mean 0 and variance 1, then times a scale plus a bias.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Norm<A> {
    /// Shape `[features]`.
    pub scale: A,
    /// Shape `[features]`.
    pub bias: A,
}

impl<T: Float> Norm<Tensor<T>> {
    /// A scale of 1 and a bias of 0.
    pub fn init(features: usize) -> Result<Self> {
        Ok(Norm { scale: Tensor::full([features], T::ONE)?, bias: Tensor::zeros([features])? })
    }
}

impl<T: Float> Norm<Arr<T>> {
    /// `[.., features]` to the same shape.
    #[track_caller]
    pub fn apply(self, x: Arr<T>) -> Arr<T> {
        nn::layer_norm(x, self.scale, self.bias, EPSILON)
    }
}

/// Normalisation of the last axis by the root of the mean of squares, then times a scale.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct RmsNorm<A> {
    /// Shape `[features]`.
    pub scale: A,
}

impl<T: Float> RmsNorm<Tensor<T>> {
    /// A scale of 1.
    pub fn init(features: usize) -> Result<Self> {
        Ok(RmsNorm { scale: Tensor::full([features], T::ONE)? })
    }
}

impl<T: Float> RmsNorm<Arr<T>> {
    /// `[.., features]` to the same shape.
    #[track_caller]
    pub fn apply(self, x: Arr<T>) -> Arr<T> {
        nn::rms_norm(x, self.scale, EPSILON)
    }
}

/// Batch normalisation of channels, along the second axis: mean 0 and variance 1 over a batch, then
/// times a scale plus a bias.
///
/// The means and variances that inference uses are not parameters, which have gradients, but
/// [`Statistics`]: the objective gives them beside the loss, and the program that trains keeps a
/// running mean of them.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm<A> {
    /// Shape `[channels]`.
    pub scale: A,
    /// Shape `[channels]`.
    pub bias: A,
}

/// Means and variances of channels.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Statistics<A> {
    /// Shape `[channels]`.
    pub mean: A,
    /// Shape `[channels]`.
    pub variance: A,
}

impl<T: Float> BatchNorm<Tensor<T>> {
    /// A scale of 1 and a bias of 0.
    pub fn init(channels: usize) -> Result<Self> {
        Ok(BatchNorm { scale: Tensor::full([channels], T::ONE)?, bias: Tensor::zeros([channels])? })
    }
}

impl<T: Float> BatchNorm<Arr<T>> {
    /// `[batch, channels, ..]` to the same shape, with the statistics of the batch.
    #[track_caller]
    pub fn apply(self, x: Arr<T>) -> (Arr<T>, Statistics<Arr<T>>) {
        let (y, mean, variance) = nn::batch_norm(x, self.scale, self.bias, EPSILON);
        (y, Statistics { mean, variance })
    }

    /// The same with given statistics: what a trained network computes.
    #[track_caller]
    pub fn apply_with(self, x: Arr<T>, statistics: Statistics<Arr<T>>) -> Arr<T> {
        let Statistics { mean, variance } = statistics;
        nn::batch_norm_with(x, mean, variance, self.scale, self.bias, EPSILON)
    }
}

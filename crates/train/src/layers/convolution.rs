//! Convolutions.

use cotan::nn::{self, Conv};
use cotan::random::{Init, Key};
use cotan::{Arr, Arrays, Float, Result, Tensor};

/// A convolution over the axes after batch and channels, with a bias for each channel.
///
/// ```
/// use cotan::nn::Conv;
/// use cotan::prelude::*;
/// use cotan::random::Key;
/// use cotan_train::layers::Convolution;
///
/// let layer = Convolution::<Tensor<f32>>::init(Key::new(0), 3, 8, [5, 5])?;
/// let f = |layer: Convolution<Arr<f32>>, images: Arr<f32>| {
///     layer.apply(images, Conv::<2>::new().same().stride([2, 2])).relu()
/// };
/// let images = Tensor::<f32>::zeros([10, 3, 32, 32])?;
/// assert_eq!(jit(f).call((&layer, &images))?.shape(), [10, 8, 16, 16]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Convolution<A> {
    /// Shape `[output channels, input channels of a group, ..window]`.
    pub kernel: A,
    /// Shape `[output channels]`.
    pub bias: A,
}

impl<T: Float> Convolution<Tensor<T>> {
    /// Random kernels by [`Init::HeNormal`], as for a `relu` that follows, and a bias of 0.
    pub fn init<const N: usize>(
        key: Key,
        inputs: usize,
        outputs: usize,
        window: [usize; N],
    ) -> Result<Self> {
        let sizes = [&[outputs, inputs][..], &window].concat();
        let kernel = Init::HeNormal.tensor(key, sizes)?;
        Ok(Convolution { kernel, bias: Tensor::zeros([outputs])? })
    }
}

impl<T: Float> Convolution<Arr<T>> {
    /// `[batch, input channels, ..]` to `[batch, output channels, ..]`.
    #[track_caller]
    pub fn apply<const N: usize>(self, x: Arr<T>, options: Conv<N>) -> Arr<T> {
        let after: Vec<i32> = (1..=N as i32).collect();
        nn::conv(x, self.kernel, options) + self.bias.expand_dims(after)
    }
}

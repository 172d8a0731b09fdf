//! Convolution, and its transpose.

use super::window::Padding;
use crate::arr::Arr;
use crate::element::{Float, Number};
use crate::library::call::library;

/// How a kernel moves over `N` axes: by default by single steps, inside the array, over all
/// channels.
///
/// ```
/// use cotan::nn::{Conv, Padding};
///
/// let options = Conv::<2>::new().stride([2, 2]).padding([(1, 0), (1, 0)]);
/// assert_eq!(options.padding, Padding::Explicit([(1, 0), (1, 0)]));
/// assert_eq!(options, Conv { stride: [2, 2], padding: options.padding, ..Conv::new() });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv<const N: usize> {
    /// How far the kernel moves from one element of the result to the next.
    pub stride: [usize; N],
    /// What lies around the array: zeros.
    pub padding: Padding<N>,
    /// How far the elements of the kernel lie apart.
    pub dilation: [usize; N],
    /// In how many groups the channels are divided, which know nothing of each other. As many as
    /// there are channels make a depthwise convolution.
    pub groups: usize,
}

impl<const N: usize> Default for Conv<N> {
    fn default() -> Conv<N> {
        Conv { stride: [1; N], padding: Padding::Valid, dilation: [1; N], groups: 1 }
    }
}

impl<const N: usize> Conv<N> {
    /// The default.
    pub fn new() -> Conv<N> {
        Conv::default()
    }

    /// With another stride.
    pub fn stride(self, stride: [usize; N]) -> Conv<N> {
        Conv { stride, ..self }
    }

    /// With so many zeros before and after, for each axis.
    pub fn padding(self, padding: [(usize, usize); N]) -> Conv<N> {
        Conv { padding: Padding::Explicit(padding), ..self }
    }

    /// With as many zeros as keep the size: see [`Padding::Same`].
    pub fn same(self) -> Conv<N> {
        Conv { padding: Padding::Same, ..self }
    }

    /// With another dilation.
    pub fn dilation(self, dilation: [usize; N]) -> Conv<N> {
        Conv { dilation, ..self }
    }

    /// With so many groups.
    pub fn groups(self, groups: usize) -> Conv<N> {
        Conv { groups, ..self }
    }
}

/// The convolution of `x`, with axes batch, channel and `N` more, with a kernel, with axes output
/// channel, input channel of a group, and `N` more:
///
/// $$y_{b,o,p} = \sum_{c,k} x_{b,\,c,\,s p + d k - a}\; w_{o,c,k}$$
///
/// with stride $s$, dilation $d$ and $a$ zeros before. (The kernel is not reversed, as is the custom
/// in neural networks.) A kernel larger than `x` with its padding gives a result without elements.
///
/// ```
/// use cotan::nn::{self, Conv};
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, w: Arr<f64>| nn::conv(x, w, Conv::<1>::new().stride([2])));
/// let y = f.call(([[[1.0, 2.0, 3.0, 4.0, 5.0]]], [[[1.0, 10.0]]]))?;
/// assert_eq!(y, Tensor::from([[[21.0, 43.0]]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn conv<T: Number, const N: usize>(x: Arr<T>, kernel: Arr<T>, options: Conv<N>) -> Arr<T> {
    let Conv { stride, padding, dilation, groups } = options;
    let (padding, same) = padding.given();
    library!(
        "conv",
        conv(
            x = x,
            kernel = kernel,
            stride = stride.to_vec(),
            padding = padding,
            dilation = dilation.to_vec(),
            groups = groups,
            same = same
        )
    )
}

/// [`conv`] along one axis.
///
/// ```
/// use cotan::nn::{self, Conv};
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, w: Arr<f64>| nn::conv1d(x, w, Conv::new()));
/// assert_eq!(f.call(([[[1.0, 2.0, 3.0]]], [[[1.0, 10.0]]]))?.to_vec(), [21.0, 32.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn conv1d<T: Number>(x: Arr<T>, kernel: Arr<T>, options: Conv<1>) -> Arr<T> {
    conv(x, kernel, options)
}

/// [`conv`] along two axes: of images, with axes batch, channel, height and width.
///
/// ```
/// use cotan::nn::{self, Conv};
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>, w: Arr<f64>| nn::conv2d(x, w, Conv::new().same().stride([2, 2]));
/// assert_eq!(compile(f, ([8, 3, 32, 32], [16, 3, 5, 5]))?.out().to_string(), "[8, 16, 16, 16]f64");
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn conv2d<T: Number>(x: Arr<T>, kernel: Arr<T>, options: Conv<2>) -> Arr<T> {
    conv(x, kernel, options)
}

/// The transpose of a convolution, as a linear function of what is convolved: the cotangents of
/// [`conv`] made into a function of their own. Also called a fractionally strided convolution, or,
/// wrongly, a deconvolution.
///
/// `x` has axes batch, channel and `N` more; the kernel, with axes input channel, output channel of
/// a group and `N` more, is that of the convolution that leads from the result back to the shape of
/// `x`:
///
/// $$y_{b,c,q} = \sum_{o,p,k:\; q = s p + d k - a} x_{b,o,p}\; w_{o,c,k}$$
///
/// Of the sizes that lead there, the result has the smallest; with [`Padding::Same`] the size times
/// the stride.
///
/// ```
/// use cotan::nn::{self, Conv};
/// use cotan::prelude::*;
///
/// let up = jit(|x: Arr<f64>, w: Arr<f64>| nn::conv_transpose(x, w, Conv::<1>::new().stride([2])));
/// let y = up.call(([[[1.0, 2.0]]], [[[1.0, 10.0, 100.0]]]))?;
/// assert_eq!(y, Tensor::from([[[1.0, 10.0, 102.0, 20.0, 200.0]]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn conv_transpose<T: Float, const N: usize>(
    x: Arr<T>,
    kernel: Arr<T>,
    options: Conv<N>,
) -> Arr<T> {
    let Conv { stride, padding, dilation, groups } = options;
    let (padding, same) = padding.given();
    library!(
        "conv_transpose",
        conv_transpose(
            x = x,
            kernel = kernel,
            stride = stride.to_vec(),
            padding = padding,
            dilation = dilation.to_vec(),
            groups = groups,
            same = same
        )
    )
}

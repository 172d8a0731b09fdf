//! Convolution, and its transpose.

use super::window::{Padding, Windows, extent};
use crate::arr::{Arr, zeros};
use crate::build::build;
use crate::derive::vjp;
use crate::element::{Float, Number};
use crate::error::{Error, ErrorKind, Result};
use crate::library::axes::{failed, type_text as shown};
use crate::stage::operation;

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
    operation("conv", || match Plan::new(x, kernel, &options) {
        Ok(plan) => plan.convolve(x, kernel),
        Err(error) => failed(error),
    })
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

/// The sizes of a convolution.
struct Plan {
    batch: usize,
    groups: usize,
    /// Channels of a group: of the argument, and of the result.
    channels: (usize, usize),
    spatial: Vec<usize>,
    windows: Windows,
}

impl Plan {
    fn new<T: Number, const N: usize>(
        x: Arr<T>,
        kernel: Arr<T>,
        options: &Conv<N>,
    ) -> Result<Plan> {
        let (xs, ks, groups) = (x.shape(), kernel.shape(), options.groups);
        let ([batch, channels, spatial @ ..], [outputs, inputs, window @ ..]) = (&xs[..], &ks[..])
        else {
            return Err(wrong_rank::<T, N>("conv", x, kernel));
        };
        if spatial.len() != N || window.len() != N {
            return Err(wrong_rank::<T, N>("conv", x, kernel));
        }
        let fits = inputs.checked_mul(groups) == Some(*channels);
        if groups == 0 || outputs % groups != 0 || !fits {
            let message = format!(
                "channels that do not fit: {} by a kernel {} in {groups} groups",
                shown(x),
                shown(kernel)
            );
            let hint = "axis 1 of the array is axis 1 of the kernel times the groups, and the \
                        groups divide axis 0 of the kernel";
            return Err(Error::type_error("conv", message).with_hint(hint));
        }
        let Conv { stride, dilation, padding, .. } = *options;
        let windows = Windows::new("conv", spatial, window, stride, dilation, padding)?;
        let channels = (*inputs, outputs / groups);
        Ok(Plan { batch: *batch, groups, channels, spatial: spatial.to_vec(), windows })
    }

    #[track_caller]
    fn convolve<T: Number>(&self, x: Arr<T>, kernel: Arr<T>) -> Arr<T> {
        let &Plan { batch, groups, channels: (inputs, outputs), .. } = self;
        let Windows { counts, sizes, .. } = &self.windows;
        let joined = |front: &[usize], back: &[usize]| [front, back].concat();
        let x = x.reshape(joined(&[batch, groups, inputs], &self.spatial));
        let kernel = kernel.reshape(joined(&[groups, outputs, inputs], sizes));
        let y = build(joined(&[batch, groups, outputs], counts), |ix| {
            let [b, g, o, p @ ..] = &ix[..] else { return Arr::nothing() };
            let products = build(joined(&[inputs], sizes), |jx| {
                let [c, k @ ..] = &jx[..] else { return Arr::nothing() };
                let pixel = [&[*b, *g, *c], &self.windows.position(p, k)[..]].concat();
                x.at(pixel) * kernel.at([&[*g, *o, *c], k].concat())
            });
            products.sum()
        });
        y.reshape(joined(&[batch, groups * outputs], counts))
    }
}

fn wrong_rank<T: Number, const N: usize>(op: &str, x: Arr<T>, kernel: Arr<T>) -> Error {
    let message = format!(
        "{} axes are needed for {N} that the kernel moves along, of {} and {}",
        N + 2,
        shown(x),
        shown(kernel)
    );
    let hint = "the array has axes batch, channel and these, the kernel output channel, input \
                channel and these";
    Error::type_error(op, message).with_hint(hint)
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
    operation("conv_transpose", || match transposed_shape(x, kernel, &options) {
        Ok(shape) if x.size() == 0 => zeros(shape),
        // The convolution is linear: its transpose is the same at every point.
        Ok(shape) => vjp(move |z: Arr<T>| conv(z, kernel, options)).at((zeros(shape), x)).1,
        Err(error) => failed(error),
    })
}

/// The smallest shape that the convolution takes to that of `x`.
fn transposed_shape<T: Float, const N: usize>(
    x: Arr<T>,
    kernel: Arr<T>,
    options: &Conv<N>,
) -> Result<Vec<usize>> {
    const OP: &str = "conv_transpose";
    let (xs, ks, groups) = (x.shape(), kernel.shape(), options.groups);
    let ([batch, channels, spatial @ ..], [inputs, outputs, window @ ..]) = (&xs[..], &ks[..])
    else {
        return Err(wrong_rank::<T, N>(OP, x, kernel));
    };
    if spatial.len() != N || window.len() != N {
        return Err(wrong_rank::<T, N>(OP, x, kernel));
    }
    if inputs != channels || groups == 0 || inputs % groups != 0 {
        let message = format!(
            "channels that do not fit: {} by a kernel {} in {groups} groups",
            shown(x),
            shown(kernel)
        );
        let hint = "axis 1 of the array is axis 0 of the kernel, and the groups divide it";
        return Err(Error::type_error(OP, message).with_hint(hint));
    }
    let too_large = || Error::new(ErrorKind::Limit, OP, "a result too large for indices");
    let mut shape = vec![*batch, outputs.checked_mul(groups).ok_or_else(too_large)?];
    let steps = options.stride.into_iter().zip(options.dilation);
    for (n, ((&size, &window), (stride, dilation))) in
        spatial.iter().zip(window).zip(steps).enumerate()
    {
        if stride == 0 || dilation == 0 {
            let message = format!("the stride or dilation along axis {n} of the window is 0");
            return Err(Error::type_error(OP, message).with_hint("1 is the least"));
        }
        let covered = |size: usize| -> Option<usize> {
            let reach = extent(window, dilation)?;
            if options.padding == Padding::Same {
                return size.checked_mul(stride);
            }
            let (before, after) = options.padding.along(n, size, reach, stride);
            let last = size.saturating_sub(1).checked_mul(stride)?;
            Some(last.checked_add(reach)?.saturating_sub(before.checked_add(after)?))
        };
        shape.push(covered(size).ok_or_else(too_large)?);
    }
    Ok(shape)
}

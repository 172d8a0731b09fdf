//! Padding, and windows that slide along an axis.

use super::access::{attempt, fitted, gathered, one_axis, permuted, scalar, shown};
use super::slice::Slice;
use crate::arr::{Arr, Operand, full};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::sizes::Axes;

/// How much is added before and after an axis: a number for both ends of all axes, a pair for all
/// axes, or an array, slice or vector with a pair for each axis.
pub trait Widths {
    /// The pairs for `rank` axes, or as many as were given.
    fn widths(self, rank: usize) -> Vec<(usize, usize)>;
}

impl Widths for usize {
    fn widths(self, rank: usize) -> Vec<(usize, usize)> {
        vec![(self, self); rank]
    }
}

impl Widths for (usize, usize) {
    fn widths(self, rank: usize) -> Vec<(usize, usize)> {
        vec![self; rank]
    }
}

impl<const R: usize> Widths for [(usize, usize); R] {
    fn widths(self, _: usize) -> Vec<(usize, usize)> {
        self.to_vec()
    }
}

impl Widths for &[(usize, usize)] {
    fn widths(self, _: usize) -> Vec<(usize, usize)> {
        self.to_vec()
    }
}

impl Widths for Vec<(usize, usize)> {
    fn widths(self, _: usize) -> Vec<(usize, usize)> {
        self
    }
}

/// What [`Arr::pad_mode`] puts before and after an axis `a b c d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PadMode {
    /// The element at the edge: `a a a | a b c d | d d d`.
    Edge,
    /// The elements mirrored at the edge: `d c b | a b c d | c b a`.
    Reflect,
    /// The elements mirrored, that at the edge as well: `c b a | a b c d | d c b`.
    Symmetric,
    /// The elements from the other end: `b c d | a b c d | a b c`.
    Wrap,
}

impl PadMode {
    /// The position on an axis of size `k` that stands for position `i` of its continuation.
    fn position(self, i: Arr<i64>, k: usize) -> Arr<i64> {
        let last = k.saturating_sub(1);
        match self {
            PadMode::Edge => i.clamp(0, last),
            PadMode::Reflect => last - (i % (2 * last) - last).abs(),
            PadMode::Symmetric => {
                let folded = i % (2 * k);
                folded.minimum(2 * last + 1 - folded)
            }
            PadMode::Wrap => i % k,
        }
    }
}

/// One pair of widths for each axis.
fn widths_of<T: Element>(op: &str, x: Arr<T>, widths: impl Widths) -> Result<Vec<(usize, usize)>> {
    let widths = widths.widths(x.rank());
    if widths.len() != x.rank() && !crate::stage::failed() {
        let message = format!("widths for {} axes, of {}", widths.len(), shown(x));
        let hint = "give a pair (before, after) for each axis, or one for all";
        return Err(Error::type_error(op, message).with_hint(hint));
    }
    Ok(widths)
}

/// The shape with the widths added.
fn padded_dims(dims: &[usize], widths: &[(usize, usize)]) -> Vec<usize> {
    let sizes = dims.iter().zip(widths);
    sizes.map(|(&k, &(before, after))| k.saturating_add(before).saturating_add(after)).collect()
}

/// `x` continued beyond its ends: position `i` along an axis of size `k`, from `-before` on, is
/// read at `position(i, k)`.
fn continued<T: Element>(
    x: Arr<T>,
    widths: &[(usize, usize)],
    position: impl Fn(Arr<i64>, usize) -> Arr<i64>,
) -> Arr<T> {
    let Some(last) = widths.iter().rposition(|&width| width != (0, 0)) else { return x };
    let dims = x.shape();
    let mut sizes = padded_dims(&dims, widths);
    sizes.truncate(last + 1);
    gathered(x, &sizes, |is| {
        let axes = is.iter().zip(&dims).zip(widths);
        axes.map(|((&i, &k), &(before, after))| match (before, after) {
            (0, 0) => i,
            (before, _) => position(i - before, k),
        })
        .collect()
    })
}

impl<T: Element> Arr<T> {
    /// With zeros (`false`) before and after the axes.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.pad((1, 2)), [2])?;
    /// assert_eq!(f.call([3.0, 4.0])?, Tensor::from([0.0, 3.0, 4.0, 0.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn pad(self, widths: impl Widths) -> Arr<T> {
        attempt("pad", || {
            let widths = widths_of("pad", self, widths)?;
            // Reads outside of the array are 0.
            Ok(continued(self, &widths, |i, _| i))
        })
    }

    /// With a value before and after the axes.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.pad_with([(0, 0), (1, 0)], -1.0), [2, 1])?;
    /// assert_eq!(f.call([[3.0], [4.0]])?, Tensor::from([[-1.0, 3.0], [-1.0, 4.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn pad_with(self, widths: impl Widths, value: impl Operand<T>) -> Arr<T> {
        attempt("pad_with", || {
            let (widths, value) = (widths_of("pad_with", self, widths)?, value.operand());
            scalar("pad_with", "the value", value)?;
            let dims = self.shape();
            let inner: Vec<Slice> = dims
                .iter()
                .zip(&widths)
                .map(|(&k, &(before, _))| Slice::from(before..before.saturating_add(k)))
                .collect();
            Ok(full(padded_dims(&dims, &widths), value).slice_set(inner, self))
        })
    }

    /// With elements of the array itself before and after the axes: see [`PadMode`]. The
    /// derivative of an element sums over its copies. An axis without elements has none to copy.
    ///
    /// ```
    /// use cotan::prelude::*;
    /// use cotan::PadMode;
    ///
    /// let f = compile(|x: Arr<f64>| x.pad_mode(2, PadMode::Reflect), [3])?;
    /// assert_eq!(f.call([1.0, 2.0, 3.0])?, Tensor::from([3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn pad_mode(self, widths: impl Widths, mode: PadMode) -> Arr<T> {
        attempt("pad_mode", || {
            let widths = widths_of("pad_mode", self, widths)?;
            let dims = self.shape();
            let empty = dims.iter().zip(&widths).position(|(&k, &w)| k == 0 && w != (0, 0));
            if let Some(axis) = empty {
                let message = format!("axis {axis} of {} has no elements to copy", shown(self));
                let hint = "`pad` and `pad_with` put values there";
                return Err(Error::type_error("pad_mode", message).with_hint(hint));
            }
            Ok(continued(self, &widths, |i, k| mode.position(i, k)))
        })
    }

    /// All windows of `size` elements along an axis, each `stride` after the one before: the axis
    /// runs over the windows, and a new last axis within one. Elements after the last whole window
    /// are left out.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let moving_mean = |x: Arr<f64>| x.sliding_window(2, 1, 0).sum_axis(1) / 2.0;
    /// assert_eq!(jit(moving_mean).call([1.0, 3.0, 7.0])?, Tensor::from([2.0, 5.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn sliding_window(self, size: usize, stride: usize, axis: impl Axes) -> Arr<T> {
        attempt("sliding_window", || {
            let dims = self.shape();
            let axis = one_axis("sliding_window", axis, dims.len())?;
            let k = dims.get(axis).copied().unwrap_or(0);
            let Some(steps) = k.saturating_sub(size).checked_div(stride) else {
                let hint = "windows that do not overlap have a stride equal to their size";
                return Err(Error::type_error("sliding_window", "a stride of 0").with_hint(hint));
            };
            let count = if size > k { 0 } else { steps + 1 };
            let sizes: Vec<usize> = dims.iter().copied().take(axis).chain([count, size]).collect();
            let windows = gathered(self, &sizes, |is| match is {
                [before @ .., window, i] => {
                    before.iter().copied().chain([*window * stride + *i]).collect()
                }
                _ => Vec::new(),
            });
            let within = axis + 1;
            let order: Vec<usize> =
                (0..=dims.len()).filter(|&a| a != within).chain([within]).collect();
            Ok(permuted("sliding_window", windows, &order))
        })
    }

    /// `value` where the mask holds, the array elsewhere. The mask is, or stretches to, the shape
    /// of the array; the value has no axes. The derivative passes nothing to what is covered.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.masked_fill(x.lt(0.0), 0.0), [3])?;
    /// assert_eq!(f.call([1.0, -2.0, 3.0])?, Tensor::from([1.0, 0.0, 3.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn masked_fill(self, mask: impl Operand<bool>, value: impl Operand<T>) -> Arr<T> {
        attempt("masked_fill", || {
            let (mask, value) = (mask.operand(), value.operand());
            let mask = fitted("masked_fill", "the mask", mask, &self.shape())?;
            scalar("masked_fill", "the value", value)?;
            Ok(crate::ops::select(mask, value, self))
        })
    }
}

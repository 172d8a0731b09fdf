//! Padding, and windows that slide along an axis.

use super::access::{attempt, shown};
use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::library::call::library;
use crate::sizes::Axes;
use crate::stage;

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
    /// What the library calls it.
    fn word(self) -> &'static str {
        match self {
            PadMode::Edge => "edge",
            PadMode::Reflect => "reflect",
            PadMode::Symmetric => "symmetric",
            PadMode::Wrap => "wrap",
        }
    }
}

/// Pairs one after the other: one for each axis.
fn widths_of<T: Element>(op: &str, x: Arr<T>, widths: impl Widths) -> Result<Vec<usize>> {
    let widths = widths.widths(x.rank());
    if widths.len() != x.rank() && !stage::failed() {
        let message = format!("widths for {} axes, of {}", widths.len(), shown(x));
        let hint = "give a pair (before, after) for each axis, or one for all";
        return Err(Error::type_error(op, message).with_hint(hint));
    }
    Ok(widths.into_iter().flat_map(|(before, after)| [before, after]).collect())
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
            Ok(library!("pad", pad(x = self, widths = widths)))
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
        let value = value.operand();
        attempt("pad_with", || {
            let widths = widths_of("pad_with", self, widths)?;
            Ok(library!("pad_with", pad_with(x = self, widths = widths, value = value)))
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
            Ok(library!("pad_mode", pad(x = self, widths = widths, mode = mode.word())))
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
        let axis = axis.axes();
        library!(
            "sliding_window",
            sliding_window(x = self, size = size, stride = stride, axis = axis)
        )
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
        let (mask, value) = (mask.operand(), value.operand());
        library!("masked_fill", masked_fill(x = self, mask = mask, value = value))
    }
}

//! Windows that slide along the last axes of an array: what convolution and pooling share.

use crate::arr::Arr;
use crate::error::{Error, ErrorKind, Result};

/// What lies around an array when a window slides over its last `N` axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding<const N: usize> {
    /// Nothing: windows lie inside.
    #[default]
    Valid,
    /// As much as makes the result as large as the argument, with strides: the size divided by the
    /// stride, rounded up. If that is an odd number of positions, the larger part comes after.
    Same,
    /// So many positions before and after, for each axis.
    Explicit([(usize, usize); N]),
}

/// Windows along some axes: window `i` has its element `j` at `i * stride + j * dilation - before`.
pub(super) struct Windows {
    /// How many there are, along each axis.
    pub(super) counts: Vec<usize>,
    /// How large each is.
    pub(super) sizes: Vec<usize>,
    axes: Vec<Slide>,
}

struct Slide {
    size: usize,
    stride: usize,
    dilation: usize,
    before: usize,
    /// Whether a window may reach beyond the array.
    padded: bool,
}

/// How many positions a window covers from its first element to its last.
pub(super) fn extent(window: usize, dilation: usize) -> Option<usize> {
    match window.checked_sub(1) {
        Some(steps) => steps.checked_mul(dilation)?.checked_add(1),
        None => Some(0),
    }
}

impl<const N: usize> Padding<N> {
    /// The positions before and after along axis `n`.
    pub(super) fn along(
        &self,
        n: usize,
        size: usize,
        extent: usize,
        stride: usize,
    ) -> (usize, usize) {
        match self {
            Padding::Valid => (0, 0),
            Padding::Explicit(pairs) => pairs.get(n).copied().unwrap_or((0, 0)),
            Padding::Same => {
                let steps = size.div_ceil(stride).saturating_sub(1);
                let covered = steps.saturating_mul(stride).saturating_add(extent);
                let missing = covered.saturating_sub(size);
                (missing / 2, missing - missing / 2)
            }
        }
    }
}

impl Windows {
    /// Windows over axes of the given sizes.
    pub(super) fn new<const N: usize>(
        op: &str,
        sizes: &[usize],
        window: &[usize],
        stride: [usize; N],
        dilation: [usize; N],
        padding: Padding<N>,
    ) -> Result<Windows> {
        let mut windows = Windows { counts: Vec::new(), sizes: window.to_vec(), axes: Vec::new() };
        let steps = stride.into_iter().zip(dilation);
        for (n, ((&size, &window), (stride, dilation))) in
            sizes.iter().zip(window).zip(steps).enumerate()
        {
            for (what, step) in [("stride", stride), ("dilation", dilation)] {
                if step == 0 {
                    let message = format!("the {what} along axis {n} of the window is 0");
                    return Err(Error::type_error(op, message).with_hint("1 is the least"));
                }
            }
            let slide = |extent: usize| {
                let (before, after) = padding.along(n, size, extent, stride);
                let padded = size.checked_add(before)?.checked_add(after)?;
                let count = padded.checked_sub(extent).map_or(0, |room| room / stride + 1);
                // Where the last element of the last window is, at most.
                count.checked_mul(stride)?.checked_add(extent)?;
                Some((count, Slide { size, stride, dilation, before, padded: before + after > 0 }))
            };
            let Some((count, slide)) = extent(window, dilation).and_then(slide) else {
                let message = format!("windows along axis {n} reach beyond what indices hold");
                return Err(Error::new(ErrorKind::Limit, op, message));
            };
            windows.counts.push(count);
            windows.axes.push(slide);
        }
        Ok(windows)
    }

    /// Where element `j` of window `i` lies.
    #[track_caller]
    pub(super) fn position(&self, i: &[Arr<i64>], j: &[Arr<i64>]) -> Vec<Arr<i64>> {
        let along = |(slide, (&i, &j)): (&Slide, (&Arr<i64>, &Arr<i64>))| {
            let begin = if slide.stride == 1 { i } else { i * slide.stride };
            let step = if slide.dilation == 1 { j } else { j * slide.dilation };
            let at = begin + step;
            if slide.before == 0 { at } else { at - slide.before }
        };
        self.axes.iter().zip(i.iter().zip(j)).map(along).collect()
    }

    /// Whether a window may reach beyond the array.
    pub(super) fn padded(&self) -> bool {
        self.axes.iter().any(|slide| slide.padded)
    }

    /// Whether a position lies in the array; `None` where all do.
    #[track_caller]
    pub(super) fn inside(&self, position: &[Arr<i64>]) -> Option<Arr<bool>> {
        let padded = self.axes.iter().zip(position).filter(|(slide, _)| slide.padded);
        padded.map(|(slide, &at)| at.ge(0) & at.lt(slide.size)).reduce(|all, one| all & one)
    }
}

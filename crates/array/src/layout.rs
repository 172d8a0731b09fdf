//! Where the elements of a strided array lie in its buffer.

use smallvec::SmallVec;

use crate::{ArrayError, Shape};

/// Signed strides, in elements.
type Strides = SmallVec<[isize; 4]>;

/// A shape with the position of every element: the element at index `(i1, .., in)` is number
/// `offset + i1*s1 + .. + in*sn` of the buffer.
///
/// Invariant: every such position lies within the buffer. A layout without elements has offset 0
/// and row-major strides, so that no chain of views of an empty array can drive its numbers up.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    shape: Shape,
    strides: Strides,
    offset: usize,
}

impl Layout {
    /// The layout of a row-major array that starts at the beginning of its buffer.
    pub(crate) fn row_major(shape: Shape) -> Layout {
        let strides = shape.strides().iter().map(|&s| s as isize).collect();
        Layout { shape, strides, offset: 0 }
    }

    fn new(shape: Shape, strides: Strides, offset: usize) -> Layout {
        if shape.numel() == 0 {
            return Layout::row_major(shape);
        }
        Layout { shape, strides, offset }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the elements lie one after the other in row-major order.
    pub(crate) fn is_row_major(&self) -> bool {
        let dense = match self.runs().as_slice() {
            [] => true,
            [run] => run.stride == 1,
            _ => false,
        };
        dense || self.shape.numel() == 0
    }

    /// The position of the element at `ix`, or `None` when `ix` is not an index of this shape.
    pub(crate) fn position(&self, ix: &[usize]) -> Option<usize> {
        let dims = self.shape.dims();
        if ix.len() != dims.len() || ix.iter().zip(dims).any(|(i, k)| i >= k) {
            return None;
        }
        let terms = ix.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s);
        Some(self.offset.wrapping_add_signed(terms.sum()))
    }

    /// Axis `n` of the result is axis `perm[n]` of this; axes beyond `perm` stay.
    pub(crate) fn transpose(&self, perm: &[usize]) -> Result<Layout, ArrayError> {
        let bad = || ArrayError::BadPermutation {
            op: "transpose",
            perm: perm.to_vec(),
            shape: self.shape.clone(),
        };
        if perm.len() > self.shape.rank() {
            return Err(bad());
        }
        // At most MAX_RANK = 64 axes: the set of those seen is one word.
        let mut seen = 0u64;
        let mut dims = SmallVec::from_slice(self.shape.dims());
        let mut strides = self.strides.clone();
        for ((dim, stride), &axis) in dims.iter_mut().zip(&mut strides).zip(perm) {
            if axis >= perm.len() || seen & (1 << axis) != 0 {
                return Err(bad());
            }
            seen |= 1 << axis;
            let (k, s) = self.axis("transpose", axis)?;
            (*dim, *stride) = (k, s);
        }
        Ok(Layout::new(Shape::trusted(dims), strides, self.offset))
    }

    /// The axis with its elements from last to first.
    pub(crate) fn reverse(&self, axis: usize) -> Result<Layout, ArrayError> {
        let (k, _) = self.axis("reverse", axis)?;
        let last = k.saturating_sub(1);
        self.along(axis, last, k, -1)
    }

    /// Elements `start, start + step, ..` of an axis, `len` of them.
    pub(crate) fn slice(
        &self,
        axis: usize,
        start: usize,
        len: usize,
        step: isize,
    ) -> Result<Layout, ArrayError> {
        let (k, _) = self.axis("slice", axis)?;
        let bad = || ArrayError::SliceOutOfRange {
            axis,
            start,
            len,
            step,
            size: k,
            shape: self.shape.clone(),
        };
        let in_range = match len.checked_sub(1) {
            None => start <= k,
            Some(n) => {
                let last = isize::try_from(n)
                    .ok()
                    .and_then(|n| n.checked_mul(step))
                    .and_then(|span| start.checked_add_signed(span));
                start < k && last.is_some_and(|last| last < k)
            }
        };
        if in_range { self.along(axis, start, len, step) } else { Err(bad()) }
    }

    /// `slice` without the range check. The step of fewer than two elements is of no account.
    fn along(
        &self,
        axis: usize,
        start: usize,
        len: usize,
        step: isize,
    ) -> Result<Layout, ArrayError> {
        let (_, s) = self.axis("slice", axis)?;
        let mut dims = SmallVec::from_slice(self.shape.dims());
        let mut strides = self.strides.clone();
        if let Some(dim) = dims.get_mut(axis) {
            *dim = len;
        }
        if let Some(stride) = strides.get_mut(axis) {
            *stride = if len > 1 { s * step } else { 0 };
        }
        let offset = if len == 0 { 0 } else { start as isize * s };
        Ok(Layout::new(Shape::trusted(dims), strides, self.offset.wrapping_add_signed(offset)))
    }

    /// Element `i` of the outermost axis.
    pub(crate) fn row(&self, i: usize) -> Result<Layout, ArrayError> {
        let (k, s) = self.axis("row", 0)?;
        if i >= k {
            return Err(ArrayError::IndexOutOfRange {
                op: "row",
                index: i,
                shape: self.shape.clone(),
            });
        }
        let strides = self.strides.iter().skip(1).copied().collect();
        let offset = self.offset.wrapping_add_signed(i as isize * s);
        Ok(Layout::new(self.shape.drop_outer(1), strides, offset))
    }

    /// A new outermost axis of `k` times the same elements.
    pub(crate) fn replicate(&self, k: usize) -> Result<Layout, ArrayError> {
        let shape = self.shape.cons("replicate", k)?;
        let strides = std::iter::once(0).chain(self.strides.iter().copied()).collect();
        Ok(Layout::new(shape, strides, self.offset))
    }

    /// The same elements, in row-major order, under another shape of as many elements; `None`
    /// when no strides can say so.
    ///
    /// Each run of this layout has to be the product of consecutive axes of the new shape. Taken
    /// from the innermost, each run uses up axes of at least its own product; as the products of
    /// all agree, either all fit exactly or the axes run out.
    pub(crate) fn reshape(&self, shape: &Shape) -> Option<Layout> {
        if shape.numel() == 0 {
            return Some(Layout::row_major(shape.clone()));
        }
        let mut axes = shape.dims().iter().rev();
        let mut strides = Strides::new();
        for run in self.runs().iter().rev() {
            let mut filled = 1;
            while filled < run.len {
                let k = axes.next()?;
                strides.push(filled as isize * run.stride);
                filled *= k;
            }
        }
        // What is left are axes of size 1, whose strides do not matter.
        strides.resize(shape.rank(), 0);
        strides.reverse();
        Some(Layout::new(shape.clone(), strides, self.offset))
    }

    /// The positions of the elements in row-major order.
    pub(crate) fn positions(&self) -> Positions {
        let mut axes = self.runs();
        let inner = axes.pop().unwrap_or(Run { len: 1, stride: 0 });
        Positions {
            ix: SmallVec::from_elem(0, axes.len()),
            axes,
            inner,
            done: 0,
            next: self.offset,
            left: self.shape.numel(),
        }
    }

    /// The axes with those of size 1 dropped and neighbours merged where one stride serves both.
    fn runs(&self) -> SmallVec<[Run; 4]> {
        let mut runs: SmallVec<[Run; 4]> = SmallVec::new();
        for (&len, &stride) in self.shape.dims().iter().zip(&self.strides) {
            match runs.last_mut() {
                _ if len == 1 => {}
                Some(outer) if outer.stride == stride * len as isize => {
                    *outer = Run { len: outer.len * len, stride };
                }
                _ => runs.push(Run { len, stride }),
            }
        }
        runs
    }

    fn axis(&self, op: &'static str, axis: usize) -> Result<(usize, isize), ArrayError> {
        match (self.shape.dims().get(axis), self.strides.get(axis)) {
            (Some(&k), Some(&s)) => Ok((k, s)),
            _ => Err(ArrayError::BadAxis { op, axis, shape: self.shape.clone() }),
        }
    }
}

/// `len` positions, `stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    len: usize,
    stride: isize,
}

/// The positions of a layout in row-major order, as an odometer.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    axes: SmallVec<[Run; 4]>,
    ix: SmallVec<[usize; 4]>,
    inner: Run,
    /// How many of `inner` have been given.
    done: usize,
    next: usize,
    left: usize,
}

impl Positions {
    /// Moves from the end of one innermost run to the start of the next.
    fn carry(&mut self) {
        self.done = 0;
        let mut step = -(self.inner.stride * (self.inner.len as isize - 1));
        for (run, i) in self.axes.iter().zip(&mut self.ix).rev() {
            *i += 1;
            if *i < run.len {
                step += run.stride;
                break;
            }
            *i = 0;
            step -= run.stride * (run.len as isize - 1);
        }
        self.next = self.next.wrapping_add_signed(step);
    }
}

impl Iterator for Positions {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let position = self.next;
        self.done += 1;
        if self.done < self.inner.len {
            self.next = position.wrapping_add_signed(self.inner.stride);
        } else {
            self.carry();
        }
        Some(position)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Positions {}

//! Other views of the elements of an array: none copies, except `reshape` where it must.

use crate::array::with_element;
use crate::{Array, ArrayError, Element, Shape};

impl Array {
    /// The array with its axes in another order: axis `n` of the result is axis `perm[n]` of this.
    /// A permutation shorter than the rank moves the outermost axes only.
    pub fn transpose(&self, perm: &[usize]) -> Result<Array, ArrayError> {
        Ok(self.viewed(self.layout().transpose(perm)?))
    }

    /// The array with the elements along `axis` from last to first.
    pub fn reverse(&self, axis: usize) -> Result<Array, ArrayError> {
        Ok(self.viewed(self.layout().reverse(axis)?))
    }

    /// The `len` elements `start, start + step, start + 2*step, ..` along `axis`, all of which
    /// have to lie within it. The step may be negative or zero.
    pub fn slice(
        &self,
        axis: usize,
        start: usize,
        len: usize,
        step: isize,
    ) -> Result<Array, ArrayError> {
        Ok(self.viewed(self.layout().slice(axis, start, len, step)?))
    }

    /// Element `i` of the outermost axis, an array of one axis less.
    pub fn row(&self, i: usize) -> Result<Array, ArrayError> {
        Ok(self.viewed(self.layout().row(i)?))
    }

    /// `k` times this array, along a new outermost axis.
    pub fn replicate(&self, k: usize) -> Result<Array, ArrayError> {
        Ok(self.viewed(self.layout().replicate(k)?))
    }

    /// The same elements in row-major order under another shape of as many elements: a view
    /// where strides can express it (always when this array is contiguous), else a copy.
    pub fn reshape(&self, shape: Shape) -> Result<Array, ArrayError> {
        if shape.numel() != self.numel() {
            return Err(ArrayError::WrongCount { op: "reshape", shape, got: self.numel() });
        }
        match self.layout().reshape(&shape) {
            Some(layout) => Ok(self.viewed(layout)),
            None => self.copied("reshape", shape),
        }
    }

    /// An equal array that is contiguous: this one if it is already, else a copy.
    pub fn contiguous(&self) -> Result<Array, ArrayError> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.copied("contiguous", self.shape().clone())
    }

    /// As [`contiguous`](Array::contiguous), but asks before every [`AT_A_TIME`](Array::AT_A_TIME)
    /// elements that it copies whether to go on; gives `None` when told not to.
    pub fn contiguous_while(
        &self,
        go_on: impl FnMut() -> bool,
    ) -> Result<Option<Array>, ArrayError> {
        if self.is_contiguous() {
            return Ok(Some(self.clone()));
        }
        with_element!(self.dtype(), T => {
            let copy = self.collect_while::<T>("contiguous", go_on)?;
            Ok(copy.map(|elements| T::wrap(self.shape().clone(), elements)))
        })
    }

    fn copied(&self, op: &'static str, shape: Shape) -> Result<Array, ArrayError> {
        with_element!(self.dtype(), T => Ok(T::wrap(shape, self.collect::<T>(op)?)))
    }
}

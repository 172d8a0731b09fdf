//! Reductions of the parts of an array that have the same id.

use crate::arr::{Arr, Operand};
use crate::element::{Element, Float, Number};
use crate::library::call::library;

impl<T: Number> Arr<T> {
    /// For each of `0, 1, .., n - 1`, the sum of the parts along the outermost axis that have it as
    /// their id; 0 for ids that do not occur. Parts with other ids are left out. Ids need not be
    /// sorted.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_sum(ids, 3);
    /// let y = jit(f).call(([1.0, 2.0, 3.0], [2, 0, 2]))?;
    /// assert_eq!(y, Tensor::from([2.0, 0.0, 4.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_sum(self, ids: impl Operand<i64>, n: usize) -> Arr<T> {
        library!("segment_sum", segment_sum(x = self, ids = ids.operand(), n = n))
    }

    /// For each of `0, 1, .., n - 1`, the largest elements of the parts along the outermost axis
    /// that have it as their id; for ids that do not occur `-inf`, or the least integer. NaN if
    /// there is one. The derivative goes to the first among equals.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_max(ids, 3);
    /// let y = jit(f).call(([1.0, 2.0, 3.0], [2, 0, 2]))?;
    /// assert_eq!(y, Tensor::from([2.0, f64::NEG_INFINITY, 3.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_max(self, ids: impl Operand<i64>, n: usize) -> Arr<T> {
        library!("segment_max", segment_max(x = self, ids = ids.operand(), n = n))
    }

    /// For each of `0, 1, .., n - 1`, the smallest elements of the parts along the outermost axis
    /// that have it as their id; for ids that do not occur `inf`, or the greatest integer. NaN if
    /// there is one. The derivative goes to the first among equals.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_min(ids, 3);
    /// let y = jit(f).call(([1.0, 2.0, 3.0], [2, 0, 2]))?;
    /// assert_eq!(y, Tensor::from([2.0, f64::INFINITY, 1.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_min(self, ids: impl Operand<i64>, n: usize) -> Arr<T> {
        library!("segment_min", segment_min(x = self, ids = ids.operand(), n = n))
    }
}

impl<T: Element> Arr<T> {
    /// For each of `0, 1, .., n - 1`, the positions of the largest elements of the parts along the
    /// outermost axis that have it as their id: the first among equals, the first NaN if there is
    /// one, the number of parts for ids that do not occur.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_argmax(ids, 3);
    /// let y = jit(f).call(([1.0, 2.0, 3.0], [2, 0, 2]))?;
    /// assert_eq!(y, Tensor::from([1, 3, 2]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_argmax(self, ids: impl Operand<i64>, n: usize) -> Arr<i64> {
        library!("segment_argmax", segment_argmax(x = self, ids = ids.operand(), n = n))
    }

    /// For each of `0, 1, .., n - 1`, the positions of the smallest elements of the parts along the
    /// outermost axis that have it as their id; as for [`Arr::segment_argmax`].
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_argmin(ids, 3);
    /// let y = jit(f).call(([1.0, 2.0, 3.0], [2, 0, 2]))?;
    /// assert_eq!(y, Tensor::from([1, 3, 0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_argmin(self, ids: impl Operand<i64>, n: usize) -> Arr<i64> {
        library!("segment_argmin", segment_argmin(x = self, ids = ids.operand(), n = n))
    }
}

impl<T: Float> Arr<T> {
    /// For each of `0, 1, .., n - 1`, the mean of the parts along the outermost axis that have it
    /// as their id; NaN for ids that do not occur. Parts with other ids are left out.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_mean(ids, 2);
    /// let y = jit(f).call(([1.0, 2.0, 6.0], [1, 0, 1]))?;
    /// assert_eq!(y, Tensor::from([2.0, 3.5]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn segment_mean(self, ids: impl Operand<i64>, n: usize) -> Arr<T> {
        library!("segment_mean", segment_mean(x = self, ids = ids.operand(), n = n))
    }
}

//! Reductions of the parts of an array that have the same id.

use cotan_ir::Extreme;

use super::access::{attempt, column, extreme_at, fitted};
use super::scatter::{ids_of, scatter_add};
use crate::arr::{Arr, Operand};
use crate::element::{Element, Float, Number};
use crate::error::Result;
use crate::ops::select;

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
        attempt("segment_sum", || {
            let ids = ids.operand();
            ids_of("segment_sum", self, ids)?;
            Ok(scatter_add(segments(&self.shape(), n), ids, self))
        })
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
        attempt("segment_max", || {
            extreme("segment_max", self, ids.operand(), n, (Extreme::Max, T::LEAST))
        })
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
        attempt("segment_min", || {
            extreme("segment_min", self, ids.operand(), n, (Extreme::Min, T::MOST))
        })
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
        attempt("segment_argmax", || {
            positions("segment_argmax", self, ids.operand(), n, Extreme::Max)
        })
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
        attempt("segment_argmin", || {
            positions("segment_argmin", self, ids.operand(), n, Extreme::Min)
        })
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
        attempt("segment_mean", || {
            let ids = ids.operand();
            ids_of("segment_mean", self, ids)?;
            let counts = column(ids.bincount(n), self.rank().saturating_sub(1));
            Ok(self.segment_sum(ids, n) / counts.cast::<T>())
        })
    }
}

/// A shape with outermost size `n`.
fn segments(dims: &[usize], n: usize) -> Vec<usize> {
    std::iter::once(n).chain(dims.iter().copied().skip(1)).collect()
}

/// For each id, the positions of the extreme elements that have it.
fn positions<T: Element>(
    op: &'static str,
    x: Arr<T>,
    ids: Arr<i64>,
    n: usize,
    extreme: Extreme,
) -> Result<Arr<i64>> {
    ids_of(op, x, ids)?;
    let dims = x.shape();
    let ids = fitted(op, "an id", column(ids, dims.len().saturating_sub(1)), &dims)?;
    Ok(extreme_at(op, extreme, x, ids, n))
}

/// For each id, the extreme elements that have it; `none` for ids that do not occur.
fn extreme<T: Number>(
    op: &'static str,
    x: Arr<T>,
    ids: Arr<i64>,
    n: usize,
    (extreme, none): (Extreme, T),
) -> Result<Arr<T>> {
    let position = positions(op, x, ids, n, extreme)?;
    let parts = x.shape().first().copied().unwrap_or(0);
    Ok(select(position.lt(parts), x.take_along(position, 0), none))
}

//! Reductions of the parts of an array that have the same id.

use super::access::{attempt, column, product, reshaped, sorting};
use super::scatter::{ids_of, last_at, scatter_add};
use crate::arr::{Arr, Operand};
use crate::element::{Float, Number};
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
    /// there is one. The derivative goes to the first among equals. Takes time `O(m log m)` for `m`
    /// parts.
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
            last_in_order("segment_max", self, self, ids.operand(), n, T::LEAST)
        })
    }

    /// For each of `0, 1, .., n - 1`, the smallest elements of the parts along the outermost axis
    /// that have it as their id; for ids that do not occur `inf`, or the greatest integer. NaN if
    /// there is one. The derivative goes to the first among equals. Takes time `O(m log m)` for `m`
    /// parts.
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
            // The order reversed; for integers by `-x - 1`, because the least has no `-x`.
            let key = if T::DTYPE.is_float() { -self } else { -self - T::ONE };
            last_in_order("segment_min", self, key, ids.operand(), n, T::MOST)
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

/// For each id, the element of `x` whose key comes last in order, the first among equals; `none`
/// for ids that do not occur.
fn last_in_order<T: Number>(
    op: &'static str,
    x: Arr<T>,
    key: Arr<T>,
    ids: Arr<i64>,
    n: usize,
    none: T,
) -> Result<Arr<T>> {
    ids_of(op, x, ids)?;
    let dims = x.shape();
    let m = dims.first().copied().unwrap_or(0);
    let flat = [m, product(dims.get(1..).unwrap_or_default())];
    let (x, key) = (reshaped(op, x, &flat), reshaped(op, key, &flat));
    // Sorting keeps equals in order: backwards, so that the first of them comes last.
    let order = m.saturating_sub(1) - sorting(key.flip(0));
    let last = last_at(ids.take(order, 0), n);
    let position = order.take_along(last, 0);
    let found = select(last.ge(0), x.take_along(position, 0), none);
    Ok(reshaped(op, found, &segments(&dims, n)))
}

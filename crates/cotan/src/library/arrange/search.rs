//! Searching in what is sorted.

use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::library::call::library;

impl<T: Element> Arr<T> {
    /// Where values belong in this array of one axis, which is sorted: the number of its elements
    /// that come before a value. Equal elements do not, so a value goes in front of them. NaN comes
    /// after all numbers. Takes `O(log n)` steps.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, v: Arr<f64>| (x.searchsorted(v), x.searchsorted_right(v));
    /// let (left, right) = jit(f).call(([1.0, 3.0, 3.0, 5.0], [3.0, 0.0, 9.0]))?;
    /// assert_eq!(left, Tensor::from([1, 0, 4]));
    /// assert_eq!(right, Tensor::from([3, 0, 4]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted(self, values: impl Operand<T>) -> Arr<i64> {
        library!("searchsorted", searchsorted(sorted = self, values = values.operand()))
    }

    /// As [`searchsorted`](Arr::searchsorted), but a value goes after the elements equal to it.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<i64>, v: Arr<i64>| x.searchsorted_right(v);
    /// assert_eq!(jit(f).call(([2, 2, 4], 2))?, 2);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn searchsorted_right(self, values: impl Operand<T>) -> Arr<i64> {
        let values = values.operand();
        library!("searchsorted_right", searchsorted(sorted = self, values = values, right = true))
    }
}

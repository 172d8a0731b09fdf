//! The elements along axes in another order.

use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::library::call::library;
use crate::sizes::Axes;

impl<T: Element> Arr<T> {
    /// The elements along axes last to first.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.flip(0), x.flip([0, 1])), [2, 2])?;
    /// let (rows, both) = f.call([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(rows, Tensor::from([[3.0, 4.0], [1.0, 2.0]]));
    /// assert_eq!(both, Tensor::from([[4.0, 3.0], [2.0, 1.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "reverse")]
    #[track_caller]
    pub fn flip(self, axes: impl Axes) -> Arr<T> {
        library!("flip", reverse(x = self, axis = axes.axes()))
    }

    /// The elements along an axis moved on by `shift` positions; those that leave at the end come
    /// back at the start. A negative shift moves backwards. The shift may be an array without axes.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| (x.roll(1, 0), x.roll(-1, 0)), [3])?;
    /// let (on, back) = f.call([1.0, 2.0, 3.0])?;
    /// assert_eq!(on, Tensor::from([3.0, 1.0, 2.0]));
    /// assert_eq!(back, Tensor::from([2.0, 3.0, 1.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn roll(self, shift: impl Operand<i64>, axis: impl Axes) -> Arr<T> {
        library!("roll", roll(x = self, shift = shift.operand(), axis = axis.axes()))
    }

    /// The plane of the first two axes turned by `quarters` quarters, from the first axis towards
    /// the second: a matrix counterclockwise. Negative ones turn it the other way.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.rot90(1), [2, 2])?;
    /// assert_eq!(f.call([[1.0, 2.0], [3.0, 4.0]])?, Tensor::from([[2.0, 4.0], [1.0, 3.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn rot90(self, quarters: i32) -> Arr<T> {
        library!("rot90", rot90(x = self, quarters = quarters))
    }
}

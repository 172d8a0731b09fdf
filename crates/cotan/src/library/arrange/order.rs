//! The elements along axes in another order.

use super::access::{along, attempt, gathered, one_axis, scalar};
use crate::arr::{Arr, Operand};
use crate::element::Element;
use crate::sizes::{Axes, axes_of};

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
        attempt("flip", || {
            let dims = self.shape();
            let axes = axes_of("flip", axes, dims.len())?;
            let Some(&last) = axes.iter().max() else { return Ok(self) };
            let sizes: Vec<usize> = dims.into_iter().take(last + 1).collect();
            Ok(gathered(self, &sizes, |is| {
                is.iter()
                    .zip(&sizes)
                    .enumerate()
                    .map(
                        |(axis, (&i, &k))| {
                            if axes.contains(&axis) { k.saturating_sub(1) - i } else { i }
                        },
                    )
                    .collect()
            }))
        })
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
        attempt("roll", || {
            let (dims, shift) = (self.shape(), shift.operand());
            let axis = one_axis("roll", axis, dims.len())?;
            scalar("roll", "the shift", shift)?;
            let k = dims.get(axis).copied().unwrap_or(1);
            Ok(along(self, axis, k, |i| (i - shift) % k))
        })
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
        attempt("rot90", || {
            super::access::at_least("rot90", self, 2)?;
            Ok(match quarters.rem_euclid(4) {
                1 => self.swap_axes(0, 1).flip(0),
                2 => self.flip([0, 1]),
                3 => self.flip(0).swap_axes(0, 1),
                _ => self,
            })
        })
    }
}

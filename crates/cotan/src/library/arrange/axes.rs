//! Moving axes, and axes of size 1.

use super::access::{attempt, one_axis, permuted, reshaped, shown};
use crate::arr::Arr;
use crate::element::Element;
use crate::error::Error;
use crate::sizes::{Axes, axes_of};

impl<T: Element> Arr<T> {
    /// The axes in reverse order: of a matrix, its transpose.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|a: Arr<f64>| a.transpose(), [2, 3])?;
    /// let y = f.call([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!(y, Tensor::from([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn transpose(self) -> Arr<T> {
        let order: Vec<usize> = (0..self.rank()).rev().collect();
        permuted("transpose", self, &order)
    }

    /// The axes in another order: axis `n` of the result is axis `axes[n]`. All axes are named,
    /// each once.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|a: Arr<f64>| a.permute([2, 0, 1]), [2, 3, 4])?;
    /// assert_eq!(f.call(Tensor::zeros([2, 3, 4])?)?.shape(), [4, 2, 3]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn permute(self, axes: impl Axes) -> Arr<T> {
        attempt("permute", || {
            let order = axes_of("permute", axes, self.rank())?;
            if order.len() != self.rank() {
                let message = format!("an order of {} axes for {}", order.len(), shown(self));
                let hint = "name every axis once; `move_axis` and `swap_axes` move single ones";
                return Err(Error::type_error("permute", message).with_hint(hint));
            }
            Ok(permuted("permute", self, &order))
        })
    }

    /// Two axes, each in the place of the other.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|a: Arr<f64>| a.swap_axes(0, -1), [2, 3, 4])?;
    /// assert_eq!(f.call(Tensor::zeros([2, 3, 4])?)?.shape(), [4, 3, 2]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "swapaxes")]
    #[track_caller]
    pub fn swap_axes(self, a: impl Axes, b: impl Axes) -> Arr<T> {
        attempt("swap_axes", || {
            let rank = self.rank();
            let (a, b) = (one_axis("swap_axes", a, rank)?, one_axis("swap_axes", b, rank)?);
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(a, b);
            Ok(permuted("swap_axes", self, &order))
        })
    }

    /// Axes at other places; the others keep their order.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|a: Arr<f64>| a.move_axis(0, -1), [2, 3, 4])?;
    /// assert_eq!(f.call(Tensor::zeros([2, 3, 4])?)?.shape(), [3, 4, 2]);
    /// let f = compile(|a: Arr<f64>| a.move_axis([0, 1], [-1, -2]), [2, 3, 4])?;
    /// assert_eq!(f.call(Tensor::zeros([2, 3, 4])?)?.shape(), [4, 3, 2]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "moveaxis")]
    #[track_caller]
    pub fn move_axis(self, from: impl Axes, to: impl Axes) -> Arr<T> {
        attempt("move_axis", || {
            let rank = self.rank();
            let (from, to) = (axes_of("move_axis", from, rank)?, axes_of("move_axis", to, rank)?);
            if from.len() != to.len() {
                let message = format!("{} axes for {} places", from.len(), to.len());
                return Err(Error::type_error("move_axis", message));
            }
            let mut staying = (0..rank).filter(|axis| !from.contains(axis));
            let order: Vec<usize> = (0..rank)
                .filter_map(|place| match to.iter().position(|&t| t == place) {
                    Some(n) => from.get(n).copied(),
                    None => staying.next(),
                })
                .collect();
            Ok(permuted("move_axis", self, &order))
        })
    }

    /// New axes of size 1, at the given places of the result.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |a: Arr<f64>, b: Arr<f64>| a.expand_dims(1) * b;
    /// let y = compile(f, ([2], [3]))?.call(([1.0, 2.0], [3.0, 4.0, 5.0]))?;
    /// assert_eq!(y, Tensor::from([[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn expand_dims(self, axes: impl Axes) -> Arr<T> {
        attempt("expand_dims", || {
            let axes = axes.axes();
            let rank = self.rank() + axes.len();
            let new = axes_of("expand_dims", Given(axes), rank)?;
            let mut old = self.shape().into_iter();
            let dims: Vec<usize> = (0..rank)
                .filter_map(|axis| if new.contains(&axis) { Some(1) } else { old.next() })
                .collect();
            Ok(reshaped("expand_dims", self, &dims))
        })
    }

    /// Without the given axes, whose size is 1.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|a: Arr<f64>| a.squeeze([0, -1]), [1, 2, 1])?;
    /// assert_eq!(f.call([[[1.0], [2.0]]])?, Tensor::from([1.0, 2.0]));
    /// let error = compile(|a: Arr<f64>| a.squeeze(0), [2]).unwrap_err();
    /// assert!(error.to_string().contains("axis 0 of [2]f64 has size 2"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn squeeze(self, axes: impl Axes) -> Arr<T> {
        attempt("squeeze", || {
            let dims = self.shape();
            let axes = axes_of("squeeze", axes, dims.len())?;
            for &axis in &axes {
                let size = dims.get(axis).copied().unwrap_or(1);
                if size != 1 {
                    let message = format!("axis {axis} of {} has size {size}", shown(self));
                    let hint = "only axes of size 1 can be left out; `at` or `slice` picks a part";
                    return Err(Error::type_error("squeeze", message).with_hint(hint));
                }
            }
            let rest: Vec<usize> = dims
                .iter()
                .enumerate()
                .filter(|(axis, _)| !axes.contains(axis))
                .map(|(_, &k)| k)
                .collect();
            Ok(reshaped("squeeze", self, &rest))
        })
    }
}

/// Axes that were asked for already.
struct Given(Vec<i64>);

impl Axes for Given {
    fn axes(self) -> Vec<i64> {
        self.0
    }
}

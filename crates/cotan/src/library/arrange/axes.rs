//! Moving axes, and axes of size 1.

use crate::arr::Arr;
use crate::element::Element;
use crate::library::call::library;
use crate::sizes::Axes;

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
        library!("transpose", permute(x = self))
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
        library!("permute", permute(x = self, axes = axes.axes()))
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
        library!("swap_axes", swap_axes(x = self, a = a.axes(), b = b.axes()))
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
        library!("move_axis", move_axis(x = self, from = from.axes(), to = to.axes()))
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
        library!("expand_dims", expand_dims(x = self, axis = axes.axes()))
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
        library!("squeeze", squeeze(x = self, axis = axes.axes()))
    }
}

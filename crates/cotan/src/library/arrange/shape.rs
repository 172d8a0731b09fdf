//! Shapes: the same elements in another one, or repeated.

use super::access::{attempt, product, reshaped, shown};
use crate::arr::Arr;
use crate::element::Element;
use crate::error::Error;
use crate::library::call::library;
use crate::sizes::{Axes, Sizes};
use crate::stage::emit;

impl<T: Element> Arr<T> {
    /// The same elements in row-major order in another shape.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.reshape([2, 2]), [4])?;
    /// assert_eq!(f.call([1.0, 2.0, 3.0, 4.0])?, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn reshape(self, sizes: impl Sizes) -> Arr<T> {
        attempt("reshape", || {
            let sizes = sizes.sizes();
            let (has, wanted) = (self.size(), product(&sizes));
            if has != wanted && !crate::stage::failed() {
                let wanted = match wanted {
                    usize::MAX => "more than can be counted".to_owned(),
                    wanted => wanted.to_string(),
                };
                let message =
                    format!("{} has {has} elements, the shape {sizes:?} has {wanted}", shown(self));
                let hint = "a reshape keeps the number of elements";
                return Err(Error::type_error("reshape", message).with_hint(hint));
            }
            Ok(reshaped("reshape", self, &sizes))
        })
    }

    /// All elements in row-major order, along one axis.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.flatten(), [2, 2])?;
    /// assert_eq!(f.call([[1.0, 2.0], [3.0, 4.0]])?, Tensor::from([1.0, 2.0, 3.0, 4.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "ravel")]
    #[track_caller]
    pub fn flatten(self) -> Arr<T> {
        library!("flatten", flatten(x = self))
    }

    /// Stretched to a larger shape: new leading axes and axes of size 1 are repeated. The
    /// derivative sums over the repetitions.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.broadcast_to([2, 3]), [2, 1])?;
    /// assert_eq!(f.call([[1.0], [2.0]])?, Tensor::from([[1.0; 3], [2.0; 3]]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast_to(self, sizes: impl Sizes) -> Arr<T> {
        library!("broadcast_to", broadcast(x = self, sizes = sizes.sizes()))
    }

    /// `k` copies along a new outermost axis.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.replicate(3), [2])?;
    /// assert_eq!(f.call([1.0, 2.0])?, Tensor::from([[1.0, 2.0]; 3]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn replicate(self, k: usize) -> Arr<T> {
        Arr::from_raw(emit("replicate", &[self.raw], |b, ts| b.replicate(k, ts[0])))
    }

    /// The whole array repeated along its axes, as often as `counts` says, which belongs to the
    /// last axes; with more counts than axes, along new outer ones.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.tile([2, 2]), [2])?;
    /// assert_eq!(f.call([1.0, 2.0])?, Tensor::from([[1.0, 2.0, 1.0, 2.0]; 2]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn tile(self, counts: impl Sizes) -> Arr<T> {
        library!("tile", tile(x = self, counts = counts.sizes()))
    }

    /// Every element along an axis `k` times, one copy after the other.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.repeat(2, 0), [3])?;
    /// assert_eq!(f.call([1.0, 2.0, 3.0])?, Tensor::from([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn repeat(self, k: usize, axis: impl Axes) -> Arr<T> {
        library!("repeat", repeat(x = self, k = k, axis = axis.axes()))
    }
}

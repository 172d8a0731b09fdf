//! Sorting along an axis.

use cotan_array::Dtype;

use super::axes::{along_axis, failed, fronted, picked, restored, type_text};
use crate::arr::{Arr, Operand};
use crate::build::build;
use crate::element::{Element, Number};
use crate::error::Error;
use crate::sizes::axis_of;
use crate::stage::{self, emit};

/// The permutation that sorts along the outermost axis.
fn order<T: Element>(keys: Arr<T>) -> Arr<i64> {
    Arr::from_raw(emit("argsort", &[keys.raw], |b, ts| b.arg_sort(ts[0])))
}

/// The elements in ascending order along the outermost axis.
pub(super) fn sorted<T: Element>(x: Arr<T>) -> Arr<T> {
    picked(x, order(x))
}

/// Keys that are in ascending order where `x` is in descending order; NaN stays NaN.
fn falling<T: Number>(x: Arr<T>) -> Arr<T> {
    match T::DTYPE {
        Dtype::F64 | Dtype::F32 => -x,
        // Unlike `-x`, never beyond what an integer holds.
        Dtype::I64 | Dtype::Bool => -T::ONE.operand() - x,
    }
}

impl<T: Number> Arr<T> {
    /// The elements in ascending order along an axis, NaNs last. The derivative of each goes to the
    /// element that it is.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.sort(0));
    /// assert_eq!(f.call([3.0, 1.0, 2.0])?.to_vec(), [1.0, 2.0, 3.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn sort(self, axis: i32) -> Arr<T> {
        along_axis("sort", self, axis, sorted)
    }

    /// The elements in descending order along an axis, NaNs last.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.sort_descending(0));
    /// assert_eq!(f.call([3.0, 1.0, 2.0])?.to_vec(), [3.0, 2.0, 1.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_descending(self, axis: i32) -> Arr<T> {
        along_axis("sort_descending", self, axis, |x| picked(x, order(falling(x))))
    }

    /// The positions of the elements in ascending order along an axis, NaNs last; equal ones in the
    /// order they have.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.argsort(0));
    /// assert_eq!(f.call([3.0, f64::NAN, 2.0, 3.0])?.to_vec(), [2, 0, 3, 1]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort(self, axis: i32) -> Arr<i64> {
        along_axis("argsort", self, axis, order)
    }

    /// The positions of the elements in descending order along an axis, NaNs last; equal ones in the
    /// order they have.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<i64>| x.argsort_descending(0));
    /// assert_eq!(f.call([3, i64::MIN, 5, 3])?.to_vec(), [2, 0, 3, 1]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn argsort_descending(self, axis: i32) -> Arr<i64> {
        along_axis("argsort_descending", self, axis, |x| order(falling(x)))
    }

    /// The `k` largest elements along an axis in descending order, and their positions; of equal
    /// ones the first. NaNs count as the smallest.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (values, positions) = jit(|x: Arr<f64>| x.top_k(2, 0)).call([3.0, 1.0, 4.0, 4.0])?;
    /// assert_eq!((values.to_vec(), positions.to_vec()), (vec![4.0, 4.0], vec![2, 3]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn top_k(self, k: usize, axis: i32) -> (Arr<T>, Arr<i64>) {
        let top = |x: Arr<T>| {
            if k > x.len() && !stage::failed() {
                let message = format!("{k} elements of {} along axis {axis}", type_text(self));
                let hint = format!("there are {}", x.len());
                return failed(Error::type_error("top_k", message).with_hint(hint));
            }
            let order = order(falling(x));
            build(k, |i| order.at(i))
        };
        let positions = along_axis("top_k", self, axis, top);
        (along_axis("top_k", self, axis, |x| picked(x, top(x))), positions)
    }
}

impl<T: Element> Arr<T> {
    /// The elements in the order that sorts `keys`, an array of the same shape, along an axis: equal
    /// keys in the order they have, NaNs last.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>, keys: Arr<i64>| x.sort_by_key(keys, 0));
    /// assert_eq!(f.call(([0.1, 0.2, 0.3], [2, 3, 1]))?.to_vec(), [0.3, 0.1, 0.2]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn sort_by_key<K: Element>(self, keys: Arr<K>, axis: i32) -> Arr<T> {
        let name = "sort_by_key";
        stage::operation(name, || {
            if self.shape() != keys.shape() {
                let message = format!("{} by keys {}", type_text(self), type_text(keys));
                let hint = "every element needs a key: the shapes must be equal";
                return failed(Error::type_error(name, message).with_hint(hint));
            }
            let axis = match axis_of(name, i64::from(axis), self.rank()) {
                Ok(axis) => axis,
                Err(error) => return failed(error),
            };
            let order = order(fronted(keys, axis));
            restored(picked(fronted(self, axis), order), axis)
        })
    }
}

//! Sorting along an axis.

use super::call::{call_all, library};
use crate::arr::Arr;
use crate::element::{Element, Number};

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
        library!("sort", sort(x = self, axis = axis))
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
        library!("sort_descending", sort(x = self, axis = axis, descending = true))
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
        library!("argsort", argsort(x = self, axis = axis))
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
        library!("argsort_descending", argsort(x = self, axis = axis, descending = true))
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
        let args = vec![("x", self.into()), ("k", k.into()), ("axis", axis.into())];
        match call_all("top_k", &cotan_library::functions::top_k, args).as_deref() {
            Some(&[values, positions]) => (Arr::from_raw(values), Arr::from_raw(positions)),
            _ => (Arr::nothing(), Arr::nothing()),
        }
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
        library!("sort_by_key", sort_by_key(x = self, keys = keys, axis = axis))
    }
}

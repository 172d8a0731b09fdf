//! Sums, products and counts.

use super::reductions;
use crate::arr::Arr;
use crate::element::{Element, Number};
use crate::library::call::library;
use crate::ops::Truth;
use crate::sizes::Axes;

reductions! {
    /// The sum of all elements; of none, 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.sum());
    /// assert_eq!(f.call([[1.0, 2.0], [3.0, 4.0]])?, 10.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number sum sum_axis sum_keep() -> T = sum,
        "f64" "(0)" "[[1.0, 2.0], [3.0, 4.0]]" => "[4.0, 6.0]";
    /// The product of all elements; of none, 1. Its derivative is right also where elements are 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, dx) = value_and_grad(|x: Arr<f64>| x.prod()).call([2.0, 0.0, 4.0])?;
    /// assert_eq!((y.item(), dx.to_vec()), (Some(0.0), vec![0.0, 8.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number prod prod_axis prod_keep() -> T = prod,
        "f64" "(0)" "[[1.0, 2.0], [3.0, 4.0]]" => "[3.0, 8.0]";
    /// Whether all elements are true; of none, they are.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.gt(0.0).all());
    /// assert_eq!(f.call([1.0, 2.0])?, true);
    /// assert_eq!(f.call([1.0, -2.0])?, false);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Truth all all_axis all_keep() -> bool = all,
        "bool" "(0)" "[[true, false], [true, true]]" => "[true, false]";
    /// Whether some element is true; of none, there is not.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.lt(0.0).any());
    /// assert_eq!(f.call([1.0, 2.0])?, false);
    /// assert_eq!(f.call([1.0, -2.0])?, true);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Truth any any_axis any_keep() -> bool = any,
        "bool" "(0)" "[[true, false], [true, false]]" => "[true, false]";
    /// How many elements are not 0; of bool, how many are true. NaN is not 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.count_nonzero()).call([0.0, 3.0, -0.0, f64::NAN])?, 2);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Element count_nonzero count_nonzero_axis count_nonzero_keep() -> i64 = count_nonzero,
        "i64" "(0)" "[[1, 0], [3, 4]]" => "[2, 1]";
}

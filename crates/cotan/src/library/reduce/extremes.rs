//! The largest and smallest elements, and where they are.

use super::reductions;
use crate::arr::Arr;
use crate::element::Number;
use crate::library::call::library;
use crate::sizes::Axes;

reductions! {
    /// The largest element; NaN if there is one. Of none it is -inf, of integers the least one. The
    /// derivative goes to the first of equals.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, dx) = value_and_grad(|x: Arr<f64>| x.max()).call([1.0, 3.0, 3.0])?;
    /// assert_eq!((y.item(), dx.to_vec()), (Some(3.0), vec![0.0, 1.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number max max_axis max_keep() -> T = max,
        "f64" "(0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[3.0, 4.0]";
    /// The smallest element; NaN if there is one. Of none it is inf, of integers the greatest one.
    /// The derivative goes to the first of equals.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, dx) = value_and_grad(|x: Arr<f64>| x.min()).call([1.0, 3.0, 1.0])?;
    /// assert_eq!((y.item(), dx.to_vec()), (Some(1.0), vec![1.0, 0.0, 0.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number min min_axis min_keep() -> T = min,
        "f64" "(0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[1.0, 2.0]";
    /// The position of the largest element in row-major order: the first of equals, the first NaN if
    /// there is one, 0 of none. Along several axes, the position in these.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.argmax());
    /// assert_eq!(f.call([[1.0, 2.0], [5.0, 5.0]])?, 2);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number argmax argmax_axis argmax_keep() -> i64 = argmax,
        "f64" "(0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[1, 0]";
    /// The position of the smallest element in row-major order: the first of equals, the first NaN
    /// if there is one, 0 of none. Along several axes, the position in these.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.argmin());
    /// assert_eq!(f.call([[1.0, 2.0], [-5.0, -5.0]])?, 2);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Number argmin argmin_axis argmin_keep() -> i64 = argmin,
        "f64" "(0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[0, 1]";
}

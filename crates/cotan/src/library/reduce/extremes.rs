//! The largest and smallest elements, and where they are.

use super::{Front, Over, reduce, reductions};
use crate::arr::{Arr, full};
use crate::element::Number;
use crate::library::axes::picked;
use crate::sizes::Axes;
use crate::stage::emit;

pub(in crate::library) use cotan_ir::Extreme;

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
    Number max max_axis max_keep() -> T = |front| extreme(front, Extreme::Max),
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
    Number min min_axis min_keep() -> T = |front| extreme(front, Extreme::Min),
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
    Number argmax argmax_axis argmax_keep() -> i64 = |front| position(front, Extreme::Max),
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
    Number argmin argmin_axis argmin_keep() -> i64 = |front| position(front, Extreme::Min),
        "f64" "(0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[0, 1]";
}

fn position<T: Number>(front: Front<T>, extreme: Extreme) -> Arr<i64> {
    let merged = front.merged();
    Arr::from_raw(emit("argmax", &[merged.raw], |b, ts| b.arg_extreme(extreme, ts[0])))
}

pub(in crate::library) fn extreme<T: Number>(front: Front<T>, extreme: Extreme) -> Arr<T> {
    if front.count() == 0 {
        let bound = match extreme {
            Extreme::Max => T::LEAST,
            Extreme::Min => T::MOST,
        };
        return full(front.rest(), bound);
    }
    picked(front.merged(), position(front, extreme))
}

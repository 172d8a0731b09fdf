//! Norms, and the logarithm of a sum of exponentials.

use super::{Extreme, Front, Over, extreme, reduce, reductions};
use crate::arr::{Arr, zeros};
use crate::element::Float;
use crate::ops::select;
use crate::sizes::Axes;

reductions! {
    /// The square root of the sum of the squares; of none, 0. The derivative at 0 is 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>| x.norm();
    /// assert_eq!(jit(f).call([3.0, 4.0])?, 5.0);
    /// assert_eq!(grad(f).call([0.0, 4.0])?.to_vec(), [0.0, 1.0]);
    /// assert_eq!(grad(f).call([0.0, 0.0])?.to_vec(), [0.0, 0.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float norm norm_axis norm_keep() -> T = |front: Front<T>| root(front.with(front.x.square()).sum()),
        "f64" "(0)" "[[3.0, 0.0], [4.0, 2.0]]" => "[5.0, 2.0]";
    /// The norm of order `p`: `sum(|x|^p)^(1/p)`. Of order inf (-inf) it is the largest (smallest)
    /// absolute value, of order 0 the number of elements that are not 0. Elements that are 0 have
    /// derivative 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.norm_p(1.0)).call([3.0, -4.0])?, 7.0);
    /// assert_eq!(jit(|x: Arr<f64>| x.norm_p(f64::INFINITY)).call([3.0, -4.0])?, 4.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float norm_p norm_p_axis norm_p_keep(p: f64) -> T = norm_p,
        "f64" "(0, 1.0)" "[[3.0, 0.0], [-4.0, 2.0]]" => "[7.0, 2.0]";
    /// `log(sum(exp(x)))` without overflow; of none, and where all elements are -inf, -inf with
    /// derivative 0. The derivative is the softmax.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.logsumexp());
    /// assert_eq!(f.call([1000.0, 1000.0])?, 1000.0 + 2f64.ln());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float logsumexp logsumexp_axis logsumexp_keep() -> T = logsumexp,
        "f64" "(0)" "[[1.0, 2.0], [f64::NEG_INFINITY, f64::INFINITY]]" => "[1.0, f64::INFINITY]";
}

/// The square root, with derivative 0 at 0.
pub(in crate::library) fn root<T: Float>(x: Arr<T>) -> Arr<T> {
    select(x.gt(T::default()), x.sqrt(), x.stop_gradient())
}

fn norm_p<T: Float>(front: Front<T>, p: f64) -> Arr<T> {
    let size = front.with(front.x.abs());
    if p == 2.0 {
        return root(front.with(front.x.square()).sum());
    }
    if p == 1.0 {
        return size.sum();
    }
    if p == 0.0 {
        return front.with(front.x.ne(T::default()).cast::<T>()).sum();
    }
    if p == f64::INFINITY {
        return if front.count() == 0 { zeros(front.rest()) } else { extreme(size, Extreme::Max) };
    }
    if p == f64::NEG_INFINITY {
        return extreme(size, Extreme::Min);
    }
    // Powers of 0 are constants here: their derivatives are infinite for small `p`.
    let power =
        |x: Arr<T>, p: f64| select(x.eq(T::default()), T::of(0f64.powf(p)), x.pow(T::of(p)));
    power(size.with(power(size.x, p)).sum(), 1.0 / p)
}

/// `m + log(sum(exp(x - m)))`, where `m` is the largest element if that is finite and 0 otherwise:
/// so infinities give what they should, and not `inf - inf`. The value does not depend on `m`, which
/// is a constant for the derivative.
fn logsumexp<T: Float>(front: Front<T>) -> Arr<T> {
    let shift = finite(extreme(front, Extreme::Max));
    shift + log_total(front.with((front.x - shift).exp()).sum())
}

/// The values that are finite as constants, 0 for the others.
pub(in crate::library) fn finite<T: Float>(x: Arr<T>) -> Arr<T> {
    select(x.abs().lt(T::MOST), x, T::default()).stop_gradient()
}

/// The logarithm of a sum of exponentials, with derivative 0 where all of them are 0.
pub(in crate::library) fn log_total<T: Float>(total: Arr<T>) -> Arr<T> {
    let log = total.log();
    select(total.eq(T::default()), log.stop_gradient(), log)
}

//! Norms, and the logarithm of a sum of exponentials.

use super::reductions;
use crate::arr::Arr;
use crate::element::Float;
use crate::library::call::library;
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
    Float norm norm_axis norm_keep() -> T = norm,
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
    Float norm_p norm_p_axis norm_p_keep(p: f64) -> T = norm,
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

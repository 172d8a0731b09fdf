//! Means, variances and quantiles.

use super::reductions;
use crate::arr::Arr;
use crate::element::Float;
use crate::library::call::library;
use crate::sizes::Axes;

reductions! {
    /// The sum of all elements divided by their number; of none, NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.mean()).call([1.0, 2.0, 6.0])?, 3.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float mean mean_axis mean_keep() -> T = mean,
        "f64" "(0)" "[[1.0, 2.0], [3.0, 4.0]]" => "[2.0, 3.0]";
    /// The variance: the sum of the squared distances from the mean, divided by the number of
    /// elements less `ddof`. That is 0 for the variance of a population and 1 for the unbiased
    /// estimate from a sample. With no more than `ddof` elements it is NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.var(0)).call([1.0, 3.0])?, 1.0);
    /// assert_eq!(jit(|x: Arr<f64>| x.var(1)).call([1.0, 3.0])?, 2.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float var var_axis var_keep(ddof: usize) -> T = var,
        "f64" "(0, 1)" "[[1.0, 2.0], [3.0, 2.0]]" => "[2.0, 0.0]";
    /// The standard deviation: the square root of the variance, see [`var`](Arr::var). Where that is
    /// 0 the derivative is 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.std(0)).call([1.0, 5.0])?, 2.0);
    /// assert_eq!(grad(|x: Arr<f64>| x.std(0)).call([4.0, 4.0])?.to_vec(), [0.0, 0.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float std std_axis std_keep(ddof: usize) -> T = std,
        "f64" "(0, 0)" "[[1.0, 2.0], [5.0, 2.0]]" => "[2.0, 0.0]";
    /// The element in the middle of the sorted ones, or the mean of the two there. NaN if there is
    /// one, and of none.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.median()).call([5.0, 1.0, 3.0])?, 3.0);
    /// assert_eq!(jit(|x: Arr<f64>| x.median()).call([5.0, 1.0, 3.0, 2.0])?, 2.5);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float median median_axis median_keep() -> T = median,
        "f64" "(0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[2.0, 3.0]";
    /// The value below which a share `q` of the sorted elements lies, from 0 to 1; between two
    /// elements on the line through them. NaN if there is one, and of none.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.quantile(0.25));
    /// assert_eq!(f.call([4.0, 0.0, 3.0, 1.0, 2.0])?, 1.0);
    /// assert_eq!(f.call([0.0, 2.0])?, 0.5);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    Float quantile quantile_axis quantile_keep(q: f64) -> T = quantile,
        "f64" "(0, 1.0)" "[[1.0, 4.0], [3.0, 2.0]]" => "[3.0, 4.0]";
}

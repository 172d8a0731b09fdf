//! Softmax and its logarithm.

use crate::arr::Arr;
use crate::element::Float;
use crate::library::call::library;
use crate::sizes::Axes;

impl<T: Float> Arr<T> {
    /// $e^x / \sum e^x$ along axes, without overflow: as if `x` had its maximum subtracted first.
    ///
    /// A $-\infty$ gets 0. Where all are $-\infty$, or one is $+\infty$ or NaN, the result is NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.softmax(-1));
    /// let y = f.call([[0.0, 0.0], [1000.0, f64::NEG_INFINITY]])?;
    /// assert_eq!(y.to_vec(), [0.5, 0.5, 1.0, 0.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn softmax(self, axes: impl Axes) -> Arr<T> {
        library!("softmax", softmax(x = self, axis = axes.axes()))
    }

    /// $x - \log \sum e^x$ along axes: the logarithm of [`softmax`](Arr::softmax), precise also
    /// where that is 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.log_softmax(-1));
    /// assert_eq!(f.call([0.0, -1000.0])?.to_vec(), [0.0, -1000.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn log_softmax(self, axes: impl Axes) -> Arr<T> {
        library!("log_softmax", log_softmax(x = self, axis = axes.axes()))
    }
}

//! Softmax and its logarithm.

use super::parts::chosen;
use crate::arr::Arr;
use crate::element::Float;
use crate::sizes::Axes;
use crate::stage::operation;

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
        operation("softmax", || {
            let axes = chosen("softmax", self, axes);
            let exp = below_max(self, &axes).exp();
            exp / exp.sum_keep(&axes[..])
        })
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
        operation("log_softmax", || {
            let axes = chosen("log_softmax", self, axes);
            let below = below_max(self, &axes);
            below - below.exp().sum_keep(&axes[..]).log()
        })
    }
}

/// `x` minus its maximum. Neither function depends on what is subtracted, so the maximum counts as
/// a constant.
#[track_caller]
fn below_max<T: Float>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    x - x.max_keep(axes).stop_gradient()
}

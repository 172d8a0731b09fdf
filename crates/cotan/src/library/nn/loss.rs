//! Losses of predicted numbers, element by element. Arguments fit as numpy's do.

use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::library::call::library;
use crate::sizes::Axes;

/// $(x - t)^2$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, t: Arr<f64>| nn::squared_error(x, t));
/// assert_eq!(f.call(([1.0, 5.0], [2.0, 2.0]))?.to_vec(), [1.0, 9.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn squared_error<T: Float>(x: Arr<T>, target: impl Operand<T>) -> Arr<T> {
    library!("squared_error", squared_error(x = x, target = target.operand()))
}

/// The mean squared error: the mean of [`squared_error`] over all elements, of none NaN.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = value_and_grad(|x: Arr<f64>, t: Arr<f64>| nn::mse(x, t));
/// let (y, dx) = f.call(([1.0, 5.0], [2.0, 2.0]))?;
/// assert_eq!((y.item(), dx.to_vec()), (Some(5.0), vec![-1.0, 3.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn mse<T: Float>(x: Arr<T>, target: impl Operand<T>) -> Arr<T> {
    library!("mse", mse(x = x, target = target.operand()))
}

/// $|x - t|$. Its derivative where they are equal is 0.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, t: Arr<f64>| nn::absolute_error(x, t));
/// assert_eq!(f.call(([1.0, 5.0], [2.0, 2.0]))?.to_vec(), [1.0, 3.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn absolute_error<T: Float>(x: Arr<T>, target: impl Operand<T>) -> Arr<T> {
    library!("absolute_error", absolute_error(x = x, target = target.operand()))
}

/// The mean absolute error: the mean of [`absolute_error`] over all elements, of none NaN.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, t: Arr<f64>| nn::mae(x, t));
/// assert_eq!(f.call(([1.0, 5.0], [2.0, 2.0]))?, 2.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn mae<T: Float>(x: Arr<T>, target: impl Operand<T>) -> Arr<T> {
    library!("mae", mae(x = x, target = target.operand()))
}

/// Huber's loss: with $r = x - t$, $r^2 / 2$ where $|r| \le \delta$, $\delta (|r| - \delta / 2)$
/// elsewhere. It is smooth: both parts have the derivative $\pm \delta$ where they meet.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::huber(x, 0.0, 1.0));
/// assert_eq!(f.call([1.0, -3.0])?.to_vec(), [0.5, 2.5]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn huber<T: Float>(x: Arr<T>, target: impl Operand<T>, delta: f64) -> Arr<T> {
    library!("huber", huber(x = x, target = target.operand(), delta = delta))
}

/// [`huber`] over $\beta$: slopes of 1 outside of $|x - t| \le \beta$. With $\beta = 0$ it is
/// [`absolute_error`].
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::smooth_l1(x, 0.0, 2.0));
/// assert_eq!(f.call([1.0, -3.0])?.to_vec(), [0.25, 2.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn smooth_l1<T: Float>(x: Arr<T>, target: impl Operand<T>, beta: f64) -> Arr<T> {
    library!("smooth_l1", smooth_l1(x = x, target = target.operand(), beta = beta))
}

/// $\max(0, 1 - t x)$ for targets of -1 and 1. Its derivative at $t x = 1$ is 0.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>, t: Arr<f64>| nn::hinge(x, t));
/// assert_eq!(f.call(([2.0, 0.5], [1.0, -1.0]))?.to_vec(), [0.0, 1.5]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn hinge<T: Float>(x: Arr<T>, target: impl Operand<T>) -> Arr<T> {
    library!("hinge", hinge(x = x, target = target.operand()))
}

/// The cosine of the angle between the vectors along axes:
/// $\frac{a \cdot b}{\max(|a|, \epsilon) \max(|b|, \epsilon)}$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|a: Arr<f64>, b: Arr<f64>| nn::cosine_similarity(a, b, -1, 1e-8));
/// let y = f.call(([[3.0, 0.0], [0.0, 0.0]], [4.0, 3.0]))?;
/// assert_eq!(y.to_vec(), [0.8, 0.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn cosine_similarity<T: Float>(
    a: Arr<T>,
    b: impl Operand<T>,
    axes: impl Axes,
    epsilon: f64,
) -> Arr<T> {
    let (b, axes) = (b.operand(), axes.axes());
    library!("cosine_similarity", cosine_similarity(x = a, y = b, axis = axes, epsilon = epsilon))
}

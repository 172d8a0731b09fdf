//! Pooling: one number for each window.

use super::window::Padding;
use crate::arr::Arr;
use crate::element::Float;
use crate::library::call::library;

/// A window that moves over the last `N` axes.
///
/// ```
/// use cotan::nn::{Padding, Pool};
///
/// let pool = Pool::new([3, 3]).stride([2, 2]).same();
/// assert_eq!(pool, Pool { stride: [2, 2], padding: Padding::Same, ..Pool::new([3, 3]) });
/// assert_eq!(Pool::new([2]).stride, [2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool<const N: usize> {
    /// Its size.
    pub window: [usize; N],
    /// How far it moves from one element of the result to the next.
    pub stride: [usize; N],
    /// What lies around the array: nothing that counts for a maximum, zeros for an average.
    pub padding: Padding<N>,
    /// Whether an average counts the zeros around the array; else it is that of the elements in the
    /// window.
    pub count_padding: bool,
}

impl<const N: usize> Pool<N> {
    /// Windows that lie side by side, inside the array.
    pub fn new(window: [usize; N]) -> Pool<N> {
        Pool { window, stride: window, padding: Padding::Valid, count_padding: true }
    }

    /// With another stride.
    pub fn stride(self, stride: [usize; N]) -> Pool<N> {
        Pool { stride, ..self }
    }

    /// With so many positions before and after, for each axis.
    pub fn padding(self, padding: [(usize, usize); N]) -> Pool<N> {
        Pool { padding: Padding::Explicit(padding), ..self }
    }

    /// With as many positions around as keep the size: see [`Padding::Same`].
    pub fn same(self) -> Pool<N> {
        Pool { padding: Padding::Same, ..self }
    }

    /// Averages of the elements in the window only.
    pub fn without_padding(self) -> Pool<N> {
        Pool { count_padding: false, ..self }
    }
}

/// The largest element of each window over the last `N` axes; of a window without elements
/// $-\infty$. The derivative goes to the first of equals.
///
/// ```
/// use cotan::nn::{self, Pool};
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::max_pool(x, Pool::new([2])));
/// assert_eq!(f.call([1.0, 3.0, 5.0, 4.0, 9.0])?.to_vec(), [3.0, 5.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn max_pool<T: Float, const N: usize>(x: Arr<T>, pool: Pool<N>) -> Arr<T> {
    let (padding, same) = pool.padding.given();
    let (window, stride) = (pool.window.to_vec(), pool.stride.to_vec());
    library!(
        "max_pool",
        max_pool(x = x, window = window, stride = stride, padding = padding, same = same)
    )
}

/// The average of each window over the last `N` axes. A window that counts no element has the
/// average NaN.
///
/// ```
/// use cotan::nn::{self, Pool};
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::avg_pool(x, Pool::new([2]).same()));
/// assert_eq!(f.call([1.0, 3.0, 6.0])?.to_vec(), [2.0, 3.0]);
/// let f = jit(|x: Arr<f64>| nn::avg_pool(x, Pool::new([2]).same().without_padding()));
/// assert_eq!(f.call([1.0, 3.0, 6.0])?.to_vec(), [2.0, 6.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn avg_pool<T: Float, const N: usize>(x: Arr<T>, pool: Pool<N>) -> Arr<T> {
    let (padding, same) = pool.padding.given();
    let (window, stride) = (pool.window.to_vec(), pool.stride.to_vec());
    library!(
        "avg_pool",
        avg_pool(
            x = x,
            window = window,
            stride = stride,
            padding = padding,
            same = same,
            count_padding = pool.count_padding
        )
    )
}

/// The average over all axes but the first two: of each channel of each element of a batch.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::global_avg_pool(x));
/// assert_eq!(f.call([[[1.0, 3.0], [5.0, 6.0]]])?, Tensor::from([[2.0, 5.5]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn global_avg_pool<T: Float>(x: Arr<T>) -> Arr<T> {
    library!("global_avg_pool", global_avg_pool(x = x))
}

/// The maximum over all axes but the first two; of none $-\infty$.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| nn::global_max_pool(x));
/// assert_eq!(f.call([[[1.0, 3.0], [5.0, 4.0]]])?, Tensor::from([[3.0, 5.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn global_max_pool<T: Float>(x: Arr<T>) -> Arr<T> {
    library!("global_max_pool", global_max_pool(x = x))
}

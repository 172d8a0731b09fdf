//! Pooling: one number for each window.

use super::window::{Padding, Windows};
use crate::arr::Arr;
use crate::build::build;
use crate::element::{Element, Float};
use crate::error::{Error, Result};
use crate::library::axes::{failed, type_text as shown};
use crate::ops::select;
use crate::stage::operation;

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
    operation("max_pool", || match Windowed::new("max_pool", x, &pool) {
        Ok(windowed) => windowed.elements(x, T::LEAST).max_axis(&windowed.axes()[..]),
        Err(error) => failed(error),
    })
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
    operation("avg_pool", || match Windowed::new("avg_pool", x, &pool) {
        Ok(windowed) => {
            let total = windowed.elements(x, T::default()).sum_axis(&windowed.axes()[..]);
            match windowed.sizes(pool.count_padding) {
                Some(sizes) => total / sizes,
                None => total / T::of(pool.window.iter().map(|&k| k as f64).product()),
            }
        }
        Err(error) => failed(error),
    })
}

/// An array that is pooled, with its windows.
struct Windowed {
    leading: Vec<usize>,
    windows: Windows,
}

impl Windowed {
    fn new<T: Element, const N: usize>(op: &str, x: Arr<T>, pool: &Pool<N>) -> Result<Windowed> {
        let shape = x.shape();
        let Some(leading) = shape.len().checked_sub(N) else {
            let message = format!("a window of {N} axes over {}", shown(x));
            return Err(Error::type_error(op, message)
                .with_hint("it moves over the last axes, of which there must be as many"));
        };
        let (leading, pooled) = shape.split_at(leading);
        let Pool { window, stride, padding, .. } = *pool;
        let windows = Windows::new(op, pooled, &window, stride, [1; N], padding)?;
        Ok(Windowed { leading: leading.to_vec(), windows })
    }

    /// The axes of the elements of a window in [`Windowed::elements`].
    fn axes(&self) -> Vec<usize> {
        let begin = self.leading.len() + self.windows.counts.len();
        (begin..begin + self.windows.sizes.len()).collect()
    }

    /// For each window its elements, and `outside` where it reaches beyond the array.
    #[track_caller]
    fn elements<T: Float>(&self, x: Arr<T>, outside: T) -> Arr<T> {
        let (leading, counts) = (self.leading.len(), self.windows.counts.len());
        let extents = [&self.leading[..], &self.windows.counts, &self.windows.sizes].concat();
        build(extents, |ix| {
            let (front, window) = ix.split_at(leading);
            let (i, j) = window.split_at(counts);
            let position = self.windows.position(i, j);
            let element = x.at([front, &position[..]].concat());
            // Outside of an array there are zeros.
            match self.windows.inside(&position) {
                Some(inside) if outside != T::default() => select(inside, element, outside),
                Some(_) | None => element,
            }
        })
    }

    /// How many elements each window has in the array; `None` if all count the same.
    #[track_caller]
    fn sizes<T: Float>(&self, count_padding: bool) -> Option<Arr<T>> {
        let (counts, sizes) = (&self.windows.counts, &self.windows.sizes);
        if count_padding || !self.windows.padded() {
            return None;
        }
        let inside = build([&counts[..], sizes].concat(), |ix| {
            let (i, j) = ix.split_at(counts.len());
            let inside = self.windows.inside(&self.windows.position(i, j));
            inside.map_or_else(Arr::nothing, |inside| inside.cast::<T>())
        });
        Some(inside.sum_axis(&(counts.len()..counts.len() + sizes.len()).collect::<Vec<_>>()[..]))
    }
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
    operation("global_avg_pool", || match channel_axes("global_avg_pool", x) {
        Ok((channels, axes)) => x.mean_keep(&axes[..]).reshape(&channels),
        Err(error) => failed(error),
    })
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
    operation("global_max_pool", || match channel_axes("global_max_pool", x) {
        Ok((_, axes)) => x.max_axis(&axes[..]),
        Err(error) => failed(error),
    })
}

/// The first two sizes, and the axes after them.
fn channel_axes<T: Element>(op: &str, x: Arr<T>) -> Result<(Vec<usize>, Vec<usize>)> {
    let shape = x.shape();
    match shape.get(..2) {
        Some(channels) => Ok((channels.to_vec(), (2..shape.len()).collect())),
        None => {
            let message = format!("axes of batch and channel are needed, of {}", shown(x));
            Err(Error::type_error(op, message))
        }
    }
}

//! Evenly spaced numbers, grids, and arrays like others.

use super::access::attempt;
use crate::arr::{Arr, Operand, iota};
use crate::element::{Element, Float, Number};
use crate::error::{Error, Result};
use crate::library::call::{call_all, library};

/// `start`, `start + step`, .. as far as, and without, `stop`. Of floats the number is that of
/// `(stop - start) / step` rounded up, which rounding may make one more than expected; [`linspace`]
/// has a number of its own.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>| x * arange(0.0, 1.0, 0.25), ())?;
/// assert_eq!(f.call(4.0)?, Tensor::from([0.0, 1.0, 2.0, 3.0]));
/// let f = compile(|i: Arr<i64>| i + arange(3, 0, -2), ())?;
/// assert_eq!(f.call(0)?, Tensor::from([3, 1]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn arange<T: Number>(start: T, stop: T, step: T) -> Arr<T> {
    attempt("arange", || Ok(iota(steps(start, stop, step)?).cast::<T>() * step + start))
}

/// The number of steps from `start` until `stop` is reached.
pub(crate) fn steps<T: Number>(start: T, stop: T, step: T) -> Result<usize> {
    let count = if T::DTYPE.is_float() {
        let count = (stop.to_f64() - start.to_f64()) / step.to_f64();
        (!count.is_nan()).then(|| count.ceil() as usize)
    } else {
        let wide = |x: T| i128::from(x.to_i64());
        let (distance, step) = (wide(stop) - wide(start), wide(step));
        let leads_there = distance.signum() == step.signum();
        let count = distance.unsigned_abs().div_ceil(step.unsigned_abs().max(1));
        Some(if leads_there { usize::try_from(count).unwrap_or(usize::MAX) } else { 0 })
    };
    count.filter(|_| step != T::default()).ok_or_else(|| {
        let message = format!("no number of steps of {step:?} leads from {start:?} to {stop:?}");
        Error::type_error("arange", message).with_hint("a step is a number other than 0")
    })
}

/// `n` numbers from `start` to `stop`, both included, at equal distances; one is `start`. The ends
/// may be arrays, whose axes come last, and get derivatives.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>| linspace(x, 1.0, 5), ())?;
/// assert_eq!(f.call(0.0)?, Tensor::from([0.0, 0.25, 0.5, 0.75, 1.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn linspace<T: Float>(start: impl Operand<T>, stop: impl Operand<T>, n: usize) -> Arr<T> {
    let (start, stop) = (start.operand(), stop.operand());
    library!("linspace", linspace(start = start, stop = stop, n = n))
}

/// The coordinates of all points of a grid: of vectors of lengths `n, m, ..` arrays of shape
/// `[n, m, ..]`, of which array `k` has at index `is` element `is[k]` of vector `k`.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = compile(|x: Arr<f64>, y: Arr<f64>| meshgrid(&[x, y]), ([2], [3]))?;
/// let grid = f.call(([1.0, 2.0], [3.0, 4.0, 5.0]))?;
/// assert_eq!(grid[0], Tensor::from([[1.0; 3], [2.0; 3]]));
/// assert_eq!(grid[1], Tensor::from([[3.0, 4.0, 5.0]; 2]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn meshgrid<T: Element>(vectors: &[Arr<T>]) -> Vec<Arr<T>> {
    let args = vec![("x", vectors.into())];
    let made = call_all("meshgrid", &cotan_library::functions::meshgrid, args);
    // After an error, as many as the caller takes apart.
    match made {
        Some(grids) => grids.into_iter().map(Arr::from_raw).collect(),
        None => vec![Arr::nothing(); vectors.len()],
    }
}

impl<T: Element> Arr<T> {
    /// `x` at every position of an array of this shape.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.full_like(2.0), [3])?;
    /// assert_eq!(f.call([1.0; 3])?, Tensor::from([2.0; 3]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn full_like(self, x: impl Operand<T>) -> Arr<T> {
        library!("full_like", full_like(x = self, value = x.operand()))
    }

    /// Zeros (`false`) in an array of this shape.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.zeros_like(), [2])?;
    /// assert_eq!(f.call([1.0; 2])?, Tensor::from([0.0; 2]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros_like(self) -> Arr<T> {
        library!("zeros_like", zeros_like(x = self))
    }
}

impl<T: Number> Arr<T> {
    /// Ones in an array of this shape.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = compile(|x: Arr<f64>| x.ones_like(), [2])?;
    /// assert_eq!(f.call([3.0; 2])?, Tensor::from([1.0; 2]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn ones_like(self) -> Arr<T> {
        library!("ones_like", ones_like(x = self))
    }
}

//! Attention, its masks, and embedding.

use crate::arr::Arr;
use crate::element::{Element, Float};
use crate::library::call::library;

/// Scaled dot-product attention:
/// $\mathrm{softmax}(q k^T / \sqrt d)\,v$.
///
/// Queries have axes `[.., m, d]`, keys `[.., n, d]`, values `[.., n, e]`, the result `[.., m, e]`;
/// the leading axes (batch, heads) fit as numpy's do. A query attends to the keys where `mask`, of a
/// shape that fits `[.., m, n]`, holds. One that may attend to none gets zeros, with zero derivative.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|q: Arr<f64>, k: Arr<f64>, v: Arr<f64>| {
///     nn::attention(q, k, v, Some(nn::causal_mask(2, 2)))
/// });
/// let y = f.call(([[0.0], [0.0]], [[1.0], [2.0]], [[3.0], [5.0]]))?;
/// assert_eq!(y, Tensor::from([[3.0], [4.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn attention<T: Float>(q: Arr<T>, k: Arr<T>, v: Arr<T>, mask: Option<Arr<bool>>) -> Arr<T> {
    library!("attention", attention(q = q, k = k, v = v, mask = mask))
}

/// The mask, of shape `[m, n]`, by which each of `m` queries attends to the keys up to its own
/// position; the last query is at the last of `n` keys.
///
/// ```
/// use cotan::nn::causal_mask;
/// use cotan::prelude::*;
///
/// let f = jit(|x: Arr<f64>| select(causal_mask(2, 3), x, 0.0));
/// let y = f.call([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
/// assert_eq!(y, Tensor::from([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn causal_mask(m: usize, n: usize) -> Arr<bool> {
    library!("causal_mask", causal_mask(m = m, n = n))
}

/// The rows of a table at the given ids: `[.., ]` of ids and `[v, ..]` of the table make
/// `[.., ..]`. An id outside the table has a row of zeros, and passes no derivative.
///
/// ```
/// use cotan::nn;
/// use cotan::prelude::*;
///
/// let f = jit(|table: Arr<f64>, ids: Arr<i64>| nn::embedding(table, ids));
/// let y = f.call(([[1.0, 2.0], [3.0, 4.0]], [1i64, 0, 9]))?;
/// assert_eq!(y, Tensor::from([[3.0, 4.0], [1.0, 2.0], [0.0, 0.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn embedding<T: Element>(table: Arr<T>, ids: Arr<i64>) -> Arr<T> {
    library!("embedding", embedding(table = table, ids = ids))
}

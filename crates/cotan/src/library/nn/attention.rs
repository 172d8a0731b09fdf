//! Attention, its masks, and embedding.

use crate::arr::Arr;
use crate::build::build;
use crate::element::{Element, Float};
use crate::error::Error;
use crate::library::axes::{failed, type_text as shown};
use crate::ops::select;
use crate::stage::operation;

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
    operation("attention", || {
        let (qs, ks, vs) = (q.shape(), k.shape(), v.shape());
        let ([.., d], [.., n, width], [.., values, _]) = (&qs[..], &ks[..], &vs[..]) else {
            return failed(misfit(q, k, v));
        };
        if qs.len() < 2 || d != width || n != values {
            return failed(misfit(q, k, v));
        }
        let products = new_axis(q, 1) * new_axis(k, 2);
        let scores = sum_last(products, 1) / T::of((*d as f64).sqrt());
        let weights = match mask {
            None => scores.softmax(-1),
            // Selected a second time, so that a row of -inf alone gives zeros and not NaN.
            Some(mask) => {
                let weights = select(mask, scores, T::LEAST).softmax(-1);
                select(mask, weights, T::default())
            }
        };
        sum_last(new_axis(weights, 0) * new_axis(v, 2), 2)
    })
}

fn misfit<T: Element>(q: Arr<T>, k: Arr<T>, v: Arr<T>) -> Error {
    let message =
        format!("queries {}, keys {} and values {} do not fit", shown(q), shown(k), shown(v));
    let hint = "they are [.., m, d], [.., n, d] and [.., n, e]";
    Error::type_error("attention", message).with_hint(hint)
}

/// An axis of size 1 before the last `after` ones.
#[track_caller]
fn new_axis<T: Element>(x: Arr<T>, after: usize) -> Arr<T> {
    let mut shape = x.shape();
    shape.insert(shape.len().saturating_sub(after), 1);
    x.reshape(&shape)
}

/// The sum along the axis that is number `from_end` from the end.
#[track_caller]
fn sum_last<T: Float>(x: Arr<T>, from_end: usize) -> Arr<T> {
    x.sum_axis(x.rank().saturating_sub(from_end))
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
    operation("causal_mask", || build([m, n], |[i, j]| (j + m).le(i + n)))
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
    operation("embedding", || build(ids.shape(), |ix| table.at(ids.at(ix))))
}

//! Moving axes, and reading along the outermost one.

use crate::arr::Arr;
use crate::element::Element;
use crate::error::Result;
use crate::sizes::axis_of;
use crate::stage::{self, emit};

/// The array whose axis `n` is axis `order[n]`.
#[track_caller]
pub(super) fn permuted<T: Element>(x: Arr<T>, order: &[usize]) -> Arr<T> {
    Arr::from_raw(emit("transpose", &[x.raw], |b, ts| b.permute(ts[0], order)))
}

/// The same elements in another shape.
#[track_caller]
pub(super) fn reshaped<T: Element>(x: Arr<T>, sizes: &[usize]) -> Arr<T> {
    if x.shape() == sizes {
        return x;
    }
    Arr::from_raw(emit("reshape", &[x.raw], |b, ts| b.reshape(sizes, ts[0])))
}

/// The array with one axis outermost, the others in order.
#[track_caller]
pub(super) fn fronted<T: Element>(x: Arr<T>, axis: usize) -> Arr<T> {
    let rest = (0..x.rank()).filter(|&k| k != axis);
    permuted(x, &std::iter::once(axis).chain(rest).collect::<Vec<_>>())
}

/// Undoes [`fronted`] on an array of as many axes.
#[track_caller]
pub(super) fn restored<T: Element>(x: Arr<T>, axis: usize) -> Arr<T> {
    let order: Vec<usize> = (0..x.rank())
        .map(|k| match k {
            k if k < axis => k + 1,
            k if k == axis => 0,
            k => k,
        })
        .collect();
    permuted(x, &order)
}

/// Runs `f`, which works along the outermost axis, along another one; `f` keeps the number of axes.
#[track_caller]
pub(super) fn along_axis<T: Element, U: Element>(
    name: &'static str,
    x: Arr<T>,
    axis: i32,
    f: impl FnOnce(Arr<T>) -> Arr<U>,
) -> Arr<U> {
    stage::operation(name, || match axis_of(name, i64::from(axis), x.rank()) {
        Ok(axis) => restored(f(fronted(x, axis)), axis),
        Err(error) => failed(error),
    })
}

/// Records an error.
#[track_caller]
pub(super) fn failed<T: Element>(error: crate::Error) -> Arr<T> {
    stage::fail(error);
    Arr::nothing()
}

/// What a fallible calculation of an array gives; an error is recorded.
#[track_caller]
pub(super) fn settled<T: Element>(result: Result<Arr<T>>) -> Arr<T> {
    result.unwrap_or_else(failed)
}

/// `x[positions[.., is], is]` for all `is`: reads along the outermost axis. `positions` has the
/// other axes of `x`, and may have more in front of them.
#[track_caller]
pub(super) fn picked<T: Element>(x: Arr<T>, positions: Arr<i64>) -> Arr<T> {
    Arr::from_raw(emit("pick", &[x.raw, positions.raw], |b, ts| {
        let (x, positions) = (ts[0], ts[1]);
        let sizes = b.shape(positions).dims().to_vec();
        if sizes.is_empty() {
            return b.index(x, &[positions]);
        }
        let inner = b.shape(x).rank().saturating_sub(1);
        let region = b.index_function(&sizes, |b, is| {
            let mut ix = vec![b.index(positions, is)?];
            ix.extend(is.iter().skip(is.len().saturating_sub(inner)));
            Ok(ix)
        })?;
        b.gather(x, region)
    }))
}

/// The type of an array, for messages.
pub(super) fn type_text<T: Element>(x: Arr<T>) -> String {
    stage::type_of(x.raw).map_or_else(|| "nothing".to_owned(), |ty| ty.to_string())
}

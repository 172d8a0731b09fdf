//! What the functions of this module share.

use cotan_ir::{Extreme, Type};

use crate::arr::{Arr, full};
use crate::build::build;
use crate::element::{Element, Float, Number};
use crate::error::Error;
use crate::sizes::{Axes, axes_of};
use crate::stage::{self, emit};

/// Records an error, and gives what stands for no array.
#[track_caller]
pub(super) fn failed<T: Element>(error: Error) -> Arr<T> {
    stage::fail(error);
    Arr::nothing()
}

/// The type of an array as errors show it.
pub(super) fn shown<T: Element>(x: Arr<T>) -> String {
    let ty: Option<Type> = stage::type_of(x.raw);
    ty.map_or_else(|| "nothing".to_owned(), |ty| ty.to_string())
}

/// The chosen axes of an array, in order; none after an error.
#[track_caller]
pub(super) fn chosen<T: Element>(op: &str, x: Arr<T>, axes: impl Axes) -> Vec<usize> {
    match axes_of(op, axes, x.rank()) {
        Ok(mut axes) => {
            axes.sort_unstable();
            axes
        }
        Err(error) => {
            stage::fail(error);
            Vec::new()
        }
    }
}

#[track_caller]
pub(super) fn reshape<T: Element>(x: Arr<T>, dims: &[usize]) -> Arr<T> {
    Arr::from_raw(emit("reshape", &[x.raw], |b, ts| b.reshape(dims, ts[0])))
}

#[track_caller]
pub(super) fn broadcast<T: Element>(x: Arr<T>, dims: &[usize]) -> Arr<T> {
    Arr::from_raw(emit("broadcast", &[x.raw], |b, ts| b.broadcast_to(ts[0], dims)))
}

#[track_caller]
fn permute<T: Element>(x: Arr<T>, order: &[usize]) -> Arr<T> {
    Arr::from_raw(emit("permute", &[x.raw], |b, ts| b.permute(ts[0], order)))
}

/// One axis first, the others after it.
#[track_caller]
pub(super) fn to_front<T: Element>(x: Arr<T>, axis: usize) -> Arr<T> {
    let rest = (0..x.rank()).filter(|&n| n != axis);
    permute(x, &std::iter::once(axis).chain(rest).collect::<Vec<_>>())
}

/// Undoes [`to_front`].
#[track_caller]
pub(super) fn from_front<T: Element>(x: Arr<T>, axis: usize) -> Arr<T> {
    let order = (0..x.rank()).map(|n| if n == axis { 0 } else { n + usize::from(n < axis) });
    permute(x, &order.collect::<Vec<_>>())
}

/// The given axes merged into one, which comes first.
#[track_caller]
fn merged<T: Element>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    let shape = x.shape();
    let rest: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let sizes = rest.iter().filter_map(|&axis| shape.get(axis).copied());
    let dims: Vec<usize> = std::iter::once(count(&shape, axes)).chain(sizes).collect();
    let order: Vec<usize> = axes.iter().chain(&rest).copied().collect();
    reshape(permute(x, &order), &dims)
}

/// How many elements lie along axes.
pub(super) fn count(shape: &[usize], axes: &[usize]) -> usize {
    axes.iter().filter_map(|&axis| shape.get(axis)).product()
}

/// A shape in which the axes have size 1.
fn kept(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    let keep = |(axis, &k): (usize, &usize)| if axes.contains(&axis) { 1 } else { k };
    shape.iter().enumerate().map(keep).collect()
}

/// The sum along axes, which are gone.
#[track_caller]
pub(super) fn sum_along<T: Number>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    let merged = merged(x, axes);
    Arr::from_raw(emit("sum", &[merged.raw], |b, ts| b.sum_outer(ts[0])))
}

/// The sum along axes, which have size 1.
#[track_caller]
pub(super) fn sum_keep<T: Number>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    reshape(sum_along(x, axes), &kept(&x.shape(), axes))
}

/// The mean along axes, which have size 1; of nothing NaN.
#[track_caller]
pub(super) fn mean_keep<T: Float>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    sum_keep(x, axes) / T::of(count(&x.shape(), axes) as f64)
}

/// The mean of all elements; of nothing NaN.
#[track_caller]
pub(super) fn mean<T: Float>(x: Arr<T>) -> Arr<T> {
    x.sum() / T::of(x.size() as f64)
}

/// The largest element along axes, which are gone; the first of equals, of nothing -inf.
#[track_caller]
pub(super) fn max_along<T: Float>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    let merged = merged(x, axes);
    let shape = merged.shape();
    let Some((&k, rest)) = shape.split_first() else { return merged };
    if k == 0 {
        return full(rest, T::LEAST);
    }
    let position: Arr<i64> =
        Arr::from_raw(emit("max", &[merged.raw], |b, ts| b.arg_extreme(Extreme::Max, ts[0])));
    build(rest.to_vec(), |ix| {
        let first = position.at(ix.clone());
        merged.at(std::iter::once(first).chain(ix).collect::<Vec<_>>())
    })
}

/// The largest element along axes, which have size 1.
#[track_caller]
pub(super) fn max_keep<T: Float>(x: Arr<T>, axes: &[usize]) -> Arr<T> {
    reshape(max_along(x, axes), &kept(&x.shape(), axes))
}

/// The last axis, as something to sum along; an error if there is none.
#[track_caller]
pub(super) fn last_axis<T: Element>(op: &'static str, x: Arr<T>) -> Option<usize> {
    let last = x.rank().checked_sub(1);
    if last.is_none() {
        let message = format!("{} has no axis of classes", shown(x));
        stage::fail(Error::type_error(op, message).with_hint("classes lie along the last axis"));
    }
    last
}

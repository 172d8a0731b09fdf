//! What the functions of the library have in common: errors, axes, reading by an index function.

use cotan_ir::{Extreme, Param, RegionId, broadcast_dims};

use crate::arr::Arr;
use crate::element::{Element, Number};
use crate::error::{Error, Result};
use crate::sizes::{Axes, axes_of};
use crate::stage::{self, emit};
use crate::structure::{Arrays, recovered};

/// Runs the body of the library function `name`; an error of it is recorded.
#[track_caller]
pub(super) fn attempt<R: Arrays>(name: &'static str, body: impl FnOnce() -> Result<R>) -> R {
    stage::operation(name, || recovered(body()))
}

/// The type of an array as messages show it.
pub(super) fn shown<T: Element>(x: Arr<T>) -> String {
    stage::type_of(x.raw).map_or_else(|| "nothing".to_owned(), |ty| ty.to_string())
}

/// An argument that is one axis.
pub(super) fn one_axis(op: &str, axis: impl Axes, rank: usize) -> Result<usize> {
    match *axes_of(op, axis, rank)? {
        [axis] => Ok(axis),
        ref several => {
            let message = format!("one axis is needed, not {}", several.len());
            Err(Error::type_error(op, message))
        }
    }
}

/// An argument that has no axes.
pub(super) fn scalar<T: Element>(op: &str, what: &str, x: Arr<T>) -> Result<()> {
    if x.rank() == 0 {
        return Ok(());
    }
    Err(Error::type_error(op, format!("{what} is {}, and must have no axes", shown(x))))
}

/// `x` stretched to a shape; `what` names it in the error.
pub(super) fn fitted<T: Element>(
    op: &'static str,
    what: &str,
    x: Arr<T>,
    dims: &[usize],
) -> Result<Arr<T>> {
    let own = x.shape();
    let fits = own.len() <= dims.len()
        && own.iter().rev().zip(dims.iter().rev()).all(|(&j, &k)| j == k || j == 1);
    if !fits && !stage::failed() {
        let message = format!("{what} is {} and does not fit {dims:?}", shown(x));
        let hint = "from the last axis back, its sizes must be equal, 1 or missing";
        return Err(Error::type_error(op, message).with_hint(hint));
    }
    Ok(Arr::from_raw(emit(op, &[x.raw], |b, ts| b.broadcast_to(ts[0], dims))))
}

/// Index arrays stretched to their common shape, and that shape.
pub(super) fn in_common(
    op: &'static str,
    components: &[Arr<i64>],
) -> Result<(Vec<Arr<i64>>, Vec<usize>)> {
    let mut common = Vec::new();
    for i in components {
        common = broadcast_dims(&common, &i.shape()).ok_or_else(|| {
            let shapes: Vec<String> = components.iter().map(|&i| shown(i)).collect();
            let message = format!("index arrays that do not fit: {}", shapes.join(" and "));
            let hint = "shapes fit when, from the last axis back, sizes are equal, 1 or missing";
            Error::type_error(op, message).with_hint(hint)
        })?;
    }
    let stretched: Result<Vec<Arr<i64>>> =
        components.iter().map(|&i| fitted(op, "an index array", i, &common)).collect();
    Ok((stretched?, common))
}

/// The handle of an index function.
fn index_function(
    op: &'static str,
    sizes: &[usize],
    f: impl FnOnce(&[Arr<i64>]) -> Vec<Arr<i64>>,
) -> Option<RegionId> {
    let params: Vec<Param> = sizes.iter().map(|&k| Param::Index(k)).collect();
    stage::lambda(op, &params, |vars| {
        let vars: Vec<Arr<i64>> = vars.iter().map(|&raw| Arr::from_raw(raw)).collect();
        f(&vars).iter().map(|i| i.raw).collect()
    })
}

/// The array over `sizes` whose part at `is` is that of `x` at the index `f(is)`.
pub(super) fn gathered<T: Element>(
    x: Arr<T>,
    sizes: &[usize],
    f: impl FnOnce(&[Arr<i64>]) -> Vec<Arr<i64>>,
) -> Arr<T> {
    match index_function("gather", sizes, f) {
        Some(region) => Arr::from_raw(emit("gather", &[x.raw], |b, ts| b.gather(ts[0], region))),
        None => Arr::nothing(),
    }
}

/// The array over `outer` to whose part at `f(is)` the part of `x` at `is`, over `sizes`, is added.
pub(super) fn scattered<T: Number>(
    outer: &[usize],
    x: Arr<T>,
    sizes: &[usize],
    f: impl FnOnce(&[Arr<i64>]) -> Vec<Arr<i64>>,
) -> Arr<T> {
    match index_function("scatter", sizes, f) {
        Some(region) => {
            Arr::from_raw(emit("scatter", &[x.raw], |b, ts| b.scatter(outer, ts[0], region)))
        }
        None => Arr::nothing(),
    }
}

/// `x` with `size` positions along an axis, of which position `i` is what was at `f(i)`.
pub(super) fn along<T: Element>(
    x: Arr<T>,
    axis: usize,
    size: usize,
    f: impl FnOnce(Arr<i64>) -> Arr<i64>,
) -> Arr<T> {
    let sizes: Vec<usize> = x.shape().into_iter().take(axis).chain([size]).collect();
    gathered(x, &sizes, |is| match is {
        [before @ .., i] => before.iter().copied().chain([f(*i)]).collect(),
        [] => Vec::new(),
    })
}

/// `step * i + start`, without what does nothing.
pub(super) fn affine(i: Arr<i64>, step: i64, start: i64) -> Arr<i64> {
    let scaled = if step == 1 { i } else { i * step };
    if start == 0 { scaled } else { scaled + start }
}

/// A vector as a column with `after` axes of size 1 behind it.
pub(super) fn column<T: Element>(v: Arr<T>, after: usize) -> Arr<T> {
    let dims: Vec<usize> = v.shape().into_iter().chain(std::iter::repeat_n(1, after)).collect();
    reshaped("reshape", v, &dims)
}

/// `x` in a shape of as many elements.
pub(super) fn reshaped<T: Element>(op: &'static str, x: Arr<T>, dims: &[usize]) -> Arr<T> {
    if x.shape() == dims {
        return x;
    }
    Arr::from_raw(emit(op, &[x.raw], |b, ts| b.reshape(dims, ts[0])))
}

/// For each id below `n`, the positions along the outermost axis of the extreme elements that have
/// it, the first among equals; the size of the axis for ids that do not occur.
pub(super) fn extreme_at<T: Element>(
    op: &'static str,
    extreme: Extreme,
    x: Arr<T>,
    ids: Arr<i64>,
    n: usize,
) -> Arr<i64> {
    Arr::from_raw(emit(op, &[x.raw, ids.raw], |b, ts| b.segment_arg(extreme, n, ts[0], ts[1])))
}

/// The product of sizes; beyond what is possible, the most, which no array can have.
pub(super) fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |product: usize, &k| product.saturating_mul(k))
}

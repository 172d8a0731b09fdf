//! The same elements in another arrangement: shapes, axes, orders, parts put together.

use crate::axes::{axes_of, axis_of};
use crate::context::{Context, Fact};
use crate::function::functions;
use crate::term::Term;

/// Sizes with ones before them.
fn filled(rank: usize, sizes: &[usize]) -> Vec<usize> {
    let missing = rank.saturating_sub(sizes.len());
    std::iter::repeat_n(1, missing).chain(sizes.iter().copied()).collect()
}

/// Every axis becomes two: the copies, and the positions of one.
fn tiled<'c>(x: Term<'c>, counts: &[usize]) -> Term<'c> {
    let own = x.dims();
    let rank = own.len().max(counts.len());
    let (own, counts) = (filled(rank, &own), filled(rank, counts));
    let places: Vec<usize> = (0..rank).map(|axis| 2 * axis + 1).collect();
    let apart: Vec<usize> = counts.iter().zip(&own).flat_map(|(&c, &k)| [c, k]).collect();
    let merged: Vec<usize> = counts.iter().zip(&own).map(|(&c, &k)| c.saturating_mul(k)).collect();
    for (&count, &size) in counts.iter().zip(&own) {
        x.context().note(Fact::Product(vec![count, size]));
    }
    x.reshape(&own).spread(&places, &apart).reshape(&merged)
}

fn repeated<'c>(x: Term<'c>, k: usize, axis: i64) -> Term<'c> {
    let mut dims = x.dims();
    let axis = axis_of(x.context(), axis, dims.len());
    if x.context().failed() {
        return x.nothing();
    }
    x.context().note(Fact::Product(vec![dims[axis], k]));
    let places: Vec<usize> = (0..dims.len()).map(|a| if a > axis { a + 1 } else { a }).collect();
    let mut apart = dims.clone();
    apart.insert(axis + 1, k);
    dims[axis] = dims[axis].saturating_mul(k);
    x.spread(&places, &apart).reshape(&dims)
}

fn flipped<'c>(x: Term<'c>, axes: Option<&[i64]>) -> Term<'c> {
    let dims = x.dims();
    let axes = axes_of(x.context(), axes, dims.len());
    let Some(&last) = axes.iter().max() else { return x };
    let sizes: Vec<usize> = dims.into_iter().take(last + 1).collect();
    x.gather(&sizes, |is| {
        let ends = sizes.iter().map(|&k| k as i64 - 1);
        let along = |(axis, (&i, last)): (usize, (&Term<'c>, i64))| match axes.contains(&axis) {
            true => x.context().int(last) - i,
            false => i,
        };
        is.iter().zip(ends).enumerate().map(along).collect()
    })
}

fn swapped<'c>(x: Term<'c>, a: i64, b: i64) -> Term<'c> {
    let (c, rank) = (x.context(), x.rank());
    let (a, b) = (axis_of(c, a, rank), axis_of(c, b, rank));
    let mut order: Vec<usize> = (0..rank).collect();
    if !c.failed() {
        order.swap(a, b);
    }
    x.permute(&order)
}

fn moved<'c>(x: Term<'c>, from: &[i64], to: &[i64]) -> Term<'c> {
    let (c, rank) = (x.context(), x.rank());
    let (from, to) = (axes_of(c, Some(from), rank), axes_of(c, Some(to), rank));
    if from.len() != to.len() {
        return c.wrong(format!("{} axes for {} places", from.len(), to.len()), "");
    }
    let mut staying = (0..rank).filter(|axis| !from.contains(axis));
    let source = |place: usize| match to.iter().position(|&t| t == place) {
        Some(n) => from.get(n).copied(),
        None => staying.next(),
    };
    x.permute(&(0..rank).filter_map(source).collect::<Vec<_>>())
}

fn permuted<'c>(x: Term<'c>, axes: Option<&[i64]>) -> Term<'c> {
    let (c, rank) = (x.context(), x.rank());
    let Some(axes) = axes else { return x.permute(&(0..rank).rev().collect::<Vec<_>>()) };
    let order = axes_of(c, Some(axes), rank);
    if order.len() != rank {
        let message = format!("an order of {} axes for {}", order.len(), x.shown());
        let hint = "name every axis once; `move_axis` and `swap_axes` move single ones";
        return c.wrong(message, hint);
    }
    x.permute(&order)
}

fn expanded<'c>(x: Term<'c>, axes: &[i64]) -> Term<'c> {
    let rank = x.rank() + axes.len();
    let new = axes_of(x.context(), Some(axes), rank);
    let mut old = x.dims().into_iter();
    let size = |axis: usize| if new.contains(&axis) { Some(1) } else { old.next() };
    x.reshape(&(0..rank).filter_map(size).collect::<Vec<_>>())
}

fn squeezed<'c>(x: Term<'c>, axes: Option<&[i64]>) -> Term<'c> {
    let (c, dims) = (x.context(), x.dims());
    let axes = match axes {
        Some(axes) => axes_of(c, Some(axes), dims.len()),
        None => (0..dims.len()).filter(|&axis| dims[axis] == 1).collect(),
    };
    if let Some(&axis) = axes.iter().find(|&&axis| dims[axis] != 1) {
        c.note(Fact::UnlessEqual(vec![(dims[axis], 1)]));
        let message = format!("axis {axis} of {} has size {}", x.shown(), dims[axis]);
        return c.wrong(message, "only axes of size 1 can be left out; an index picks a part");
    }
    let rest = (0..dims.len()).filter(|axis| !axes.contains(axis)).map(|axis| dims[axis]);
    x.reshape(&rest.collect::<Vec<_>>())
}

// ---- diagonals --------------------------------------------------------------------------------

fn at_least(x: Term<'_>, least: usize) -> bool {
    if x.rank() < least {
        let axes = if least == 1 { "axis is" } else { "axes are" };
        x.context().wrong(format!("at least {least} {axes} needed, of {}", x.shown()), "");
    }
    x.rank() >= least
}

/// Where diagonal `k` begins.
fn corner(k: i64) -> (i64, i64) {
    (k.min(0).saturating_neg(), k.max(0))
}

fn extent(k: i64) -> usize {
    usize::try_from(k).unwrap_or(usize::MAX)
}

pub(crate) fn diagonal_of(x: Term<'_>, k: i64) -> Term<'_> {
    if !at_least(x, 2) {
        return x.nothing();
    }
    let dims = x.dims();
    let (batch, last) = dims.split_at(dims.len() - 2);
    let (row, col) = corner(k);
    let length = last[0].saturating_sub(extent(row)).min(last[1].saturating_sub(extent(col)));
    let sizes = [batch, &[length]].concat();
    x.gather(&sizes, |is| match is {
        [before @ .., i] => [before, &[i.affine(1, row), i.affine(1, col)]].concat(),
        [] => Vec::new(),
    })
}

fn diag_of(x: Term<'_>, k: i64) -> Term<'_> {
    match x.dims()[..] {
        [length] => {
            let (row, col) = corner(k);
            let offset = extent(row.max(col));
            let n = length.saturating_add(offset);
            x.context().note(Fact::Sum(vec![length, offset]));
            x.scatter(&[n, n], &[length], |is| vec![is[0].affine(1, row), is[0].affine(1, col)])
        }
        [_, _] => diagonal_of(x, k),
        _ => {
            let message = format!("a vector or a matrix is needed, not {}", x.shown());
            let hint = "`diagonal` takes those of all matrices in the last two axes";
            x.context().wrong(message, hint)
        }
    }
}

/// By how much the column is more than the row.
pub(crate) fn differences(c: &Context, rows: usize, columns: usize) -> Term<'_> {
    c.iota(columns) - c.iota(rows).column(1)
}

fn triangle<'c>(x: Term<'c>, kept: impl FnOnce(Term<'c>) -> Term<'c>) -> Term<'c> {
    if !at_least(x, 2) {
        return x.nothing();
    }
    let dims = x.dims();
    let last = &dims[dims.len() - 2..];
    kept(differences(x.context(), last[0], last[1])).choose(x, 0.0)
}

// ---- putting together -------------------------------------------------------------------------

pub(crate) fn stacked<'c>(c: &'c Context, parts: &[Term<'c>]) -> Term<'c> {
    let ids: Option<Vec<_>> = parts.iter().map(|x| x.id()).collect();
    c.make(|b| b.stack(&ids.unwrap_or_default()))
}

/// Equal lengths are a stack with two axes made one; others are joined two by two, in a balanced
/// tree, by reading each array where it stands in the whole.
pub(crate) fn concatenated<'c>(c: &'c Context, arrays: &[Term<'c>], axis: i64) -> Term<'c> {
    let Some(&first) = arrays.first() else {
        let hint = "the shape of the result is that of the arrays; `zeros` makes an empty one";
        return c.wrong("no arrays to put together", hint);
    };
    let axis = axis_of(c, axis, first.rank());
    if c.failed() {
        return first.nothing();
    }
    let others = |x: Term<'c>| -> Vec<usize> {
        let dims = x.dims().into_iter().enumerate();
        dims.filter(|(k, _)| *k != axis).map(|(_, size)| size).collect()
    };
    for &x in arrays {
        if x.rank() != first.rank() || others(x) != others(first) {
            if x.rank() == first.rank() {
                c.note(Fact::UnlessEqual(others(x).into_iter().zip(others(first)).collect()));
            }
            let message = format!(
                "arrays that do not fit along axis {axis}: {} and {}",
                first.shown(),
                x.shown()
            );
            return c.wrong(message, "all other sizes must be equal");
        }
    }
    let length = |x: Term<'c>| x.dims().get(axis).copied().unwrap_or(0);
    c.note(Fact::Sum(arrays.iter().map(|&x| length(x)).collect()));
    if arrays.len() > 1 && arrays.iter().all(|&x| length(x) == length(first)) {
        let mut dims = first.dims();
        dims[axis] = dims[axis].saturating_mul(arrays.len());
        return stacked(c, arrays).restored(axis).reshape(&dims);
    }
    let mut parts = arrays.to_vec();
    while parts.len() > 1 {
        let joined = |pair: &[Term<'c>]| match *pair {
            [a, b] => joined_two(a, b, axis),
            [a, ..] => a,
            [] => first.nothing(),
        };
        parts = parts.chunks(2).map(joined).collect();
    }
    parts[0]
}

fn joined_two<'c>(a: Term<'c>, b: Term<'c>, axis: usize) -> Term<'c> {
    let length = |x: Term<'c>| x.dims().get(axis).copied().unwrap_or(0);
    let border = length(a);
    let total = border.saturating_add(length(b));
    let left = a.along(axis, total, |i| i);
    let right = b.along(axis, total, |i| i.affine(1, -(border as i64)));
    let is_left = a.context().iota(total).lt(border);
    is_left.column(a.rank().saturating_sub(axis + 1)).choose(left, right)
}

fn parts_of<'c>(x: Term<'c>, sections: &[usize], axis: i64) -> Vec<Term<'c>> {
    let (c, dims) = (x.context(), x.dims());
    let axis = axis_of(c, axis, dims.len());
    let k = dims.get(axis).copied().unwrap_or(0);
    let sizes = match *sections {
        [parts] if parts > 0 && k.is_multiple_of(parts) => vec![k / parts; parts],
        [parts] => {
            let message = format!(
                "along axis {axis} of {}: a size of {k} is not {parts} equal parts",
                x.shown()
            );
            c.wrong(message, "give the sizes of the parts: `[2, 3]`");
            return Vec::new();
        }
        _ => sections.to_vec(),
    };
    let total: usize = sizes.iter().fold(0, |sum, &part| sum.saturating_add(part));
    if total != k {
        c.note(Fact::Sum(sizes.clone()));
        c.note(Fact::UnlessEqual(vec![(total, k)]));
        let message = format!(
            "along axis {axis} of {}: parts of sizes {sizes:?} are {total} together, not {k}",
            x.shown()
        );
        c.wrong(message, "");
        return Vec::new();
    }
    let mut begin = 0;
    let mut part = |size: usize| {
        let start = begin as i64;
        begin += size;
        x.along(axis, size, |i| i.affine(1, start))
    };
    sizes.into_iter().map(&mut part).collect()
}

fn grids<'c>(c: &'c Context, vectors: &[Term<'c>]) -> Vec<Term<'c>> {
    if let Some(v) = vectors.iter().find(|v| v.rank() != 1) {
        c.wrong(format!("vectors are needed, not {}", v.shown()), "");
        return Vec::new();
    }
    let dims: Vec<usize> = vectors.iter().map(|v| v.len()).collect();
    let last = dims.len().saturating_sub(1);
    let grid = |(axis, v): (usize, &Term<'c>)| v.column(last - axis).fit("a vector", &dims);
    vectors.iter().enumerate().map(grid).collect()
}

// ---- padding ----------------------------------------------------------------------------------

/// A pair for each axis: one number or one pair is for all.
fn widths_of(x: Term<'_>, widths: &[usize]) -> Vec<(usize, usize)> {
    let rank = x.rank();
    match *widths {
        [one] => vec![(one, one); rank],
        [before, after] if rank != 1 => vec![(before, after); rank],
        _ if widths.len() == 2 * rank => widths.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
        _ => {
            let message = format!("widths for {} axes, of {}", widths.len() / 2, x.shown());
            let hint = "give a pair (before, after) for each axis, or one for all";
            x.context().wrong(message, hint);
            vec![(0, 0); rank]
        }
    }
}

/// Read at positions beyond the array, as far as the widths reach.
fn continued<'c>(
    x: Term<'c>,
    widths: &[(usize, usize)],
    position: impl Fn(Term<'c>, usize) -> Term<'c>,
) -> Term<'c> {
    let Some(last) = widths.iter().rposition(|&width| width != (0, 0)) else { return x };
    let dims = x.dims();
    let padded = |(&k, &(before, after)): (&usize, &(usize, usize))| {
        x.context().note(Fact::Sum(vec![before, k, after]));
        k.saturating_add(before).saturating_add(after)
    };
    let sizes: Vec<usize> = dims.iter().zip(widths).take(last + 1).map(padded).collect();
    x.gather(&sizes, |is| {
        let axes = is.iter().zip(&dims).zip(widths);
        axes.map(|((&i, &k), &(before, after))| match (before, after) {
            (0, 0) => i,
            (before, _) => position(i.affine(1, -(before as i64)), k),
        })
        .collect()
    })
}

fn padded<'c>(x: Term<'c>, widths: &[usize], mode: &str) -> Term<'c> {
    let c = x.context();
    let widths = widths_of(x, widths);
    let position = |i: Term<'c>, k: usize| {
        let last = k as i64 - 1;
        match mode {
            "edge" => i.maximum(0i64).minimum(last),
            "reflect" => c.int(last) - (i % (2 * last) - last).abs(),
            "symmetric" => {
                let folded = i % (2 * k);
                folded.minimum(c.int(2 * last + 1) - folded)
            }
            "wrap" => i % k,
            // Reads outside of the array are 0.
            _ => i,
        }
    };
    match mode {
        "zeros" => {}
        "edge" | "reflect" | "symmetric" | "wrap" => {
            let dims = x.dims();
            let empty = dims.iter().zip(&widths).position(|(&k, &w)| k == 0 && w != (0, 0));
            if let Some(axis) = empty {
                let message = format!("axis {axis} of {} has no elements to copy", x.shown());
                return c.wrong(message, "`pad` and `pad_with` put values there");
            }
        }
        _ => {
            let hint = "modes are zeros, edge, reflect, symmetric and wrap";
            return c.wrong(format!("there is no mode `{mode}`"), hint);
        }
    }
    continued(x, &widths, position)
}

fn padded_with<'c>(x: Term<'c>, widths: &[usize], value: Term<'c>) -> Term<'c> {
    let c = x.context();
    if value.rank() != 0 {
        return c.wrong(format!("the value is {}, and must have no axes", value.shown()), "");
    }
    let widths = widths_of(x, widths);
    let (dims, zeros) = (x.dims(), continued(x, &widths, |i, _| i));
    let all = zeros.dims();
    let along = |axis: usize| {
        let (before, after) = widths[axis];
        ((before, after) != (0, 0)).then(|| {
            let i = c.iota(all[axis]);
            (i.ge(before) & i.lt(before.saturating_add(dims[axis]))).column(all.len() - axis - 1)
        })
    };
    match (0..all.len()).filter_map(along).reduce(|a, b| a & b) {
        Some(inside) => inside.choose(zeros, value),
        None => zeros,
    }
}

/// Windows along an axis; the axis within a window comes last.
fn windows<'c>(x: Term<'c>, size: usize, stride: usize, axis: i64) -> Term<'c> {
    let (c, dims) = (x.context(), x.dims());
    let axis = axis_of(c, axis, dims.len());
    let k = dims.get(axis).copied().unwrap_or(0);
    let Some(steps) = k.saturating_sub(size).checked_div(stride) else {
        let hint = "windows that do not overlap have a stride equal to their size";
        return c.wrong("a stride of 0", hint);
    };
    let count = if size > k { 0 } else { steps + 1 };
    let sizes = [dims.get(..axis).unwrap_or_default(), &[count, size]].concat();
    let windows = x.gather(&sizes, |is| match is {
        [before @ .., window, i] => [before, &[window.affine(stride as i64, 0) + *i]].concat(),
        _ => Vec::new(),
    });
    let within = axis + 1;
    let order: Vec<usize> = (0..=dims.len()).filter(|&a| a != within).chain([within]).collect();
    windows.permute(&order)
}

functions! { Arranging TABLE:
    /// `x` with more elements before and after each axis: zeros, or by `mode` copies of the `edge`, the
    /// array mirrored without its edge (`reflect`) or with it (`symmetric`), or elements from the other
    /// end (`wrap`). One width or pair of widths applies to all axes; otherwise give a pair for each
    /// axis.
    pad(x: Any, widths: Widths, mode: Word = "zeros") "pad([1, 2, 3], [1, 2], mode = edge)"
        = |c| padded(x, &widths, &mode);
    /// `pad` with copies of a value.
    pad_with(x: Any, widths: Widths, value: Any) "pad_with([1, 2, 3], 1, 9)"
        = |c| padded_with(x, &widths, value);
    /// The windows of `size` elements along an axis, `stride` apart. The axis counts the windows; the
    /// elements of each lie along a new last axis.
    sliding_window(x: Any, size: Size, stride: Size = "1", axis: Axis = "0")
        "sliding_window([1, 2, 3], 2)"
        = |c| windows(x, size, stride, axis);
    /// All elements as a vector, in row-major order.
    flatten["ravel"](x: Any) "flatten([[1, 2], [3, 4]])" = |c| {
        c.note(Fact::Product(x.dims()));
        x.reshape(&[x.size()])
    };
    /// `x` repeated to a larger shape, by the rules of broadcasting.
    broadcast["broadcast_to"](x: Any, sizes: Sizes) "broadcast([1.0, 2.0], [2, 2])"
        = |c| x.fit("the array", &sizes);
    /// Copies of `x` side by side: `counts` gives their number along each axis; a single number applies
    /// to the last axis.
    tile(x: Any, counts: Sizes) "tile([1, 2], 2)" = |c| tiled(x, &counts);
    /// Each element repeated `k` times along an axis.
    repeat(x: Any, k: Size, axis: Axis = "0") "repeat([1, 2], 2)" = |c| repeated(x, k, axis);
    /// The elements in reverse order along one or several axes.
    reverse["flip"](x: Any, axis: Axes = "0") "reverse([1, 2, 3])"
        = |c| flipped(x, axis.as_deref());
    /// The elements shifted by `shift` places along an axis; those that leave at one end come in at the
    /// other.
    roll(x: Any, shift: Int, axis: Axis = "0") "roll([1, 2, 3], 1)" = |c| {
        let axis = axis_of(c, axis, x.rank());
        let k = x.dims().get(axis).copied().unwrap_or(1);
        match shift.rank() {
            0 => x.along(axis, k, |i| (i - shift) % k),
            _ => c.wrong(format!("the shift is {}, and must have no axes", shift.shown()), ""),
        }
    };
    /// `x` rotated by quarter turns in the plane of the first two axes, from axis 0 towards axis 1.
    rot90(x: Any, quarters: Whole = "1") "rot90([[1, 2], [3, 4]])"
        = |c| match quarters.rem_euclid(4) {
            _ if !at_least(x, 2) => x.nothing(),
            1 => flipped(swapped(x, 0, 1), Some(&[0])),
            2 => flipped(x, Some(&[0, 1])),
            3 => swapped(flipped(x, Some(&[0])), 0, 1),
            _ => x,
        };
    /// `x` with its axes in another order: axis `n` of the result is axis `axes[n]` of `x`. Without
    /// `axes` they are reversed.
    permute["permute_dims"](x: Any, axes: Axes = "reversed") "permute([[1, 2], [3, 4]], [1, 0])"
        = |c| permuted(x, axes.as_deref());
    /// `x` with two axes exchanged.
    swap_axes["swapaxes"](x: Any, a: Axis, b: Axis) "swap_axes([[1, 2], [3, 4]], 0, 1)"
        = |c| swapped(x, a, b);
    /// `x` with axes moved to other positions; the remaining axes keep their order.
    move_axis["moveaxis"](x: Any, from: Axes, to: Axes) "move_axis([[1, 2], [3, 4]], 0, 1)"
        = |c| moved(x, &from.unwrap_or_default(), &to.unwrap_or_default());
    /// `x` with new axes of size 1 at these positions of the result.
    expand_dims["unsqueeze"](x: Any, axis: Axes) "expand_dims([1, 2], 0)"
        = |c| expanded(x, &axis.unwrap_or_default());
    /// `x` without these axes, which must have size 1; by default without all axes of size 1.
    squeeze(x: Any, axis: Axes = "all of size 1") "squeeze([[1, 2]])"
        = |c| squeezed(x, axis.as_deref());
    /// The `k`-th diagonal of the matrices on the last two axes; a positive `k` is above the main
    /// diagonal.
    diagonal(x: Any, k: Whole = "0") "diagonal([[1, 2], [3, 4]])" = |c| diagonal_of(x, k);
    /// The matrix with a vector on its `k`-th diagonal; of a matrix, its `k`-th diagonal.
    diag(x: Number, k: Whole = "0") "diag([1, 2])" = |c| diag_of(x, k);
    /// The lower triangle of the matrices on the last two axes, up to the `k`-th diagonal, with zeros
    /// above.
    tril(x: Any, k: Whole = "0") "tril([[1, 2], [3, 4]])" = |c| triangle(x, |d| d.le(k));
    /// The upper triangle of the matrices on the last two axes, from the `k`-th diagonal on, with zeros
    /// below.
    triu(x: Any, k: Whole = "0") "triu([[1, 2], [3, 4]])" = |c| triangle(x, |d| d.ge(k));
    /// Arrays joined along an axis.
    concat["concatenate"](x: Anys, axis: Axis = "0") "concat([1, 2], [3])"
        = |c| concatenated(c, &x, axis);
    /// A tuple of parts along an axis: a number of equal parts, or parts of the given sizes.
    split(x: Any, sections: Sizes, axis: Axis = "0") "split([1, 2, 3], [1, 2])"
        = |c| parts_of(x, &sections, axis);
    /// The coordinates of all points of a grid: for each vector, an array of the grid's shape in which
    /// the vector's elements vary along an axis of its own.
    meshgrid(x: Anys) "meshgrid([1, 2], [3, 4])" = |c| grids(c, &x);
    /// `value` where the mask holds, `x` elsewhere.
    masked_fill(x: Any, mask: Bool, value: Any) "masked_fill([1.0, 2.0], [true, false], 0.0)"
        = |c| match value.rank() {
            0 => mask.fit("the mask", &x.dims()).choose(value, x),
            _ => c.wrong(format!("the value is {}, and must have no axes", value.shown()), ""),
        };
}

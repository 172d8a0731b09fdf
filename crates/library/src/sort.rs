//! Sorting along an axis, and searching in what is sorted.

use cotan_array::{Array, Dtype, Shape};

use crate::axes::axis_of;
use crate::context::{Context, Fact};
use crate::cumulative::along_axis;
use crate::function::functions;
use crate::term::Term;

/// Keys that are in ascending order where `x` is in descending order; NaN stays NaN.
fn falling(x: Term<'_>) -> Term<'_> {
    match x.dtype() {
        Dtype::F64 | Dtype::F32 => -x,
        // Unlike `-x`, never beyond what an integer holds.
        Dtype::I64 => x.number(-1.0) - x,
        Dtype::Bool => !x,
    }
}

/// The permutation that sorts along the outermost axis.
fn order(x: Term<'_>, descending: bool) -> Term<'_> {
    if descending { falling(x).arg_sort() } else { x.arg_sort() }
}

/// The `k` largest along an axis, and their positions.
fn top<'c>(x: Term<'c>, k: usize, axis: i64) -> Vec<Term<'c>> {
    let c = x.context();
    let at = axis_of(c, axis, x.rank());
    let length = x.dims().get(at).copied().unwrap_or(0);
    if k > length {
        let message = format!("{k} elements of {} along axis {axis}", x.shown());
        c.wrong(message, format!("there are {length}"));
    }
    let front = x.fronted(at);
    let positions = order(front, true).along(0, k, |i| i);
    vec![front.pick(positions).restored(at), positions.restored(at)]
}

fn by_key<'c>(x: Term<'c>, keys: Term<'c>, axis: i64) -> Term<'c> {
    let c = x.context();
    let (dims, own) = (x.dims(), keys.dims());
    if dims != own {
        if dims.len() == own.len() {
            c.note(Fact::UnlessEqual(dims.iter().copied().zip(own).collect()));
        }
        c.note(Fact::Blame(vec![0, 1]));
        let message = format!("{} by keys {}", x.shown(), keys.shown());
        return c.wrong(message, "every element needs a key: the shapes must be equal");
    }
    let axis = axis_of(c, axis, x.rank());
    x.fronted(axis).pick(keys.fronted(axis).arg_sort()).restored(axis)
}

/// Whether `a` comes before `b` in ascending order, NaNs last.
fn precedes<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    if a.dtype().is_float() { a.lt(b) | (a.eq(a) & b.ne(b)) } else { a.lt(b) }
}

/// Bit after bit of the number of elements that come before, from the highest.
fn search<'c>(c: &'c Context, sorted: Term<'c>, values: Term<'c>, right: bool) -> Term<'c> {
    if sorted.rank() != 1 {
        c.note(Fact::Blame(vec![0]));
        let message = format!("what is sorted has one axis, not {}", sorted.shown());
        return c.wrong(message, "search the lines of an array in a `build`");
    }
    let n = sorted.len();
    let start = c.full(&values.dims(), 0.0, Dtype::I64);
    let Some(highest) = n.checked_ilog2() else { return start };
    let bits: Vec<i64> = (0..=highest).rev().map(|bit| 1i64 << bit).collect();
    let Ok(shape) = Shape::new("searchsorted", &[bits.len()]) else { return start };
    let Ok(bits) = Array::from_vec(shape, bits) else { return start };
    let made = Term::run_loop(false, &[start], &[c.constant(&bits)], |found, bit| {
        let more = found[0] + bit[0];
        let x = sorted.gather(&values.dims(), |is| vec![(more - 1i64).at(is)]);
        let before = if right { !precedes(values, x) } else { precedes(x, values) };
        vec![(more.le(n) & before).choose(more, found[0])]
    });
    made[0]
}

functions! { Sorting TABLE:
    /// The elements sorted along an axis, NaNs last. Derivatives go to the elements in their original
    /// places.
    sort(x: Any, axis: Axis = "-1", descending: Flag = "false") "sort([3.0, 5.0, 4.0])"
        = |c| along_axis(x, axis, |x| x.pick(order(x, descending)));
    /// The positions that sort the elements along an axis, NaNs last; equal elements keep their order.
    argsort(x: Any, axis: Axis = "-1", descending: Flag = "false") "argsort([3.0, 5.0, 4.0])"
        = |c| along_axis(x, axis, |x| order(x, descending));
    /// The `k` largest elements along an axis in descending order, and their positions. Among equal
    /// elements the first count; NaNs count as the smallest.
    top_k(x: Any, k: Size, axis: Axis = "-1") "top_k([3.0, 5.0, 4.0], 2)" = |c| top(x, k, axis);
    /// The elements of `x` in the order that sorts `keys`, an array of the same shape, along an axis.
    /// Elements with equal keys keep their order; NaNs come last.
    sort_by_key(x: Any, keys: Key, axis: Axis = "-1") "sort_by_key([0.1, 0.2, 0.3], [2, 3, 1])"
        = |c| by_key(x, keys, axis);
    /// The position at which each value can be inserted into a sorted vector: before equal elements, or
    /// with `right` after them. NaNs come last.
    searchsorted(sorted: Any, values: Any, right: Flag = "false")
        "searchsorted([1.0, 2.0, 2.0, 3.0], [2.0, 5.0])"
        = |c| search(c, sorted, values, right);
}

//! Arrays made of numbers, and reads at many positions.

use cotan_ir::OutOfRange;

use crate::arrange::differences;
use crate::axes::axis_of;
use crate::context::{Context, Fact};
use crate::function::functions;
use crate::term::Term;

/// How many numbers there are from `start`, `step` apart, before `stop`.
fn steps(c: &Context, start: f64, stop: f64, step: f64) -> usize {
    let count = (stop - start) / step;
    if count.is_nan() || step == 0.0 {
        let message = format!("no number of steps of {step:?} leads from {start:?} to {stop:?}");
        c.wrong(message, "a step is a number other than 0");
        return 0;
    }
    count.ceil() as usize
}

fn spaced<'c>(c: &'c Context, start: Term<'c>, stop: Term<'c>, n: usize) -> Term<'c> {
    let intervals = n.saturating_sub(1).max(1) as f64;
    let part = c.iota(n).cast(start.dtype()) / intervals;
    let part = part.column(start.rank().max(stop.rank()));
    start * (start.number(1.0) - part) + stop * part
}

fn taken<'c>(x: Term<'c>, positions: Term<'c>, axis: i64) -> Term<'c> {
    let (c, dims) = (x.context(), x.dims());
    let axis = axis_of(c, axis, dims.len());
    let k = dims.get(axis).copied().unwrap_or(0);
    let known = positions.id().and_then(|t| c.read(|b| b.constant_index(t)));
    if let Some(fault) = known.and_then(|i| OutOfRange::of(i, k)).filter(|_| k > 0) {
        let message = format!("the index {} is outside axis {axis} of {}", fault.index, x.shown());
        let hint = format!("positions along it are 0 to {}", k - 1);
        return c.wrong(message, hint);
    }
    let sizes = [dims.get(..axis).unwrap_or_default(), &positions.dims()].concat();
    x.gather(&sizes, |is| {
        let (before, at) = is.split_at(axis.min(is.len()));
        [before, &[positions.at(at)]].concat()
    })
}

fn taken_along<'c>(x: Term<'c>, positions: Term<'c>, axis: i64) -> Term<'c> {
    let (c, dims, given) = (x.context(), x.dims(), positions.dims());
    let axis = axis_of(c, axis, dims.len());
    // The shape of the result, and that of the array stretched to it off the axis.
    let (mut result, mut whole) = (given.clone(), dims.clone());
    let fits = dims.len() == given.len()
        && (0..dims.len()).filter(|&a| a != axis).all(|a| match (dims[a], given[a]) {
            (k, j) if k == j => true,
            (1, size) | (size, 1) => {
                (result[a], whole[a]) = (size, size);
                true
            }
            _ => false,
        });
    if !fits {
        c.note(Fact::Blame(vec![0, 1]));
        let message = format!("positions {} along axis {axis} of {}", positions.shown(), x.shown());
        let hint = "both have as many axes; except along the axis, their sizes are equal or 1";
        return c.wrong(message, hint);
    }
    let positions = positions.fit("an index array", &result);
    x.fit("the array", &whole).gather(&result, |is| {
        let mut ix = is.to_vec();
        if let Some(i) = ix.get_mut(axis) {
            *i = positions.at(is);
        }
        ix
    })
}

functions! { Making TABLE:
    /// Zeros (`false` for bool).
    zeros(sizes: Sizes, dtype: Dtype = "f64") "zeros([2, 3])" = |c| c.full(&sizes, 0.0, dtype);
    /// Ones (`true` for bool).
    ones(sizes: Sizes, dtype: Dtype = "f64") "ones([3], i64)" = |c| c.full(&sizes, 1.0, dtype);
    /// The identity matrix; with two sizes, a matrix with ones on the main diagonal and zeros
    /// elsewhere.
    eye(sizes: Sizes, dtype: Dtype = "f64") "eye(2)"
        = |c| match sizes[..] {
            [n] => differences(c, n, n).eq(0i64).cast(dtype),
            [n, m] => differences(c, n, m).eq(0i64).cast(dtype),
            _ => c.wrong(format!("one or two sizes are needed, not {sizes:?}"), ""),
        };
    /// A matrix with ones in the lower triangle, up to the `k`-th diagonal, and zeros above.
    tri(rows: Size, columns: Size, k: Whole = "0", dtype: Dtype = "f64") "tri(2, 2)"
        = |c| differences(c, rows, columns).le(k).cast(dtype);
    /// Zeros with the shape and element type of `x`.
    zeros_like(x: Any) "zeros_like([1.0, 2.0])" = |c| c.full(&x.dims(), 0.0, x.dtype());
    /// Ones with the shape and element type of `x`.
    ones_like(x: Any) "ones_like([1.0, 2.0])" = |c| c.full(&x.dims(), 1.0, x.dtype());
    /// An array of the shape of `x` with `value` everywhere.
    full_like(x: Any, value: Any) "full_like([1.0, 2.0], 3.0)"
        = |c| match value.rank() {
            0 => value.replicate_all(&x.dims()),
            _ => c.wrong(format!("the value is {}, and must have no axes", value.shown()), ""),
        };
    /// The numbers `start`, `start + step`, and so on, up to but not including `stop`.
    arange(start: Real, stop: Real, step: Real = "1", dtype: Dtype = "f64") "arange(1.0, 2.0, 0.5)"
        = |c| {
            let n = steps(c, start, stop, step);
            c.iota(n).cast(dtype) * step + start
        };
    /// `n` evenly spaced numbers from `start` to `stop`, both included.
    linspace(start: Float, stop: Float, n: Size) "linspace(0.0, 1.0, 3)"
        = |c| spaced(c, start, stop, n);
    /// The parts of `x` at the positions `ix` along an axis; the axes of `ix` replace that axis. 0
    /// where a position is out of range.
    take(x: Any, ix: Int, axis: Axis = "0") "take([10, 20, 30], [2, 0])" = |c| taken(x, ix, axis);
    /// The elements of `x` at the positions `ix` along the axis, for each place along the other axes
    /// separately; 0 out of range. `x` and `ix` have the same number of axes and are broadcast along
    /// the others.
    take_along["take_along_axis"](x: Any, ix: Int, axis: Axis = "-1")
        "take_along([[1, 2], [3, 4]], [[1], [0]])"
        = |c| taken_along(x, ix, axis);
}

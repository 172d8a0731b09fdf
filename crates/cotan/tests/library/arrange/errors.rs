//! What wrong calls are told.

use super::*;
use cotan::PadMode;

/// The error of a function of an array of shape `[2, 3]`, with its place left out.
#[track_caller]
fn told(f: impl Fn(Arr<f64>) -> Arr<f64>) -> String {
    let error = compile::<_, Unary>(f, [2, 3]).expect_err("an error");
    let place = error.location().expect("a place");
    assert_eq!(place.file(), file!(), "the place is the caller's");
    let text = format!("{}:{}:{}", place.file(), place.line(), place.column());
    error.to_string().replace(&text, "HERE")
}

macro_rules! tell {
    ($($f:expr => $text:literal;)*) => { $( assert_eq!(told($f), $text); )* };
}

#[test]
fn arranging() {
    tell! {
        |x| x.reshape([4]) =>
            "reshape: [2, 3]f64 has 6 elements, the shape [4] has 4\n  at HERE\n  \
             hint: a reshape keeps the number of elements";
        |x| x.reshape([usize::MAX, 4]) =>
            "reshape: [2, 3]f64 has 6 elements, the shape [18446744073709551615, 4] has \
             more than can be counted\n  at HERE\n  hint: a reshape keeps the number of elements";
        |x| x.permute([1, 2]) =>
            "permute: there is no axis 2 in 2 axes\n  at HERE\n  \
             hint: axes are 0 to 1, or -2 to -1 from the end";
        |x| x.permute([0, 0]) => "permute: axis 0 is named twice\n  at HERE";
        |x| x.permute([1]) =>
            "permute: an order of 1 axes for [2, 3]f64\n  at HERE\n  \
             hint: name every axis once; `move_axis` and `swap_axes` move single ones";
        |x| x.swap_axes(0, [0, 1]) => "swap_axes: one axis is needed, not 2\n  at HERE";
        |x| x.move_axis([0, 1], 0) => "move_axis: 2 axes for 1 places\n  at HERE";
        |x| x.expand_dims(3) =>
            "expand_dims: there is no axis 3 in 3 axes\n  at HERE\n  \
             hint: axes are 0 to 2, or -3 to -1 from the end";
        |x| x.squeeze(-1) =>
            "squeeze: axis 1 of [2, 3]f64 has size 3\n  at HERE\n  \
             hint: only axes of size 1 can be left out; an index picks a part";
        |x| x.broadcast_to([3, 2]) =>
            "broadcast_to: the array is [2, 3]f64 and does not fit [3, 2]\n  at HERE\n  \
             hint: from the last axis back, its sizes must be equal, 1 or missing";
        |x| x.roll(constant([1, 2]), 0) =>
            "roll: the shift is [2]i64, and must have no axes\n  at HERE";
        |x| x.at(0).rot90(1) => "rot90: at least 2 axes are needed, of [3]f64\n  at HERE";
    }
}

#[test]
fn joining() {
    tell! {
        |_| concat(&[], 0) =>
            "concat: no arrays to put together\n  at HERE\n  \
             hint: the shape of the result is that of the arrays; `zeros` makes an empty one";
        |x| concat(&[x, x.at(0)], 0) =>
            "concat: arrays that do not fit along axis 0: [2, 3]f64 and [3]f64\n  at HERE\n  \
             hint: all other sizes must be equal";
        |x| concat(&[x, x.transpose()], -1) =>
            "concat: arrays that do not fit along axis 1: [2, 3]f64 and [3, 2]f64\n  at HERE\n  \
             hint: all other sizes must be equal";
        |x| concat(&[x.sum()], 0) =>
            "concat: there is no axis 0 in 0 axes\n  at HERE\n  hint: a scalar has none";
        |x| stack(&[x, x.at(0)], 0) =>
            "stack: arrays of two shapes: [2, 3]f64 and [3]f64\n  at HERE\n  \
             hint: all shapes must be equal; `concat` joins arrays of different lengths";
        |x| x.split(2, 1)[1] =>
            "split: along axis 1 of [2, 3]f64: a size of 3 is not 2 equal parts\n  at HERE";
        |x| x.split([1, 1], 1)[1] =>
            "split: along axis 1 of [2, 3]f64: parts of sizes [1, 1] are 2 together, not 3\n  \
             at HERE";
        |x| meshgrid(&[x, x])[1] => "meshgrid: vectors are needed, not [2, 3]f64\n  at HERE";
    }
}

#[test]
fn slicing() {
    tell! {
        |x| x.slice(s![0, 0, 0]) => "slice: parts of 3 axes, of [2, 3]f64\n  at HERE";
        |x| x.slice(s![.., 3]) =>
            "slice: axis 1 of [2, 3]f64: there is no position 3\n  at HERE";
        |x| x.slice(s![..; 0]) => "slice: axis 0 of [2, 3]f64: a step of 0\n  at HERE";
        |x| x.slice(s![..., ...]) => "slice: `...` is given more than once\n  at HERE";
        |x| x.slice(s![iota(2)]) =>
            "slice: axis 0 of [2, 3]f64: a position is [2]i64, and must have no axes\n  at HERE";
        |x| x.slice_set(s![0], constant([1.0, 2.0])) =>
            "slice_set: the new value is [2]f64 and does not fit [3]\n  at HERE\n  \
             hint: from the last axis back, its sizes must be equal, 1 or missing";
        |x| x.dynamic_slice(0, [1, 1]) =>
            "dynamic_slice: a start of 1 components and 2 sizes, for [2, 3]f64\n  at HERE\n  \
             hint: both belong to the leading axes, one component and one size for each";
        |x| x.pad([(1, 1)]) =>
            "pad: widths for 1 axes, of [2, 3]f64\n  at HERE\n  \
             hint: give a pair (before, after) for each axis, or one for all";
        |x| x.slice(s![..0]).pad_mode(1, PadMode::Wrap) =>
            "pad_mode: axis 0 of [0, 3]f64 has no elements to copy\n  at HERE\n  \
             hint: `pad` and `pad_with` put values there";
        |x| x.sliding_window(2, 0, 1) =>
            "sliding_window: a stride of 0\n  at HERE\n  \
             hint: windows that do not overlap have a stride equal to their size";
        |x| x.masked_fill(constant([true, false]), 0.0) =>
            "masked_fill: the mask is [2]bool and does not fit [2, 3]\n  at HERE\n  \
             hint: from the last axis back, its sizes must be equal, 1 or missing";
    }
}

#[test]
fn indexing() {
    tell! {
        |x| x.gather((0, 0, 0)) => "gather: an index of 3 components into [2, 3]f64\n  at HERE";
        |x| x.gather((iota(2), iota(3))) =>
            "gather: index arrays that do not fit: [2]i64 and [3]i64\n  at HERE\n  \
             hint: shapes fit when, from the last axis back, sizes are equal, 1 or missing";
        |x| x.take_along(iota(3), 1) =>
            "take_along: positions [3]i64 along axis 1 of [2, 3]f64\n  at HERE\n  \
             hint: both have as many axes; except along the axis, their sizes are equal or 1";
        |x| scatter_add(4, (0, 0), x) =>
            "scatter_add: an index of 2 components into [4]\n  at HERE";
        |x| scatter_add([4, 2], 0, x) =>
            "scatter_add: what is written is [2, 3]f64 and does not fit [2]\n  at HERE\n  \
             hint: from the last axis back, its sizes must be equal, 1 or missing";
        |x| x.segment_max(iota(3), 2) =>
            "segment_max: ids [3]i64 for the parts of [2, 3]f64\n  at HERE\n  \
             hint: ids have one axis, as long as the outermost of the array";
        |x| x.searchsorted(x).cast() =>
            "searchsorted: what is sorted has one axis, not [2, 3]f64\n  at HERE\n  \
             hint: search the lines of an array in a `build`";
    }
}

#[test]
fn grids() {
    tell! {
        |_| eye([1, 2, 3]) => "eye: one or two sizes are needed, not [1, 2, 3]\n  at HERE";
        |x| x.expand_dims(0).diag(0) =>
            "diag: a vector or a matrix is needed, not [1, 2, 3]f64\n  at HERE\n  \
             hint: `diagonal` takes those of all matrices in the last two axes";
        |x| x.at(0).trace() => "trace: at least 2 axes are needed, of [3]f64\n  at HERE";
        |_| arange(0.0, 1.0, 0.0) =>
            "arange: no number of steps of 0.0 leads from 0.0 to 1.0\n  at HERE\n  \
             hint: a step is a number other than 0";
        |x| x.full_like(constant([1.0])) =>
            "full_like: the value is [1]f64, and must have no axes\n  at HERE";
    }
}

#[test]
fn absurd_sizes_are_refused() {
    let error = compile(|x: Arr<f64>| x.tile([usize::MAX, usize::MAX]), [2, 3]).unwrap_err();
    assert_eq!(error.op(), "tile", "{error}");
    let error = compile(|x: Arr<f64>| x.pad(usize::MAX), [2, 3]).unwrap_err();
    assert_eq!(error.op(), "pad", "{error}");
    let error = compile(|x: Arr<f64>| x + arange(0.0, f64::INFINITY, 1.0), ()).unwrap_err();
    assert_eq!(error.op(), "arange", "{error}");
}

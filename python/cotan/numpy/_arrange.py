"""Shapes, joining, indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Array, lib
from .._data import to_numpy
from .._errors import make
from .._operation import operation, row, shape_of, sizes_of
from ._inspect import shape

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "bincount",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "diag",
    "diagonal",
    "expand_dims",
    "flip",
    "hstack",
    "matrix_transpose",
    "moveaxis",
    "pad",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rot90",
    "segment_argmax",
    "segment_argmin",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_sum",
    "sliding_window_view",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "take_along_axis",
    "tile",
    "trace",
    "transpose",
    "tril",
    "triu",
    "unstack",
    "vstack",
]


@operation("a")
def reshape(a: Any, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in another shape; one size may be -1.

    >>> reshape(np.arange(6.0), (2, -1)).shape
    (2, 3)
    """
    x = _core.asarray(a)
    sizes = sizes_of(shape)
    if sizes.count(-1) == 1:
        rest = math.prod(k for k in sizes if k != -1)
        if rest == 0 or x.size % rest:
            message = f"{x.size} elements do not fill the shape {tuple(sizes)}"
            raise make("ArrayTypeError", "reshape", message, None)
        sizes[sizes.index(-1)] = x.size // rest
    if any(k < 0 for k in sizes):
        raise make("ArrayTypeError", "reshape", f"the shape {tuple(sizes)}", "one size may be -1")
    return lib.reshape(x, sizes)


@operation("a")
def ravel(a: Any) -> Any:
    """The elements as a vector.

    >>> ravel(np.array([[1, 2], [3, 4]]))
    array([1, 2, 3, 4])
    """
    return reshape(a, (-1,)) if _core.asarray(a).size else lib.reshape(a, [0])


@operation("a")
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order; reversed by default.

    >>> transpose(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    x = _core.asarray(a)
    order = list(range(x.ndim))[::-1] if axes is None else sizes_of(axes)
    return lib.transpose(x, order)


permute_dims = transpose


@operation("x")
def matrix_transpose(x: Any) -> Any:
    """With the last two axes swapped.

    >>> matrix_transpose(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    return swapaxes(x, -1, -2)


@operation("a")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """With two axes swapped.

    >>> swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = _core.asarray(a)
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return lib.transpose(x, order)


@operation("a")
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """With axes moved to other places.

    >>> moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = _core.asarray(a)
    sources = [k % x.ndim for k in sizes_of(source)]
    targets = [k % x.ndim for k in sizes_of(destination)]
    order = [k for k in range(x.ndim) if k not in sources]
    for target, from_axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, from_axis)
    return lib.transpose(x, order)


@operation("a")
def expand_dims(a: Any, axis: Any) -> Any:
    """With new axes of size 1.

    >>> expand_dims(np.zeros((2, 3)), 1).shape
    (2, 1, 3)
    """
    return lib.expand_dims(a, sizes_of(axis))


@operation("a")
def squeeze(a: Any, axis: Any = None) -> Any:
    """Without axes of size 1.

    >>> squeeze(np.zeros((2, 1, 3))).shape
    (2, 3)
    """
    x = _core.asarray(a)
    if axis is None:
        return lib.reshape(x, [k for k in x.shape if k != 1])
    return lib.squeeze(x, sizes_of(axis))


@operation("a")
def broadcast_to(a: Any, shape: Any) -> Any:
    """At every position of a larger shape.

    >>> broadcast_to(np.array([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]])
    """
    return lib.broadcast_to(a, shape_of(shape))


@operation("arrays")
def broadcast_arrays(*arrays: Any) -> Any:
    """The arrays in the shape that they have in common.

    >>> [x.shape for x in broadcast_arrays(np.zeros(3), np.zeros((2, 1)))]
    [(2, 3), (2, 3)]
    """
    xs = [_core.asarray(x) for x in arrays]
    shape = list(np.broadcast_shapes(*(x.shape for x in xs)))
    return [lib.broadcast_to(x, shape) for x in xs]


@operation("a")
def tile(a: Any, reps: Any) -> Any:
    """Repeated along axes.

    >>> tile(np.array([1, 2]), 2)
    array([1, 2, 1, 2])
    """
    x = _core.asarray(a)
    counts = shape_of(reps)
    if len(counts) > x.ndim:
        x = lib.reshape(x, [1] * (len(counts) - x.ndim) + list(x.shape))
    return lib.tile(x, [1] * (x.ndim - len(counts)) + counts)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element so many times; the numbers are known.

    >>> repeat(np.array([1.0, 2.0]), 2)
    array([1., 1., 2., 2.])
    >>> repeat(np.array([1.0, 2.0]), [0, 3])
    array([2., 2., 2.])
    """
    return _repeated(a, tuple(shape_of(repeats)), axis)


@operation("a")
def _repeated(a: Any, counts: tuple[int, ...], axis: int | None) -> Any:
    x, along = (ravel(a), 0) if axis is None else (_core.asarray(a), axis)
    if len(counts) == 1:
        return lib.repeat(x, counts[0], along)
    return lib.take(x, np.repeat(np.arange(x.shape[along]), counts), along)


@operation("a")
def flip(a: Any, axis: Any = None) -> Any:
    """In reversed order along axes.

    >>> flip(np.array([1, 2, 3]))
    array([3, 2, 1])
    """
    x = _core.asarray(a)
    return lib.flip(x, list(range(x.ndim)) if axis is None else sizes_of(axis))


@operation("a")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Moved along axes; what falls out comes back at the other end.

    >>> roll(np.array([1.0, 2.0, 3.0]), 1)
    array([3., 1., 2.])
    """
    x = _core.asarray(a)
    if axis is None:
        return lib.reshape(lib.roll(ravel(x), sum(sizes_of(shift)), 0), list(x.shape))
    axes = sizes_of(axis)
    shifts = sizes_of(shift) * (len(axes) if isinstance(shift, int) else 1)
    for by, k in zip(shifts, axes, strict=True):
        x = lib.roll(x, by, k)
    return x


@operation("m")
def rot90(m: Any, k: int = 1) -> Any:
    """Turned by quarters, in the plane of the first two axes.

    >>> rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    x = _core.asarray(m)
    for _ in range(k % 4):
        x = lib.flip(swapaxes(x, 0, 1), [0])
    return x


@operation("arrays")
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis.

    >>> concatenate([np.array([1.0]), np.array([2.0, 3.0])])
    array([1., 2., 3.])
    """
    if axis is None:
        return lib.concatenate([ravel(x) for x in arrays], 0)
    return lib.concatenate(list(arrays), axis)


concat = concatenate


@operation("arrays")
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape along a new axis.

    >>> stack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    return lib.stack(list(arrays), axis)


@operation("arrays")
def hstack(arrays: Sequence[Any]) -> Any:
    """Side by side: along the second axis, of vectors along the only one.

    >>> hstack([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    xs = [atleast_1d(x) for x in arrays]
    return lib.concatenate(xs, 0 if xs[0].ndim == 1 else 1)


@operation("arrays")
def vstack(arrays: Sequence[Any]) -> Any:
    """One above the other: vectors are rows.

    >>> vstack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    return lib.concatenate([atleast_2d(x) for x in arrays], 0)


@operation("arrays")
def column_stack(arrays: Sequence[Any]) -> Any:
    """Vectors as columns.

    >>> column_stack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 3],
           [2, 4]])
    """
    xs = [_core.asarray(x) for x in arrays]
    return lib.concatenate([x[:, None] if x.ndim == 1 else x for x in xs], 1)


@operation("x")
def atleast_1d(x: Any) -> Any:
    """With an axis if it has none.

    >>> atleast_1d(3.0)
    array([3.])
    """
    x = _core.asarray(x)
    return x[None] if x.ndim == 0 else x


@operation("x")
def atleast_2d(x: Any) -> Any:
    """With two axes if it has fewer.

    >>> atleast_2d(np.array([1, 2]))
    array([[1, 2]])
    """
    x = _core.asarray(x)
    return {0: lambda: x[None, None], 1: lambda: x[None]}.get(x.ndim, lambda: x)()


@operation("a")
def split(a: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """In parts of equal size, or at positions.

    >>> split(np.arange(4.0), 2)
    [array([0., 1.]), array([2., 3.])]
    """
    x = _core.asarray(a)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if size % indices_or_sections:
            message = f"an axis of size {size} in {indices_or_sections} equal parts"
            raise make("ArrayTypeError", "split", message, "give positions to split at")
        step = size // indices_or_sections
        ends = list(range(step, size, step)) if step else [0] * (indices_or_sections - 1)
    else:
        ends = sizes_of(indices_or_sections)
    before = (slice(None),) * (axis % x.ndim)
    bounds = [0, *ends, size]
    return [x[(*before, slice(a, b))] for a, b in zip(bounds, bounds[1:], strict=False)]


@operation("x")
def unstack(x: Any, axis: int = 0) -> Any:
    """The parts along an axis, a tuple.

    >>> unstack(np.array([[1, 2], [3, 4]]))
    (array([1, 2]), array([3, 4]))
    """
    x = moveaxis(x, axis, 0)
    return tuple(x[k] for k in range(x.shape[0]))


@operation("a")
def diagonal(a: Any, offset: int = 0) -> Any:
    """The diagonal of the last two axes.

    >>> diagonal(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return lib.diagonal(a, offset)


@operation("v")
def diag(v: Any, k: int = 0) -> Any:
    """The matrix with this diagonal, or the diagonal of a matrix.

    >>> diag(np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    x = _core.asarray(v)
    return lib.diag(x, k) if x.ndim == 1 else lib.diagonal(x, k)


@operation("m")
def tril(m: Any, k: int = 0) -> Any:
    """With zeros above a diagonal.

    >>> tril(np.array([[1, 2], [3, 4]]))
    array([[1, 0],
           [3, 4]])
    """
    return lib.tril(m, k)


@operation("m")
def triu(m: Any, k: int = 0) -> Any:
    """With zeros below a diagonal.

    >>> triu(np.array([[1, 2], [3, 4]]))
    array([[1, 2],
           [0, 4]])
    """
    return lib.triu(m, k)


@operation("a")
def trace(a: Any, offset: int = 0, *, dtype: Any = None) -> Any:
    """The sum of a diagonal of the last two axes.

    >>> trace(np.array([[1, 2], [3, 4]]))
    array(5)
    """
    x = _core.asarray(a)
    parts = lib.diagonal(x if dtype is None else x.astype(dtype), offset)
    return lib.sum(parts, [-1], False)


@operation("array", "constant_values")
def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """With elements added around: a constant, or by ``mode`` ``edge``, ``reflect``, ``wrap``.

    >>> pad(np.array([1.0, 2.0]), (1, 2))
    array([0., 1., 2., 0., 0.])
    """
    x = _core.asarray(array)
    if isinstance(pad_width, int):
        widths = [(pad_width, pad_width)] * x.ndim
    elif all(isinstance(w, int) for w in pad_width):
        widths = [(pad_width[0], pad_width[-1])] * x.ndim
    else:
        widths = [(int(w[0]), int(w[-1])) for w in pad_width] * (
            x.ndim if len(pad_width) == 1 else 1
        )
    if mode == "constant":
        return lib.pad_with(x, _core.asarray(constant_values).cast_to(x.dtype_name), widths)
    modes = {"edge": lib.pad_edge, "reflect": lib.pad_reflect, "wrap": lib.pad_wrap}
    if mode not in modes:
        message = f"there is no mode {mode!r}"
        raise make("ArrayTypeError", "pad", message, "write constant, edge, reflect or wrap")
    return modes[mode](x, widths)


@operation("x")
def sliding_window_view(x: Any, window: int, axis: int = -1, stride: int = 1) -> Any:
    """The windows of so many elements along an axis.

    >>> sliding_window_view(np.arange(4), 2)
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    return lib.sliding_window(x, window, stride, axis)


def _from_start(name: str, a: Any, indices: Any, axis: int | None) -> Any:
    """Indices that are known, counted from the start; all are inside, as with numpy."""
    if isinstance(indices, Array):
        return indices
    size = math.prod(shape(a)) if axis is None else shape(a)[axis]
    known = to_numpy(indices)
    if known.dtype.kind != "i":
        return indices
    outside = known[(known < -size) | (known >= size)]
    if outside.size:
        message = f"the index {outside.flat[0]} is outside of an axis of size {size}"
        raise make("OutOfRangeError", name, message, None)
    return np.where(known < 0, known + size, known)


def take(a: Any, indices: Any, axis: int | None = None) -> Any:
    """The parts at positions along an axis; of the flat array by default. Positions that are traced
    count from the start, and outside there is 0.

    >>> take(np.array([1.0, 2.0, 3.0]), np.array([2, 0, -1]))
    array([3., 1., 3.])
    """
    return _taken(a, _from_start("take", a, indices, axis), axis)


@operation("a", "indices")
def _taken(a: Any, indices: Any, axis: int | None) -> Any:
    return lib.take(ravel(a), indices, 0) if axis is None else lib.take(a, indices, axis)


def take_along_axis(a: Any, indices: Any, axis: int = -1) -> Any:
    """For each position along an axis the element there; positions as of :func:`take`.

    >>> take_along_axis(np.array([[5, 7], [9, 8]]), np.array([[1], [0]]), axis=1)
    array([[7],
           [9]])
    """
    return _taken_along(a, _from_start("take_along_axis", a, indices, axis), axis)


@operation("a", "indices")
def _taken_along(a: Any, indices: Any, axis: int) -> Any:
    return lib.take_along_axis(a, indices, axis)


@operation("x")
def bincount(x: Any, length: int) -> Any:
    """How often each of the numbers from 0 occurs.

    >>> bincount(np.array([1, 3, 1]), length=4)
    array([0, 2, 0, 1])
    """
    array = _core.asarray(x)
    return _core.scatter_add([length], [array], lib.broadcast_to(1, list(array.shape)))


@operation("x", "ids")
def segment_sum(x: Any, ids: Any, num_segments: int) -> Any:
    """The sums of parts along the outermost axis, by their numbers.

    >>> segment_sum(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]), 2)
    array([4., 2.])
    """
    return lib.segment_sum(x, ids, num_segments)


@operation("x", "ids")
def segment_max(x: Any, ids: Any, num_segments: int) -> Any:
    """The largest of parts along the outermost axis, by their numbers.

    >>> segment_max(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]), 2)
    array([3., 2.])
    """
    return lib.segment_max(x, ids, num_segments)


@operation("x", "ids")
def segment_min(x: Any, ids: Any, num_segments: int) -> Any:
    """The smallest of parts along the outermost axis, by their numbers.

    >>> segment_min(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]), 2)
    array([1., 2.])
    """
    return lib.segment_min(x, ids, num_segments)


@operation("x", "ids")
def segment_mean(x: Any, ids: Any, num_segments: int) -> Any:
    """The means of parts along the outermost axis, by their numbers.

    >>> segment_mean(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]), 2)
    array([2., 2.])
    """
    return lib.segment_mean(x, ids, num_segments)


@operation("x", "ids")
def segment_argmax(x: Any, ids: Any, num_segments: int) -> Any:
    """For each number the position of the largest of its parts; the first of equals, and ``len(x)``
    for none.

    >>> segment_argmax(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), 3)
    array([1, 3, 2])
    """
    return row("segment_argmax", x=x, ids=ids, n=num_segments)


@operation("x", "ids")
def segment_argmin(x: Any, ids: Any, num_segments: int) -> Any:
    """For each number the position of the smallest of its parts, likewise.

    >>> segment_argmin(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), 3)
    array([1, 3, 0])
    """
    return row("segment_argmin", x=x, ids=ids, n=num_segments)

"""Functions made of sorting and choosing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._errors import make
from .._operation import operation
from ._arrange import (
    broadcast_to,
    concatenate,
    expand_dims,
    moveaxis,
    ravel,
    stack,
    take_along_axis,
)
from ._elementwise import floor, isnan, minimum, remainder
from ._inspect import shape
from ._reduce import _known_shares, argsort, cumsum, diff, sort, sum

__all__ = [
    "argpartition",
    "block",
    "choose",
    "lexsort",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "unwrap",
]


def block(arrays: Any) -> Any:
    """Arrays from nested lists of blocks: those of the innermost lists are joined along the last axis,
    those of the next ones along the axis before.

    >>> block([[np.eye(2), np.zeros((2, 1))], [np.ones((1, 3))]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """

    def depth(part: Any) -> int:
        if not isinstance(part, list):
            return 0
        if not part:
            raise make("ArrayTypeError", "block", "an empty list", "each list has a block")
        depths = {depth(inner) for inner in part}
        if len(depths) > 1:
            message = "lists of different depths beside each other"
            raise make(
                "ArrayTypeError", "block", message, "nest the blocks alike: [[a, b], [c, d]]"
            )
        return 1 + depths.pop()

    def rank(part: Any) -> int:
        if isinstance(part, list):
            return max(rank(inner) for inner in part)
        return len(shape(part))

    whole = depth(arrays)
    axes = max(whole, rank(arrays))

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return concatenate([joined(inner, level - 1) for inner in part], axis=-level)
        missing = axes - rank(part)
        return expand_dims(part, tuple(range(missing))) if missing else part

    return joined(arrays, whole)


def choose(a: Any, choices: Any) -> Any:
    """For each element of ``a`` the element there of the array with that number.

    >>> choose(np.array([1, 0, 1]), [np.array([1, 2, 3]), np.array([10, 20, 30])])
    array([10,  2, 30])
    """
    sizes = np.broadcast_shapes(shape(a), *map(shape, choices))
    numbers = expand_dims(broadcast_to(a, sizes), 0)
    return take_along_axis(stack([broadcast_to(x, sizes) for x in choices], 0), numbers, 0)[0]


@operation("arrays")
def _lexsorted(arrays: Any, axis: int) -> Any:
    first, *rest = arrays
    order = argsort(first, axis=axis)
    for key in rest:
        sorted_key = take_along_axis(key, order, axis)
        order = take_along_axis(order, argsort(sorted_key, axis=axis), axis)
    return order


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions that sort by several keys, of which the last is the first to be looked at.

    >>> lexsort((np.array([1, 2, 3, 4]), np.array([2, 1, 2, 1])))
    array([1, 3, 0, 2])
    """
    return _lexsorted(list(keys), axis)


@operation("a")
def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """The elements with the ``kth`` at its place in order, smaller ones before it, larger ones after
    it: all are sorted here.

    >>> partition(np.array([3.0, 1.0, 2.0]), 1)
    array([1., 2., 3.])
    """
    _expect_place("partition", a, kth, axis)
    return sort(a, axis=axis)


@operation("a")
def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The positions of the elements as :func:`partition` orders them.

    >>> argpartition(np.array([3.0, 1.0, 2.0]), 1)
    array([1, 2, 0])
    """
    _expect_place("argpartition", a, kth, axis)
    return argsort(a, axis=axis)


def _expect_place(name: str, a: Any, kth: int, axis: int) -> None:
    sizes = _core.asarray(a).shape
    if not -sizes[axis] <= kth < sizes[axis]:
        message = f"there is no place {kth} along axis {axis} of an array of shape {sizes}"
        raise make("OutOfRangeError", name, message, None)


@operation("a")
def _nan_quantile(a: Any, q: float, axis: int | None, keepdims: bool) -> Any:
    x = _core.asarray(a)
    x = x if "float" in x.dtype_name else x.astype(float)
    flat = ravel(x) if axis is None else moveaxis(x, axis, -1)
    ordered = sort(flat, axis=-1)
    # NaNs are last.
    count = sum(~isnan(flat), axis=-1, keepdims=True)
    place = (count - 1) * q
    low = floor(place).astype(int)
    rest = (place - low).astype(ordered.dtype)
    lower = take_along_axis(ordered, low, -1)
    upper = take_along_axis(ordered, minimum(low + 1, count - 1), -1)
    found = _core.select(rest > 0, lower + (upper - lower) * rest, lower)
    found = _core.select(count > 0, found, float("nan"))[..., 0]
    if not keepdims:
        return found
    return found.reshape((1,) * x.ndim) if axis is None else expand_dims(found, axis)


def nanquantile(a: Any, q: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """:func:`quantile` of the elements that are no NaN.

    >>> nanquantile(np.array([1.0, np.nan, 2.0, 4.0]), 0.75)
    array(3.)
    """
    shares = _known_shares(q)
    if isinstance(shares, (int, float)):
        return _nan_quantile(a, float(shares), axis, keepdims)
    return stack([nanquantile(a, part, axis, keepdims=keepdims) for part in shares], 0)


def nanpercentile(a: Any, q: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """``nanquantile(a, q / 100)``.

    >>> nanpercentile(np.array([1.0, np.nan, 2.0, 4.0]), 50.0)
    array(2.)
    """
    return nanquantile(a, _known_shares(q, 100.0), axis, keepdims=keepdims)


def nanmedian(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The median of the elements that are no NaN.

    >>> nanmedian(np.array([1.0, np.nan, 3.0]))
    array(2.)
    """
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


@operation("p")
def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> Any:
    """With multiples of the period added, so that neighbours along an axis differ by half of it at
    most (or jumps below ``discont`` stay).

    >>> unwrap(np.array([0.0, 3.0, -3.0]))
    array([0.        , 3.        , 3.28318531])
    """
    x = moveaxis(_core.asarray(p) * 1.0, axis, -1)
    steps = diff(x, axis=-1)
    half = period / 2
    small = remainder(steps + half, period) - half
    small = _core.select((small == -half) & (steps > 0), half, small)
    correction = small - steps
    if discont is not None:
        correction = _core.select(abs(steps) < max(discont, half), 0.0, correction)
    else:
        correction = _core.select(abs(steps) < half, 0.0, correction)
    made = concatenate([x[..., :1], x[..., 1:] + cumsum(correction, axis=-1)], axis=-1)
    return moveaxis(made, -1, axis)

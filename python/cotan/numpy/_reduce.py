"""Reductions, cumulative functions, sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from .._core import lib
from .._errors import make
from .._operation import axes_of, operation, row

__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "array_equal",
    "count_nonzero",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "percentile",
    "prod",
    "ptp",
    "quantile",
    "searchsorted",
    "sort",
    "sort_by_key",
    "std",
    "sum",
    "top_k",
    "var",
]


def _chosen(a: Any, where: Any, other: Any) -> Any:
    """The elements where a condition holds, and another value elsewhere."""
    if where is None:
        return a
    x = _core.asarray(a)
    return _core.select(where, x, _core.asarray(other).cast_to(x.dtype_name))


@operation("a", "initial", "where")
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The sum of elements, along axes or of all; of those where a condition holds.

    >>> sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    >>> sum(np.array([1.0, np.nan]), where=np.array([True, False]))
    array(1.)
    """
    x = _core.asarray(a)
    x = _chosen(x if dtype is None else x.astype(dtype), where, 0)
    made = lib.sum(x, axes_of(axis), keepdims)
    return made if initial is None else made + initial


@operation("a", "initial", "where")
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The product; its derivative is right also where elements are 0.

    >>> ct.grad(prod)(np.array([2.0, 0.0, 3.0]))
    array([0., 6., 0.])
    """
    x = _core.asarray(a)
    x = _chosen(x if dtype is None else x.astype(dtype), where, 1)
    made = lib.prod(x, axes_of(axis), keepdims)
    return made if initial is None else made * initial


def _extreme(
    name: str, op: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    if where is not None and initial is None:
        message = f"`{name}` of elements where a condition holds, which may be none"
        raise make("ArrayTypeError", name, message, "give `initial`, the result for no elements")
    found = getattr(lib, name)(_chosen(a, where, initial), axes_of(axis), keepdims)
    return found if initial is None else _core.scalar(op, "number", [found, initial])


@operation("a", "initial", "where")
def max(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The largest element; of equals the derivative goes to the first.

    >>> max(np.array([[1, 5], [3, 2]]), axis=0)
    array([3, 5])
    """
    return _extreme("max", "max", a, axis, keepdims, initial, where)


@operation("a", "initial", "where")
def min(
    a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """The smallest element; of equals the derivative goes to the first.

    >>> min(np.array([[1, 5], [3, 2]]), axis=0)
    array([1, 2])
    """
    return _extreme("min", "min", a, axis, keepdims, initial, where)


amax, amin = max, min


@operation("a")
def argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the largest element, the first of equals; of all axes, in the flat array.

    >>> argmax(np.array([1, 5, 2]))
    array(1)
    """
    return lib.argmax(a, axes_of(axis), keepdims)


@operation("a")
def argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the smallest element, the first of equals.

    >>> argmin(np.array([4, 5, 2]))
    array(2)
    """
    return lib.argmin(a, axes_of(axis), keepdims)


@operation("a", "where")
def mean(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """The mean, of the elements where a condition holds; of no elements NaN.

    >>> mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=1, keepdims=True)
    array([[1.5],
           [4.5]])
    """
    if where is None:
        return lib.mean(a, axes_of(axis), keepdims)
    x = _core.asarray(a)
    held = lib.broadcast_to(where, list(x.shape)).cast_to("int64")
    count = lib.sum(held, axes_of(axis), keepdims)
    return lib.sum(_chosen(x, where, 0), axes_of(axis), keepdims) / count


def _deviation(f: Any, power: float, a: Any, axis: Any, keepdims: bool, less: float) -> Any:
    """``f`` of an array, its sum of squares divided by the number of elements less some."""
    if less == int(less) and less >= 0:
        return f(a, axes_of(axis), keepdims, int(less))
    x = _core.asarray(a)
    count = math.prod(x.shape[k] for k in axes_of(axis) or range(x.ndim))
    factor = count / (count - less) if count > less else float("nan")
    return f(x, axes_of(axis), keepdims, 0) * factor**power


@operation("a")
def var(
    a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False, correction: float = 0
) -> Any:
    """The variance: squares divided by the number of elements less ``ddof``, or ``correction``.

    >>> var(np.array([1.0, 3.0]))
    array(1.)
    """
    return _deviation(lib.var, 1.0, a, axis, keepdims, ddof or correction)


@operation("a")
def std(
    a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False, correction: float = 0
) -> Any:
    """The standard deviation; its derivative is 0 where it is 0.

    >>> ct.grad(std)(np.ones(2))
    array([0., 0.])
    """
    return _deviation(lib.std_dev, 0.5, a, axis, keepdims, ddof or correction)


@operation("a")
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The median.

    >>> median(np.array([3.0, 1.0, 2.0, 10.0]))
    array(2.5)
    """
    return lib.median(a, axes_of(axis), keepdims)


def _quantiles(a: Any, q: Any, axis: Any, keepdims: bool) -> Any:
    if isinstance(q, float):
        return lib.quantile(a, axes_of(axis), keepdims, q)
    return lib.stack([_quantiles(a, part, axis, keepdims) for part in q], 0)


_quantile = operation("a")(_quantiles)


def quantile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The element below which the share ``q`` lies, interpolated; of several, all. They are known.

    >>> quantile(np.array([1.0, 2.0, 4.0]), [0.5, 0.75])
    array([2., 3.])
    """
    return _quantile(a, _known_shares(q), axis, keepdims)


def percentile(a: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """``quantile(a, q / 100)``.

    >>> percentile(np.array([1.0, 2.0, 3.0]), 50.0)
    array(2.)
    """
    return _quantile(a, _known_shares(q, 100.0), axis, keepdims)


def _known_shares(q: Any, whole: float = 1.0) -> Any:
    if isinstance(q, _core.Array):
        hint = "pass it as `static_argnums`"
        raise make("ConcreteValueError", "quantile", "`q` is not known while tracing", hint)

    def listed(shares: Any) -> Any:
        return tuple(map(listed, shares)) if isinstance(shares, list) else float(shares)

    return listed((np.asarray(q) / whole).tolist())


@operation("a")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest less the smallest element.

    >>> ptp(np.array([1.0, 5.0, 2.0]))
    array(4.)
    """
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


@operation("a")
def logsumexp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """``log(sum(exp(a)))`` without overflow.

    >>> logsumexp(np.array([1000.0, 1000.0]))
    array(1000.69314718)
    """
    return lib.logsumexp(a, axes_of(axis), keepdims)


@operation("a", "where")
def all(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """Whether all elements are true (not 0).

    >>> all(np.array([True, False]))
    array(False)
    """
    return lib.any_or_all(_chosen(a, where, True), axes_of(axis), keepdims, True)


@operation("a", "where")
def any(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """Whether any element is true (not 0).

    >>> any(np.array([True, False]))
    array(True)
    """
    return lib.any_or_all(_chosen(a, where, False), axes_of(axis), keepdims, False)


@operation("a")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not 0.

    >>> count_nonzero(np.array([1.0, 0.0, 2.0]))
    array(2)
    """
    return lib.sum((_core.asarray(a) != 0).cast_to("int64"), axes_of(axis), keepdims)


@operation("x", "y", "rtol", "atol")
def allclose(x: Any, y: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    """Whether two arrays are equal within a tolerance.

    >>> allclose(np.array([1.0]), np.array([1.0 + 1e-9]))
    array(True)
    """
    from ._elementwise import isclose

    return all(isclose(x, y, rtol, atol))


@operation("x", "y")
def array_equal(x: Any, y: Any) -> Any:
    """Whether two arrays have the same shape and elements.

    >>> array_equal(np.array([1, 2]), np.array([1, 2]))
    array(True)
    """
    x, y = _core.asarray(x), _core.asarray(y)
    return all(x == y) if x.shape == y.shape else _core.asarray(False)


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    x = _core.asarray(a)
    return (x.reshape(-1), 0) if axis is None else (x, axis)


@operation("a")
def cumsum(a: Any, axis: int | None = None, *, reverse: bool = False) -> Any:
    """Running sums along an axis; of the flat array by default.

    >>> cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    return lib.cumsum(*_along(a, axis), reverse)


@operation("a")
def cumprod(a: Any, axis: int | None = None, *, reverse: bool = False) -> Any:
    """Running products along an axis; of the flat array by default.

    >>> cumprod(np.array([1, 2, 3]))
    array([1, 2, 6])
    """
    return lib.cumprod(*_along(a, axis), reverse)


def _cumulative(f: Any, first: int, x: Any, axis: int | None, dtype: Any, begun: bool) -> Any:
    array = _core.asarray(x)
    if axis is None and array.ndim != 1:
        message = f"an array with {array.ndim} axes"
        raise make("ArrayTypeError", "cumulative", message, "say along which: `axis=0`")
    made = f(array if dtype is None else array.astype(dtype), axis or 0)
    if not begun:
        return made
    widths = [(0, 0)] * array.ndim
    widths[axis or 0] = (1, 0)
    return lib.pad_with(made, _core.asarray(first).cast_to(made.dtype_name), widths)


@operation("x")
def cumulative_sum(
    x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums along an axis, which begin with 0 if asked to.

    >>> cumulative_sum(np.array([1.0, 2.0]), include_initial=True)
    array([0., 1., 3.])
    """
    return _cumulative(cumsum, 0, x, axis, dtype, include_initial)


@operation("x")
def cumulative_prod(
    x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products along an axis, which begin with 1 if asked to.

    >>> cumulative_prod(np.array([1, 2, 3]))
    array([1, 2, 6])
    """
    return _cumulative(cumprod, 1, x, axis, dtype, include_initial)


@operation("a")
def cummax(a: Any, axis: int = 0, *, reverse: bool = False) -> Any:
    """Running maxima along an axis.

    >>> cummax(np.array([1, 5, 2]))
    array([1, 5, 5])
    """
    return lib.cummax(a, axis, reverse)


@operation("a")
def cummin(a: Any, axis: int = 0, *, reverse: bool = False) -> Any:
    """Running minima along an axis.

    >>> cummin(np.array([4, 5, 2]))
    array([4, 4, 2])
    """
    return lib.cummin(a, axis, reverse)


@operation("a")
def cumlogsumexp(a: Any, axis: int = 0, *, reverse: bool = False) -> Any:
    """Running ``logsumexp`` along an axis.

    >>> cumlogsumexp(np.array([0.0, 0.0]))
    array([0.        , 0.69314718])
    """
    return lib.cumlogsumexp(a, axis, reverse)


@operation("a", "prepend", "append")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, ``n`` times; with arrays before and after it, if there are.

    >>> diff(np.array([1.0, 4.0, 9.0]), n=2)
    array([2.])
    """
    parts = [x for x in (prepend, a, append) if x is not None]
    if len(parts) > 1:
        a = lib.concatenate(parts, axis)
    for _ in range(n):
        a = lib.diff(a, axis)
    return a


@operation("a")
def sort(a: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """Sorted along an axis, NaN last.

    >>> sort(np.array([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    return lib.sort(*_along(a, axis), descending)


@operation("a", "keys")
def sort_by_key(a: Any, keys: Any, axis: int = -1) -> Any:
    """The elements in the order that sorts ``keys``, an array of the same shape, along an axis; equal
    keys in the order they have, NaNs last.

    >>> sort_by_key(np.array([0.1, 0.2, 0.3]), np.array([2, 3, 1]))
    array([0.3, 0.1, 0.2])
    """
    return row("sort_by_key", x=a, keys=keys, axis=axis)


@operation("a")
def argsort(a: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The positions that sort it, equal elements in order.

    >>> argsort(np.array([3, 1, 2]))
    array([1, 2, 0])
    """
    return lib.argsort(*_along(a, axis), descending)


@operation("a", "v", "sorter")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where to put ``v`` into the sorted vector ``a``, or into ``a[sorter]``.

    >>> searchsorted(np.array([1.0, 2.0, 3.0]), np.array([2.5]))
    array([2])
    """
    if sorter is not None:
        a = lib.take(a, sorter, 0)
    return lib.searchsorted(a, v, side == "right")


@operation("x")
def top_k(x: Any, k: int, axis: int = -1) -> Any:
    """The ``k`` largest elements along an axis in descending order, and their positions.

    >>> top_k(np.array([3.0, 1.0, 2.0]), 2)
    (array([3., 2.]), array([0, 2]))
    """
    return row("top_k", x=x, k=k, axis=axis)

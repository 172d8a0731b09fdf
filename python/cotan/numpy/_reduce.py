"""Reductions, cumulative functions, sorting."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import lib
from .._operation import axes_of, operation

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
    "std",
    "sum",
    "top_k",
    "var",
]


@operation("a")
def sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The sum of elements, along axes or of all.

    >>> sum(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    array([4., 6.])
    """
    x = _core.asarray(a)
    return lib.sum(x if dtype is None else x.astype(dtype), axes_of(axis), keepdims)


@operation("a")
def prod(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The product; its derivative is right also where elements are 0.

    >>> ct.grad(prod)(np.array([2.0, 0.0, 3.0]))
    array([0., 6., 0.])
    """
    return lib.prod(a, axes_of(axis), keepdims)


@operation("a")
def max(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest element; of equals the derivative goes to the first."""
    return lib.max(a, axes_of(axis), keepdims)


@operation("a")
def min(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The smallest element; of equals the derivative goes to the first."""
    return lib.min(a, axes_of(axis), keepdims)


amax, amin = max, min


@operation("a")
def argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the largest element, the first of equals; of all axes, in the flat array."""
    return lib.argmax(a, axes_of(axis), keepdims)


@operation("a")
def argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the smallest element, the first of equals."""
    return lib.argmin(a, axes_of(axis), keepdims)


@operation("a")
def mean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean; of no elements NaN.

    >>> mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=1, keepdims=True)
    array([[1.5],
           [4.5]])
    """
    return lib.mean(a, axes_of(axis), keepdims)


@operation("a")
def var(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance: squares divided by the number of elements less ``ddof``."""
    return lib.var(a, axes_of(axis), keepdims, ddof)


@operation("a")
def std(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """The standard deviation; its derivative is 0 where it is 0.

    >>> ct.grad(std)(np.ones(2))
    array([0., 0.])
    """
    return lib.std_dev(a, axes_of(axis), keepdims, ddof)


@operation("a")
def median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The median.

    >>> median(np.array([3.0, 1.0, 2.0, 10.0]))
    array(2.5)
    """
    return lib.median(a, axes_of(axis), keepdims)


@operation("a")
def quantile(a: Any, q: float, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The element below which the share ``q`` lies, interpolated."""
    return lib.quantile(a, axes_of(axis), keepdims, float(q))


@operation("a")
def percentile(a: Any, q: float, axis: Any = None, *, keepdims: bool = False) -> Any:
    """``quantile(a, q / 100)``."""
    return lib.quantile(a, axes_of(axis), keepdims, q / 100)


@operation("a")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest less the smallest element."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


@operation("a")
def logsumexp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """``log(sum(exp(a)))`` without overflow.

    >>> logsumexp(np.array([1000.0, 1000.0]))
    array(1000.69314718)
    """
    return lib.logsumexp(a, axes_of(axis), keepdims)


@operation("a")
def all(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Whether all elements are true (not 0)."""
    return lib.any_or_all(a, axes_of(axis), keepdims, True)


@operation("a")
def any(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Whether any element is true (not 0)."""
    return lib.any_or_all(a, axes_of(axis), keepdims, False)


@operation("a")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not 0.

    >>> count_nonzero(np.array([1.0, 0.0, 2.0]))
    array(2)
    """
    return lib.sum((_core.asarray(a) != 0).cast_to("int64"), axes_of(axis), keepdims)


@operation("x", "y", "rtol", "atol")
def allclose(x: Any, y: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    """Whether two arrays are equal within a tolerance."""
    from ._elementwise import isclose

    return all(isclose(x, y, rtol, atol))


@operation("x", "y")
def array_equal(x: Any, y: Any) -> Any:
    """Whether two arrays have the same shape and elements."""
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
    """Running products along an axis; of the flat array by default."""
    return lib.cumprod(*_along(a, axis), reverse)


@operation("a")
def cummax(a: Any, axis: int = 0, *, reverse: bool = False) -> Any:
    """Running maxima along an axis."""
    return lib.cummax(a, axis, reverse)


@operation("a")
def cummin(a: Any, axis: int = 0, *, reverse: bool = False) -> Any:
    """Running minima along an axis."""
    return lib.cummin(a, axis, reverse)


@operation("a")
def cumlogsumexp(a: Any, axis: int = 0, *, reverse: bool = False) -> Any:
    """Running ``logsumexp`` along an axis."""
    return lib.cumlogsumexp(a, axis, reverse)


@operation("a")
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours, ``n`` times.

    >>> diff(np.array([1.0, 4.0, 9.0]), n=2)
    array([2.])
    """
    for _ in range(n):
        a = lib.diff(a, axis)
    return a


@operation("a")
def sort(a: Any, axis: int | None = -1, *, descending: bool = False) -> Any:
    """Sorted along an axis, NaN last.

    >>> sort(np.array([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    return lib.sort(*_along(a, axis), descending)


@operation("a")
def argsort(a: Any, axis: int | None = -1, *, descending: bool = False) -> Any:
    """The positions that sort it, equal elements in order."""
    return lib.argsort(*_along(a, axis), descending)


@operation("a", "v")
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    """Where to put ``v`` into the sorted vector ``a``."""
    return lib.searchsorted(a, v, side == "right")


@operation("x")
def top_k(x: Any, k: int) -> Any:
    """The ``k`` largest elements along the last axis, and their positions.

    >>> top_k(np.array([3.0, 1.0, 2.0]), 2)
    (array([3., 2.]), array([0, 2]))
    """
    order = lib.argsort(x, -1, True)[..., :k]
    return lib.take_along_axis(x, order, -1), order

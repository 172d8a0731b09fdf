"""Functions that are made of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._control import where
from .._core import lib
from .._errors import make
from .._operation import operation
from ._arrange import atleast_2d, concatenate, flip, split
from ._elementwise import absolute, sin, sqrt
from ._products import matmul
from ._reduce import argmax, argmin, count_nonzero, cumprod, cumsum, mean, prod, searchsorted, sum
from ._reduce import max as largest
from ._reduce import min as smallest

__all__ = [
    "array_split",
    "average",
    "cov",
    "dstack",
    "fliplr",
    "flipud",
    "heaviside",
    "interp",
    "isin",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "polyval",
    "sinc",
]


@operation("m")
def flipud(m: Any) -> Any:
    """In reversed order along the first axis.

    >>> flipud(np.array([[1, 2], [3, 4]]))
    array([[3, 4],
           [1, 2]])
    """
    return flip(m, 0)


@operation("m")
def fliplr(m: Any) -> Any:
    """In reversed order along the second axis.

    >>> fliplr(np.array([[1, 2], [3, 4]]))
    array([[2, 1],
           [4, 3]])
    """
    return flip(m, 1)


@operation("arrays")
def dstack(arrays: Any) -> Any:
    """Arrays one behind the other, along the third axis.

    >>> dstack([np.array([1, 2]), np.array([3, 4])]).shape
    (1, 2, 2)
    """
    parts = [atleast_2d(x) for x in arrays]
    return concatenate([x[..., None] if x.ndim == 2 else x for x in parts], axis=2)


@operation("a")
def array_split(a: Any, sections: int, axis: int = 0) -> Any:
    """In so many parts, the first of which may be larger by one.

    >>> array_split(np.arange(3.0), 2)
    [array([0., 1.]), array([2.])]
    """
    x = _core.asarray(a)
    share, larger = divmod(x.shape[axis], sections)
    ends = np.cumsum([share + (k < larger) for k in range(sections)])
    return split(x, tuple(int(end) for end in ends[:-1]), axis)


@operation("a", "weights")
def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """The mean, by weights if there are.

    >>> average(np.array([1.0, 3.0]), weights=np.array([3.0, 1.0]))
    array(1.5)
    """
    if weights is None:
        return mean(a, axis)
    x, w = _core.asarray(a), _core.asarray(weights)
    if w.shape != x.shape and isinstance(axis, int) and w.ndim == 1:
        w = w.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    w = lib.broadcast_to(w, list(x.shape))
    return sum(x * w, axis) / sum(w, axis)


@operation("m")
def cov(m: Any, rowvar: bool = True, ddof: int = 1) -> Any:
    """The covariances of variables, one in each row, or in each column.

    >>> cov(np.array([[1.0, 3.0], [2.0, 6.0]]))
    array([[2., 4.],
           [4., 8.]])
    """
    x = _core.asarray(m)
    x = atleast_2d(x) if x.ndim < 2 or rowvar else x.T
    centred = x - mean(x, axis=1, keepdims=True)
    made = matmul(centred, centred.T) / (x.shape[1] - ddof)
    return made[0, 0] if made.shape == (1, 1) else made


@operation("x", "xp", "fp")
def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Between the values ``fp`` at the rising positions ``xp``, on straight lines; outside of them the
    first and the last value.

    >>> interp(np.array([0.5, 9.0]), np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    array([1., 2.])
    """
    at, places, values = _core.asarray(x), _core.asarray(xp), _core.asarray(fp)
    if places.ndim != 1 or places.shape != values.shape or places.size == 0:
        message = f"positions of shape {places.shape} and values of shape {values.shape}"
        hint = "`xp` and `fp` are vectors of one length, of at least one element"
        raise make("ArrayTypeError", "interp", message, hint)
    last = len(places) - 1
    if last == 0:
        return lib.broadcast_to(values[0], list(at.shape))
    right = lib.take(lib.iota(last) + 1, searchsorted(places[1:-1], at, side="right"), 0)
    low, high = lib.take(places, right - 1, 0), lib.take(places, right, 0)
    below, above = lib.take(values, right - 1, 0), lib.take(values, right, 0)
    inside = below + (at - low) * (above - below) / (high - low)
    return where(at <= places[0], values[0], where(at >= places[last], values[last], inside))


@operation("p", "x")
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with these coefficients, the highest power first.

    >>> polyval(np.array([1.0, 0.0, 2.0]), 3.0)
    array(11.)
    """
    coefficients, made = _core.asarray(p), _core.asarray(x) * 0
    for k in range(len(coefficients)):
        made = made * x + coefficients[k]
    return made


@operation("x")
def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, and 1 at 0.

    >>> sinc(np.array([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    angle = np.pi * _core.asarray(x)
    near = absolute(angle) < 1e-8
    return where(near, 1.0 - angle * angle / 6.0, sin(angle) / where(near, 1.0, angle))


@operation("x", "y")
def heaviside(x: Any, y: Any) -> Any:
    """0 below 0, 1 above, and ``y`` at 0.

    >>> heaviside(np.array([-1.0, 0.0, 1.0]), 0.5)
    array([0. , 0.5, 1. ])
    """
    array = _core.asarray(x)
    return where(array == 0, y, where(array > 0, 1.0, 0.0))


@operation("element", "test_elements")
def isin(element: Any, test_elements: Any) -> Any:
    """Where elements are among others.

    >>> isin(np.array([1, 2, 3]), np.array([2, 5]))
    array([False,  True, False])
    """
    x, others = _core.asarray(element), _core.asarray(test_elements).reshape(-1)
    return lib.any_or_all(x[..., None] == others, [-1], False, False)


def _without_nan(name: str, a: Any, instead: float) -> tuple[Any, Any]:
    x = _core.asarray(a)
    if "float" not in x.dtype_name:
        raise make("ArrayTypeError", name, f"an array of {x.dtype_name}", "it has no NaN")
    missing = lib.isnan(x)
    return where(missing, instead, x), missing


@operation("a")
def nansum(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The sum of the elements that are not NaN.

    >>> ct.value_and_grad(nansum)(np.array([1.0, np.nan]))
    (array(1.), array([1., 0.]))
    """
    return sum(_without_nan("nansum", a, 0.0)[0], axis, keepdims=keepdims)


@operation("a")
def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The mean of the elements that are not NaN.

    >>> nanmean(np.array([1.0, np.nan, 3.0]))
    array(2.)
    """
    present, missing = _without_nan("nanmean", a, 0.0)
    count = count_nonzero(~missing, axis, keepdims=keepdims).cast_to(present.dtype_name)
    return sum(present, axis, keepdims=keepdims) / count


@operation("a")
def nanmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest of the elements that are not NaN.

    >>> nanmax(np.array([1.0, np.nan, 3.0]))
    array(3.)
    """
    return largest(_without_nan("nanmax", a, -np.inf)[0], axis, keepdims=keepdims)


@operation("a")
def nanmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The smallest of the elements that are not NaN.

    >>> nanmin(np.array([1.0, np.nan, 3.0]))
    array(1.)
    """
    return smallest(_without_nan("nanmin", a, np.inf)[0], axis, keepdims=keepdims)


@operation("a")
def nanprod(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The product of the elements that are not NaN.

    >>> nanprod(np.array([2.0, np.nan, 3.0]))
    array(6.)
    """
    return prod(_without_nan("nanprod", a, 1.0)[0], axis, keepdims=keepdims)


@operation("a")
def nanvar(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance of the elements that are not NaN.

    >>> nanvar(np.array([1.0, np.nan, 3.0]))
    array(1.)
    """
    present, missing = _without_nan("nanvar", a, 0.0)
    middle = nanmean(a, axis, keepdims=True)
    squares = where(missing, 0.0, (present - middle) ** 2)
    count = count_nonzero(~missing, axis, keepdims=keepdims).cast_to(present.dtype_name)
    return sum(squares, axis, keepdims=keepdims) / (count - ddof)


@operation("a")
def nanstd(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    """The standard deviation of the elements that are not NaN.

    >>> nanstd(np.array([1.0, np.nan, 3.0]))
    array(1.)
    """
    return sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


@operation("a")
def nancumsum(a: Any, axis: int | None = None) -> Any:
    """Running sums, NaN counting as 0.

    >>> nancumsum(np.array([1.0, np.nan, 3.0]))
    array([1., 1., 4.])
    """
    return cumsum(_without_nan("nancumsum", a, 0.0)[0], axis)


@operation("a")
def nancumprod(a: Any, axis: int | None = None) -> Any:
    """Running products, NaN counting as 1.

    >>> nancumprod(np.array([2.0, np.nan, 3.0]))
    array([2., 2., 6.])
    """
    return cumprod(_without_nan("nancumprod", a, 1.0)[0], axis)


@operation("a")
def nanargmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the largest element that is not NaN.

    >>> nanargmax(np.array([1.0, np.nan, 3.0]))
    array(2)
    """
    return argmax(_without_nan("nanargmax", a, -np.inf)[0], axis, keepdims=keepdims)


@operation("a")
def nanargmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The position of the smallest element that is not NaN.

    >>> nanargmin(np.array([np.nan, 2.0, 3.0]))
    array(1)
    """
    return argmin(_without_nan("nanargmin", a, np.inf)[0], axis, keepdims=keepdims)

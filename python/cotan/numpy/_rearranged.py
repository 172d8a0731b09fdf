"""Functions of numpy that are made of others: arranging, choosing, positions, remainders."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import _core
from .._control import where
from .._core import Array
from .._errors import make
from .._operation import operation, shape_of
from ._arrange import atleast_2d, concatenate, diag, moveaxis, ravel, split, take
from ._create import array, known_by_numpy
from ._elementwise import absolute, conj, equal, isinf, logaddexp, remainder, trunc
from ._elementwise import round as around
from ._products import matmul
from ._reduce import all as every
from ._reduce import diff

__all__ = [
    "append",
    "around",
    "array_equiv",
    "atleast_3d",
    "conjugate",
    "copy",
    "delete",
    "diag_indices",
    "diagflat",
    "divmod",
    "dsplit",
    "ediff1d",
    "fmod",
    "geomspace",
    "hsplit",
    "indices",
    "isneginf",
    "isposinf",
    "ix_",
    "ldexp",
    "logaddexp2",
    "logspace",
    "matvec",
    "modf",
    "ravel_multi_index",
    "rollaxis",
    "select",
    "tril_indices",
    "triu_indices",
    "unravel_index",
    "vecmat",
    "vsplit",
]


conjugate = conj

diag_indices = known_by_numpy(
    "diag_indices", "The positions of a diagonal, an array for each axis."
)
geomspace = known_by_numpy("geomspace", "Numbers from one to another, each a multiple of the last.")
indices = known_by_numpy("indices", "The positions of a grid, stacked.")
ix_ = known_by_numpy("ix_", "Arrays of positions that make a grid of each other.")
logspace = known_by_numpy("logspace", "Powers of ten between those of two exponents.")
tril_indices = known_by_numpy("tril_indices", "The positions on and below a diagonal.")
triu_indices = known_by_numpy("triu_indices", "The positions on and above a diagonal.")


def copy(a: Any) -> Any:
    """The array, a new one.

    >>> copy(np.array([1, 2]))
    array([1, 2])
    """
    return _core.asarray(a) if isinstance(a, Array) else array(a)


@operation("arr", "values")
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """One array behind another along an axis; without one, both flat.

    >>> append(np.array([1, 2]), np.array([3]))
    array([1, 2, 3])
    """
    return concatenate([_core.asarray(arr), _core.asarray(values)], axis)


@operation("x")
def atleast_3d(x: Any) -> Any:
    """With three axes at least.

    >>> atleast_3d(np.zeros((2, 3))).shape
    (2, 3, 1)
    """
    made = _core.asarray(x)
    if made.ndim == 1:
        return made[None, :, None]
    return atleast_2d(made)[..., None] if made.ndim < 3 else made


@operation("a1", "a2")
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays are equal when broadcast.

    >>> array_equiv(np.array([1, 1]), 1)
    array(True)
    """
    return every(equal(a1, a2))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the elements at known positions.

    >>> delete(np.array([1.0, 2.0, 3.0]), 1)
    array([1., 3.])
    """
    flat = axis is None
    a = ravel(arr) if flat else (arr if isinstance(arr, Array) else np.asarray(arr))
    along = 0 if axis is None else axis
    if isinstance(obj, Array):
        hint = "how many are left must be known: pass them as `static_argnums`"
        raise make("ConcreteValueError", "delete", "positions that are not known", hint)
    left = np.delete(np.arange(a.shape[along]), obj)
    return take(a, left, axis=along)


@operation("v")
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with these elements on a diagonal, and zeros elsewhere.

    >>> diagflat(np.array([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    return diag(ravel(v), k)


@operation("x1", "x2")
def divmod(x1: Any, x2: Any) -> Any:
    """``x1 // x2`` and ``x1 % x2``.

    >>> divmod(np.array([7]), 2)
    (array([3]), array([1]))
    """
    a, b = _core.asarray(x1), _core.asarray(x2)
    return a // b, a % b


@operation("x1", "x2")
def fmod(x1: Any, x2: Any) -> Any:
    """The remainder with the sign of the first.

    >>> fmod(np.array([-7.0, 7.0]), 3.0)
    array([-1.,  1.])
    """
    a = _core.asarray(x1)
    rest = remainder(absolute(a), absolute(x2))
    return where(a < 0, -rest, rest)


@operation("x")
def modf(x: Any) -> Any:
    """The part behind the point, and the part before it.

    >>> modf(np.array([1.5]))
    (array([0.5]), array([1.]))
    """
    whole = trunc(x)
    rest = where(isinf(whole), 0.0, _core.asarray(x) - whole)
    return rest, whole


@operation("x1", "x2")
def ldexp(x1: Any, x2: Any) -> Any:
    """``x1 * 2**x2``.

    >>> ldexp(np.array([1.5]), 2)
    array([6.])
    """
    return _core.asarray(x1) * _core.scalar("exp2", "float", [x2])


@operation("x1", "x2")
def logaddexp2(x1: Any, x2: Any) -> Any:
    """``log2(2**x1 + 2**x2)`` without overflow.

    >>> logaddexp2(np.array([3.0]), 3.0)
    array([4.])
    """
    scale = math.log(2.0)
    return logaddexp(_core.asarray(x1) * scale, _core.asarray(x2) * scale) / scale


@operation("x")
def isposinf(x: Any) -> Any:
    """Whether elements are infinite and positive.

    >>> isposinf(np.array([np.inf, -np.inf]))
    array([ True, False])
    """
    return _core.asarray(x) == math.inf


@operation("x")
def isneginf(x: Any) -> Any:
    """Whether elements are infinite and negative.

    >>> isneginf(np.array([np.inf, -np.inf]))
    array([False,  True])
    """
    return _core.asarray(x) == -math.inf


@operation("ary")
def ediff1d(ary: Any) -> Any:
    """The differences of neighbours in the flat array.

    >>> ediff1d(np.array([1, 4, 9]))
    array([3, 5])
    """
    return diff(ravel(ary))


@operation("x1", "x2")
def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors.

    >>> matvec(np.eye(2), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    return matmul(x1, _core.asarray(x2)[..., None])[..., 0]


@operation("x1", "x2")
def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors times matrices.

    >>> vecmat(np.array([1.0, 2.0]), np.eye(2))
    array([1., 2.])
    """
    return matmul(_core.asarray(x1)[..., None, :], x2)[..., 0, :]


@operation("a")
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """With an axis moved before another; ``moveaxis`` says more clearly where to.

    >>> rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = _core.asarray(a)
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if axis < start else start)


@operation("arrays", "choices", "default")
def _selected(arrays: Any, choices: Any, default: Any) -> Any:
    found = _core.asarray(default)
    for condition, choice in zip(reversed(arrays), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element the choice of the first condition that holds.

    >>> x = np.array([1.0, 5.0, 9.0])
    >>> select([x < 3, x < 6], [x, 10 * x], -1.0)
    array([ 1., 50., -1.])
    """
    if len(condlist) != len(choicelist):
        message = f"{len(condlist)} conditions and {len(choicelist)} choices"
        raise make("ArrayTypeError", "select", message, "there is a choice for each condition")
    return _selected(list(condlist), list(choicelist), default)


@operation("ary")
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the second axis, or the only one.

    >>> [x.shape for x in hsplit(np.zeros((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    x = _core.asarray(ary)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


@operation("ary")
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the first axis.

    >>> [x.shape for x in vsplit(np.zeros((2, 4)), 2)]
    [(1, 4), (1, 4)]
    """
    return split(ary, indices_or_sections, 0)


@operation("ary")
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the third axis.

    >>> [x.shape for x in dsplit(np.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return split(ary, indices_or_sections, 2)


@operation("indices")
def unravel_index(indices: Any, shape: Any) -> Any:
    """The positions in an array of this shape of positions in the flat one, one for each axis.

    >>> [k.tolist() for k in unravel_index(np.array([5, 7]), (3, 4))]
    [[1, 1], [1, 3]]
    """
    rest, found = _core.asarray(indices), []
    for size in reversed(shape_of(shape)):
        found.append(rest % size)
        rest = rest // size
    return tuple(reversed(found))


@operation("multi_index")
def ravel_multi_index(multi_index: Any, dims: Any) -> Any:
    """The positions in the flat array of positions in one of this shape.

    >>> ravel_multi_index((np.array([0, 1]), np.array([2, 0])), (2, 3))
    array([2, 3])
    """
    found: Any = 0
    for index, size in zip(multi_index, shape_of(dims), strict=True):
        found = found * operator.index(size) + _core.asarray(index)
    return found

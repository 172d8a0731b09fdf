"""Products of arrays."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import lib
from .._operation import operation, sizes_of
from ._arrange import moveaxis

__all__ = [
    "cross",
    "dot",
    "einsum",
    "inner",
    "kron",
    "matmul",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
]


@operation("x", "y")
def matmul(x: Any, y: Any) -> Any:
    """The product of matrices, also of batches of them; vectors are rows on the left, and columns on
    the right.

    >>> matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    return lib.matmul(x, y)


@operation("a", "b")
def dot(a: Any, b: Any) -> Any:
    """The product of vectors and matrices; with a scalar, elementwise.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array(11.)
    """
    x, y = _core.asarray(a), _core.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim == 1:
        return lib.tensordot(x, y, [-1], [0])
    return lib.tensordot(x, y, [-1], [-2])


@operation("a", "b")
def vdot(a: Any, b: Any) -> Any:
    """The sum of products of all elements.

    >>> vdot(np.eye(2), np.ones((2, 2)))
    array(2.)
    """
    x, y = _core.asarray(a), _core.asarray(b)
    return lib.dot(lib.reshape(x, [x.size]), lib.reshape(y, [y.size]))


@operation("x", "y")
def vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """The sums of products along an axis, the last by default.

    >>> vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    if axis == -1:
        return lib.vecdot(x, y)
    return lib.vecdot(moveaxis(x, axis, -1), moveaxis(y, axis, -1))


@operation("a", "b")
def inner(a: Any, b: Any) -> Any:
    """The sums of products of the last axes, for all pairs of the others.

    >>> inner(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array(11.)
    """
    return lib.inner(a, b)


@operation("a", "b")
def outer(a: Any, b: Any) -> Any:
    """The products of all pairs of elements.

    >>> outer(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    x, y = _core.asarray(a), _core.asarray(b)
    return lib.outer(lib.reshape(x, [x.size]), lib.reshape(y, [y.size]))


@operation("a", "b")
def kron(a: Any, b: Any) -> Any:
    """Kronecker's product.

    >>> kron(np.array([1.0, 10.0]), np.array([1.0, 2.0]))
    array([ 1.,  2., 10., 20.])
    """
    return lib.kron(a, b)


@operation("a", "b")
def cross(a: Any, b: Any, *, axis: int = -1) -> Any:
    """The cross product of vectors of three elements, along an axis, the last by default.

    >>> cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    if axis == -1:
        return lib.cross(a, b)
    return moveaxis(lib.cross(moveaxis(a, axis, -1), moveaxis(b, axis, -1)), -1, axis)


@operation("a", "b")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The sum of products over axes of both: a number of last and first ones, or two lists.

    >>> tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x, y = _core.asarray(a), _core.asarray(b)
    if isinstance(axes, int):
        left, right = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        left, right = sizes_of(axes[0]), sizes_of(axes[1])
    return lib.tensordot(x, y, left, right)


@operation("operands")
def einsum(subscripts: str, *operands: Any) -> Any:
    """Einstein's summation.

    >>> einsum("ij,jk->ik", np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    return lib.einsum(subscripts, list(operands))

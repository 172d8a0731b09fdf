"""Linear algebra with derivatives, also of batches of matrices.

>>> import cotan as ct, numpy as np
>>> ct.grad(lambda a: ct.linalg.det(a))(np.array([[2.0, 1.0], [0.0, 3.0]]))
array([[ 3.,  0.],
       [-1.,  2.]])
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import lib
from ._operation import axes_of, operation
from .numpy import cross, matmul, matrix_transpose, outer, tensordot, trace, vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "solve",
    "solve_triangular",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


@operation("a")
def cholesky(a: Any) -> Any:
    """The lower triangular matrix whose product with its transpose is ``a``; NaN if there is none.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    return lib.cholesky(a)


@operation("a", "b")
def solve(a: Any, b: Any) -> Any:
    """The solution ``x`` of ``a @ x = b``.

    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    return lib.solve(a, b)


@operation("a", "b")
def solve_triangular(a: Any, b: Any, *, lower: bool = False) -> Any:
    """The solution of ``a @ x = b`` for a triangular matrix."""
    return lib.solve_triangular(a, b, lower)


@operation("a")
def inv(a: Any) -> Any:
    """The inverse matrix."""
    return lib.inverse(a)


@operation("a")
def det(a: Any) -> Any:
    """The determinant."""
    return lib.det(a)


@operation("a")
def matrix_power(a: Any, n: int) -> Any:
    """The matrix to an integer power, also a negative one."""
    return lib.matrix_power(lib.inverse(a), -n) if n < 0 else lib.matrix_power(a, n)


@operation("x")
def norm(x: Any, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The norm of vectors along axes; of all elements by default. Its derivative at 0 is 0.

    >>> norm(np.array([3.0, 4.0]))
    array(5.)
    """
    if ord == "fro":
        ord = None
    return lib.norm(x, axes_of(axis), keepdims, 2.0 if ord is None else float(ord))


vector_norm = norm


@operation("x")
def diagonal(x: Any, *, offset: int = 0) -> Any:
    """The diagonal of the last two axes."""
    return lib.diagonal(_core.asarray(x), offset)

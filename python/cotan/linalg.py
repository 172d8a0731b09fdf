"""Linear algebra with derivatives, also of batches of matrices.

>>> import cotan as ct, numpy as np
>>> ct.grad(lambda a: ct.linalg.det(a))(np.array([[2.0, 1.0], [1.0, 3.0]]))
array([[ 3., -1.],
       [-1.,  2.]])
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._core import lib
from ._errors import make
from ._operation import axes_of, operation
from .numpy import cross, matmul, matrix_transpose, outer, tensordot, trace, vecdot
from .numpy._known import REPLACED

__all__ = [
    "SlogdetResult",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diagonal",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "slogdet",
    "solve",
    "solve_triangular",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


@operation("a")
def cholesky(a: Any, *, upper: bool = False) -> Any:
    """The lower triangular matrix whose product with its transpose is ``a``, or the upper one; NaN if
    there is none.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    lower = lib.cholesky(a)
    return matrix_transpose(lower) if upper else lower


@operation("a", "b")
def solve(a: Any, b: Any) -> Any:
    """The solution ``x`` of ``a @ x = b``.

    >>> solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    return lib.solve(a, b)


@operation("a", "b")
def solve_triangular(a: Any, b: Any, *, lower: bool = False) -> Any:
    """The solution of ``a @ x = b`` for a triangular matrix.

    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 5.0]), lower=True)
    array([1., 1.])
    """
    return lib.solve_triangular(a, b, lower)


@operation("lower", "b")
def cholesky_solve(lower: Any, b: Any) -> Any:
    """The solution ``x`` of ``a @ x = b``, where ``lower`` is :func:`cholesky` of ``a``: one
    factorisation for several right sides.

    >>> lower = cholesky(np.array([[4.0, 2.0], [2.0, 10.0]]))
    >>> cholesky_solve(lower, np.array([8.0, 22.0]))
    array([1., 2.])
    """
    return lib.cholesky_solve(lower, b)


@operation("a")
def inv(a: Any) -> Any:
    """The inverse matrix.

    >>> inv(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return lib.inverse(a)


@operation("a")
def det(a: Any) -> Any:
    """The determinant.

    >>> det(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array(6.)
    """
    return lib.det(a)


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


@operation("a")
def slogdet(a: Any) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its absolute value.

    >>> slogdet(np.array([[0.0, 2.0], [3.0, 0.0]])).logabsdet
    array(1.79175947)
    """
    return SlogdetResult(*lib.slogdet(a))


@operation("a")
def matrix_power(a: Any, n: int) -> Any:
    """The matrix to an integer power, also a negative one.

    >>> matrix_power(np.array([[1.0, 1.0], [0.0, 1.0]]), 3)
    array([[1., 3.],
           [0., 1.]])
    """
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
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices: that of Frobenius, or the largest (smallest) sum of absolute values of a
    column, 1 (-1), or of a row, ``inf`` (``-inf``).

    >>> matrix_norm(np.array([[1.0, -2.0], [3.0, 4.0]]), ord=np.inf)
    array(7.)
    """
    if ord in ("fro", None):
        return lib.norm(x, [-2, -1], keepdims, 2.0)
    if ord not in (1, -1, float("inf"), -float("inf")):
        message = f"the norm {ord!r} of a matrix"
        raise make("ArrayTypeError", "matrix_norm", message, "there are fro, 1, -1, inf and -inf")
    summed = -2 if abs(ord) == 1 else -1
    sums = lib.sum(abs(_core.asarray(x)), [summed], True)
    extreme = (lib.max if ord > 0 else lib.min)(sums, [-3 - summed], True)
    return extreme if keepdims else lib.squeeze(extreme, [-2, -1])


@operation("x")
def diagonal(x: Any, *, offset: int = 0) -> Any:
    """The diagonal of the last two axes.

    >>> diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    return lib.diagonal(_core.asarray(x), offset)


def __getattr__(name: str) -> Any:
    hint = REPLACED.get(name)
    message = f"cotan.linalg has no `{name}`" + (f": {hint}" if hint else "")
    raise AttributeError(message, name=name)

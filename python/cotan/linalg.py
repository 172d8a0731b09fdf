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
from ._operation import axes_of, operation, row
from .numpy import cross, matmul, matrix_transpose, outer, tensordot, trace, vecdot
from .numpy._known import REPLACED

__all__ = [
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "expm",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
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
    """The norm of matrices: that of Frobenius, the sum of the singular values (``nuc``), the largest
    (smallest) of these, 2 (-2), the largest (smallest) sum of absolute values of a column, 1 (-1), or
    of a row, ``inf`` (``-inf``).

    >>> matrix_norm(np.array([[1.0, -2.0], [3.0, 4.0]]), ord=np.inf)
    array(7.)
    """
    made = row("matrix_norm", a=x, p=_order(ord))
    return made[..., None, None] if keepdims else made


def _order(ord: Any) -> str:
    """The order of a norm of matrices as the library has it."""
    if ord is None or isinstance(ord, str):
        return ord or "fro"
    return str(int(ord)) if float(ord).is_integer() else str(float(ord))


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangular matrix."""

    Q: Any
    R: Any


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """Singular vectors as columns, singular values, and singular vectors as rows."""

    U: Any
    S: Any
    Vh: Any


@operation("a")
def lu(a: Any) -> tuple[Any, Any, Any]:
    """``p``, ``l`` and ``u`` with ``a = p @ l @ u``, as in SciPy.

    >>> lu(np.array([[1.0, 4.0], [2.0, 6.0]]))[2]
    array([[2., 6.],
           [0., 1.]])
    """
    return row("lu", a=a)


@operation("a")
def qr(a: Any) -> QRResult:
    """Orthonormal columns and an upper triangular matrix with ``a = q @ r``. Unlike numpy's, the
    diagonal of ``r`` is not negative.

    >>> qr(np.array([[2.0, 1.0], [0.0, 3.0]])).R
    array([[2., 1.],
           [0., 3.]])
    """
    return QRResult(*row("qr", a=a))


@operation("a")
def eigh(a: Any) -> EighResult:
    """Eigenvalues of symmetric matrices in ascending order, and eigenvectors as columns, of the lower
    triangles. Of each vector, the first element of at least 9/10 of the largest is positive.

    >>> eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    array([1., 2.])
    """
    return EighResult(*row("eigh", a=a))


@operation("a")
def eigvalsh(a: Any) -> Any:
    """Eigenvalues of symmetric matrices in ascending order. The gradient of their sum is right also
    where some are equal.

    >>> eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    return row("eigvalsh", a=a)


@operation("a")
def svd(a: Any, full_matrices: bool = False) -> SVDResult:
    """``u``, ``s`` and ``vh`` with ``a = (u * s) @ vh``, in descending order of ``s``. Unlike in numpy,
    ``full_matrices`` is false if it is not given, and cannot be true.

    >>> svd(np.array([[3.0, 0.0], [0.0, 4.0]])).S
    array([4., 3.])
    """
    if full_matrices:
        hint = "give full_matrices=False, and complete the vectors by qr if they are needed"
        raise make("ArrayTypeError", "svd", "full matrices, of which some columns are arbitrary", hint)
    return SVDResult(*row("svd", a=a))


@operation("a")
def svdvals(a: Any) -> Any:
    """The singular values in descending order.

    >>> svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])
    """
    return row("svdvals", a=a)


@operation("a")
def pinv(a: Any) -> Any:
    """The pseudoinverse. Its derivative is that for matrices of the same rank.

    >>> pinv(np.array([[2.0], [0.0]]))
    array([[0.5, 0. ]])
    """
    return row("pinv", a=a)


@operation("a", "b")
def lstsq(a: Any, b: Any) -> Any:
    """The ``x`` for which ``a @ x`` is nearest to ``b``, and the smallest of several; columns, or rows if
    there are fewer, must be linearly independent. Unlike numpy's, only the solution.

    >>> lstsq(np.array([[2.0], [0.0]]), np.array([6.0, 1.0]))
    array([3.])
    """
    return row("lstsq", a=a, b=b)


@operation("a")
def expm(a: Any) -> Any:
    """The exponential of square matrices.

    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    return row("expm", a=a)


@operation("a")
def cond(a: Any, p: Any = None) -> Any:
    """The condition, for a norm of :func:`matrix_norm`; by default 2.

    >>> cond(np.array([[3.0, 0.0], [0.0, 6.0]]))
    array(2.)
    """
    return row("cond_number", a=a, p=_order(2 if p is None else p))


@operation("a")
def matrix_rank(a: Any) -> Any:
    """The rank: how many singular values are not next to 0.

    >>> matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array(1)
    """
    return row("matrix_rank", a=a)


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

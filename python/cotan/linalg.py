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
from ._solve import bicgstab, cg, gmres
from .numpy import (
    concatenate,
    cross,
    expand_dims,
    eye,
    matmul,
    matrix_transpose,
    moveaxis,
    outer,
    pad,
    tensordot,
    trace,
    vecdot,
)
from .numpy._known import REPLACED

__all__ = [
    "EighResult",
    "LUResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "bicgstab",
    "cg",
    "cholesky",
    "cholesky_solve",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "expm",
    "gmres",
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
    """The norm of vectors along an axis, or of matrices along two; of all elements by default, and with
    an order that of a vector or a matrix. Its derivative at 0 is 0.

    >>> norm(np.array([3.0, 4.0]))
    array(5.)
    >>> norm(np.array([[3.0, 0.0], [0.0, 4.0]]), 2)
    array(4.)
    """
    array = _core.asarray(x)
    axes = axes_of(axis)
    if ord is None or (axes is None and array.ndim < 2) or (axes is not None and len(axes) == 1):
        order = 2.0 if ord is None else _power("norm", ord)
        return lib.norm(array, axes, keepdims, order)
    if (array.ndim if axes is None else len(axes)) != 2:
        message = f"a norm of order {ord!r} of an array of shape {tuple(array.shape)}"
        raise make("ArrayTypeError", "norm", message, "name one axis or two by `axis`")
    rows, columns = axes or (0, 1)
    made = matrix_norm(moveaxis(array, (rows, columns), (-2, -1)), ord=ord)
    if not keepdims:
        return made
    return expand_dims(made, sorted(axis % array.ndim for axis in (rows, columns)))


def _power(name: str, order: Any) -> float:
    if isinstance(order, str):
        hint = "orders of vectors are numbers; `fro` and `nuc` are those of matrices"
        raise make("ArrayTypeError", name, f"the norm {order!r} of a vector", hint)
    return float(order)


@operation("x")
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes; of all elements by default. Its derivative at 0 is 0.

    >>> vector_norm(np.array([[3.0, 0.0], [0.0, 4.0]]), ord=1)
    array(7.)
    """
    return lib.norm(x, axes_of(axis), keepdims, _power("vector_norm", ord))


@operation("x")
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices: ``fro``, the root of the sum of squares; ``nuc``, the sum of the singular
    values; 2 and -2, the largest and smallest of these; 1 and -1, the largest and smallest sum of
    absolute values of a column; ``inf`` and ``-inf``, of a row.

    >>> matrix_norm(np.array([[1.0, -2.0], [3.0, 4.0]]), ord=np.inf)
    array(7.)
    >>> matrix_norm(np.array([[3.0, 0.0], [0.0, 4.0]]), ord="nuc")
    array(7.)
    """
    made = row("matrix_norm", a=x, p=_order("matrix_norm", "fro" if ord is None else ord))
    return expand_dims(made, (-2, -1)) if keepdims else made


_ORDERS = {"fro", "nuc", "2", "-2", "1", "-1", "inf", "-inf"}


def _order(name: str, order: Any) -> str:
    """The word that the library has for a norm."""
    word = order if isinstance(order, str) else f"{float(order):g}"
    if word not in _ORDERS:
        message = f"the norm {order!r} of a matrix"
        raise make(
            "ArrayTypeError", name, message, "there are fro, nuc, 1, -1, 2, -2, inf and -inf"
        )
    return word


class LUResult(NamedTuple):
    """A permutation, a lower and an upper triangular matrix, whose product is the matrix."""

    P: Any
    L: Any
    U: Any


@operation("a")
def lu(a: Any) -> LUResult:
    """The permutation, the lower triangular matrix with ones on its diagonal, and the upper triangular
    one, whose product is the square matrix ``a``: by elimination with row pivots.

    >>> p, l, u = lu(np.array([[1.0, 4.0], [2.0, 6.0]]))
    >>> l, u
    (array([[1. , 0. ],
           [0.5, 1. ]]), array([[2., 6.],
           [0., 1.]]))
    """
    return LUResult(*row("lu", a=a))


class QRResult(NamedTuple):
    """A matrix with orthonormal columns and an upper triangular one."""

    Q: Any
    R: Any


@operation("x")
def qr(x: Any, *, mode: str = "reduced") -> Any:
    """``Q`` with orthonormal columns and the upper triangular ``R``, whose product is ``x``; ``R`` alone
    by ``mode="r"``, a square ``Q`` by ``"complete"``. The diagonal of ``R`` is not negative.

    >>> q, r = qr(np.array([[0.0, 1.0], [2.0, 3.0]]))
    >>> abs(q @ r - np.array([[0.0, 1.0], [2.0, 3.0]])).max() < 1e-14
    np.True_
    """
    if mode not in ("reduced", "complete", "r"):
        hint = "there are reduced, complete and r"
        raise make("ArrayTypeError", "qr", f"there is no mode {mode!r}", hint)
    q, r = row("qr", a=x)
    if mode == "r":
        return r
    missing = q.shape[-2] - q.shape[-1]
    if mode == "complete" and missing:
        widths = [*[(0, 0)] * (r.ndim - 2), (0, missing), (0, 0)]
        return QRResult(_completed(q), pad(r, widths))
    return QRResult(q, r)


def _completed(q: Any) -> Any:
    """Orthonormal columns, with others that make the matrix square. Those are not unique, and have no
    derivative: NaN, where one is asked for.
    """
    from ._custom import custom_vjp

    rows, columns = q.shape[-2:]

    def rest(q: Any) -> Any:
        sizes = [*q.shape[:-1], rows - columns]
        units = lib.broadcast_to(eye(rows, rows - columns), sizes).cast_to(q.dtype_name)
        return row("qr", a=concatenate([q, units], axis=-1))[0][..., columns:]

    def rule(q: Any, g: Any) -> tuple[Any]:
        asked = lib.any_or_all(g != 0, None, False, False)
        return (_core.select(asked, float("nan"), 0.0 * q),)

    others = custom_vjp(rest)
    others.defvjp(lambda q: (rest(q), q), rule)
    return concatenate([q, others(q)], axis=-1)


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and their eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


def _lower(name: str, x: Any, triangle: str) -> Any:
    """The matrix whose lower triangle is the one that is to be read."""
    if triangle not in ("L", "U"):
        raise make("ArrayTypeError", name, f"there is no triangle {triangle!r}", "L or U")
    return x if triangle == "L" else matrix_transpose(x)


@operation("x")
def eigh(x: Any, UPLO: str = "L") -> EighResult:
    """The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors in columns; only
    the lower triangle (or the upper one) is read. Vectors of equal eigenvalues have no derivative.

    >>> eigh(np.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues.round(6)
    array([1., 3.])
    >>> ct.grad(lambda a: eigh(a).eigenvalues[1])(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    return EighResult(*row("eigh", a=_lower("eigh", x, UPLO)))


@operation("x")
def eigvalsh(x: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of a symmetric matrix in ascending order.

    >>> eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    return row("eigvalsh", a=_lower("eigvalsh", x, UPLO))


class SVDResult(NamedTuple):
    """Left singular vectors in columns, singular values in descending order, right ones in rows."""

    U: Any
    S: Any
    Vh: Any


@operation("x")
def svd(x: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """``U``, the singular values ``S`` in descending order, and ``Vh``. With ``full_matrices=False``
    there are as many columns of ``U`` and rows of ``Vh`` as values, and ``x = (U * S) @ Vh``; else both
    are square. Vectors of equal values, and those without a value, have no derivative.

    >>> u, s, vh = svd(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), full_matrices=False)
    >>> u.shape, s, vh.shape
    ((3, 2), array([4., 3.]), (2, 2))
    """
    if not compute_uv:
        return row("svdvals", a=x)
    u, s, vh = row("svd", a=x)
    if full_matrices and u.shape[-2] > u.shape[-1]:
        u = _completed(u)
    if full_matrices and vh.shape[-1] > vh.shape[-2]:
        vh = matrix_transpose(_completed(matrix_transpose(vh)))
    return SVDResult(u, s, vh)


@operation("x")
def svdvals(x: Any) -> Any:
    """The singular values in descending order.

    >>> svdvals(np.array([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])
    """
    return row("svdvals", a=x)


@operation("x", "rtol")
def pinv(x: Any, *, rtol: Any = None) -> Any:
    """The pseudoinverse. Singular values up to ``rtol`` times the largest count as 0: by default the
    larger number of rows and columns times the precision. (With ``rtol`` it is made of the singular
    vectors, and where values are equal has no derivative, as these.)

    >>> pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if rtol is None:
        return row("pinv", a=x)
    u, s, vh = row("svd", a=x)
    counts = _counting(s, rtol)
    inverse = _core.select(counts, 1.0 / _core.select(counts, s, 1.0), 0.0)
    return matrix_transpose(vh) @ (inverse[..., None] * matrix_transpose(u))


def _counting(s: Any, rtol: Any) -> Any:
    """Which singular values count."""
    bound = _core.asarray(rtol)
    return s > bound[..., None] * lib.max(s, [-1], True)


class LstsqResult(NamedTuple):
    """The solution, the sums of squares of what is left, the rank and the singular values."""

    x: Any
    residuals: Any
    rank: Any
    singular_values: Any


@operation("a", "b")
def lstsq(a: Any, b: Any, rcond: float | None = None) -> LstsqResult:
    """The ``x`` for which ``a @ x`` is nearest to ``b``; of a matrix with more columns than rows the
    smallest of the solutions. And the sums of squares of what is left, the rank and the singular
    values. The columns (or rows, if there are fewer) must be linearly independent, unless ``rcond``
    says which singular values count as 0, by their share of the largest.

    >>> found = lstsq(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 2.0, 4.0]))
    >>> found.x.round(6), found.residuals.round(6), found.rank
    (array([1., 3.]), array([2.]), array(2))
    """
    matrix, sides = _core.asarray(a), _core.asarray(b)
    x = row("lstsq", a=a, b=b) if rcond is None else pinv(matrix, rtol=rcond) @ sides
    left = sides - (matrix @ x)
    residuals = lib.sum(left * left, [0 if sides.ndim == 1 else -2], sides.ndim == 1)
    return LstsqResult(x, residuals, matrix_rank(matrix, rtol=rcond), row("svdvals", a=a))


@operation("x")
def cond(x: Any, p: Any = 2) -> Any:
    """The condition of matrices: the norm times that of the inverse.

    >>> cond(np.array([[3.0, 0.0], [0.0, 6.0]]))
    array(2.)
    """
    return row("cond_number", a=x, p=_order("cond", 2 if p is None else p))


@operation("x", "rtol")
def matrix_rank(x: Any, *, rtol: Any = None) -> Any:
    """The rank: how many singular values are above ``rtol`` times the largest; by default it is the
    larger number of rows and columns times the precision.

    >>> matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array(1)
    """
    if rtol is None:
        return row("matrix_rank", a=x)
    return lib.sum(_counting(row("svdvals", a=x), rtol), [-1], False)


@operation("a")
def expm(a: Any) -> Any:
    """The exponential of a square matrix.

    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    return row("expm", a=a)


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

"""Sparse Jacobians and Hessians, as arrays of ``scipy.sparse``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._core import SparsePlan, Traced, is_tracing, sparse_plan
from ._derivatives import Argnames, Argnums, places_of
from ._errors import make
from ._function import Function, expect_function, statics_of

# Of each function, and of each of its signatures.
_SIGNATURES, _PATTERNS = 64, 4

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


class CSR(NamedTuple):
    """A matrix by its rows: entry ``k`` is ``data[k]`` in column ``indices[k]``, and the entries of row
    ``r`` are those from ``indptr[r]`` to ``indptr[r + 1]``."""

    data: np.ndarray[Any, Any]
    indices: Ints
    indptr: Ints
    shape: tuple[int, int]


class _Planned:
    """A plan, and its pattern as SciPy numbers things."""

    def __init__(self, plan: SparsePlan) -> None:
        self.plan = plan
        starts, columns = plan.pattern()
        small = max(len(columns), *plan.shape) <= np.iinfo(np.int32).max
        dtype: Any = np.int32 if small else np.int64
        self.indptr, self.indices = starts.astype(dtype), columns.astype(dtype)

    def matrix(self, data: np.ndarray[Any, Any]) -> CSR:
        # Copies: SciPy changes these in place.
        return CSR(data, self.indices.copy(), self.indptr.copy(), self.plan.shape)


class SparseFunction:
    """A sparse derivative of a function: called with its arguments, it gives a ``scipy.sparse`` array.

    The pattern of the entries is found, and the program compiled, in the first call for a signature;
    and again where integers that positions depend on have changed.
    """

    def __init__(
        self,
        kind: str,
        f: Callable[..., Any],
        which: tuple[Argnums, Argnames],
        statics: tuple[Any, Any],
    ) -> None:
        expect_function(kind, f)
        self.__wrapped__ = f
        self.__name__ = f"{kind}({getattr(f, '__name__', 'f')})"
        self.__doc__ = getattr(f, "__doc__", None)
        self._kind, self._which, self._statics = kind, which, statics
        own = statics_of(f, *statics)
        # What differentiation is by: a number of Python counts as an array.
        self._function = Function(f, name=self.__name__, accepts="anything", **own)
        self._plans: dict[int, tuple[Traced, dict[tuple[int, ...], list[_Planned]]]] = {}

    def __reduce__(self) -> Any:
        return SparseFunction, (self._kind, self.__wrapped__, self._which, self._statics)

    def __repr__(self) -> str:
        return f"<cotan function {self.__name__}>"

    def _planned(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Traced, _Planned, list[Any]]:
        if is_tracing():
            message = "a sparse matrix inside a function that is traced"
            hint = (
                "take it outside; inside there are `ct.jacobian`, and products: `ct.jvp`, `ct.vjp`"
            )
            raise make("ScopeError", self._kind, message, hint)
        places, _ = places_of(self._kind, self.__wrapped__, self._which, args, kwargs)
        traced, leaves, owners = self._function.traced(*args, **kwargs)
        chosen = [n for place in places for n, owner in enumerate(owners) if owner == place]
        if traced.number not in self._plans:
            while len(self._plans) >= _SIGNATURES:
                self._plans.pop(next(iter(self._plans)), None)
            self._plans[traced.number] = traced, {}
        plans = self._plans[traced.number][1].setdefault(tuple(chosen), [])
        for found in list(plans):
            if found.plan.holds_at(leaves):
                return traced, found, leaves
        made = _Planned(sparse_plan(self._kind, traced.program, leaves, chosen))
        plans.append(made)
        del plans[:-_PATTERNS]
        return traced, made, leaves

    def csr(self, *args: Any, **kwargs: Any) -> CSR:
        """The matrix as its three arrays and its shape; does not need SciPy.

        >>> import cotan as ct, numpy as np
        >>> ct.sparse_jacobian(lambda x: x[1:] * x[:-1]).csr(np.array([1.0, 2.0, 3.0])).data
        array([2., 1., 3., 2.])
        """
        _, planned, leaves = self._planned(args, kwargs)
        return planned.matrix(planned.plan.call(leaves)[1])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _scipy(self.csr(*args, **kwargs))

    def with_value(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The value of the function and its Jacobian, in one run.

        >>> import cotan as ct, numpy as np
        >>> y, j = ct.sparse_jacobian(lambda x: x[1:] * x[:-1]).with_value(np.array([1.0, 2.0, 3.0]))
        >>> y, j.shape, j.nnz
        (array([2., 6.]), (2, 3), 4)
        """
        if self._kind == "sparse_hessian":
            hint = "call the function itself, or `ct.value_and_grad` of it"
            message = "only a Jacobian comes with the value of the function"
            raise make("ArrayTypeError", self._kind, message, hint)
        traced, planned, leaves = self._planned(args, kwargs)
        values, entries = planned.plan.call(leaves)
        return traced.results(values), _scipy(planned.matrix(entries))

    def pattern(self, *args: Any, **kwargs: Any) -> Any:
        """Where the matrix may have entries: a ``scipy.sparse`` array of truth values.

        >>> import cotan as ct, numpy as np
        >>> ct.sparse_jacobian(lambda x: x[1:] * x[:-1]).pattern(np.zeros(3)).toarray().astype(int)
        array([[1, 1, 0],
               [0, 1, 1]])
        """
        _, planned, _ = self._planned(args, kwargs)
        return _scipy(planned.matrix(np.ones(len(planned.indices), bool)))

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """How the matrix is computed.

        >>> import cotan as ct, numpy as np
        >>> ct.sparse_jacobian(lambda x: x[1:] * x[:-1]).explain(np.zeros(1000))
        '999 x 1000, 1998 entries, from 2 products in forward mode'
        """
        traced, planned, _ = self._planned(args, kwargs)
        plan = planned.plan
        modes = {
            "forward": "in forward mode",
            "reverse": "in reverse mode",
            "symmetric": "with the Hessian",
        }
        rows, columns = plan.shape
        text = f"{rows} x {columns}, {len(planned.indices)} entries, from {plan.colors} products "
        text += modes[plan.mode]
        decides = ", ".join(f"`{traced.names[k]}`" for k in plan.decided_by)
        return text + (f"; found again when {decides} changes" if decides else "")


def _scipy(matrix: CSR) -> Any:
    try:
        sparse: Any = importlib.import_module("scipy.sparse")
    except ImportError:
        hint = "install SciPy, or take `.csr(..)` in the place of the call, which needs none"
        raise make("DataError", "sparse", "SciPy is not installed", hint) from None
    data, indices, indptr, shape = matrix
    made = sparse.csr_array((data, indices, indptr), shape=shape)
    # Columns ascend, and none is twice.
    made.has_canonical_format = True
    return made


def sparse_jacobian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> SparseFunction:
    """The Jacobian as a ``scipy.sparse.csr_array``, where results depend on few arguments each.

    Rows number the elements of the float results, columns those of the arguments, one array after the
    other. Which entries there are follows from the indices of the program; columns (or rows) that
    have none in common are computed together.

    >>> import cotan as ct, numpy as np
    >>> jacobian = ct.sparse_jacobian(lambda x: x[1:] ** 2 - x[:-1])
    >>> jacobian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[-1.,  4.,  0.],
           [ 0., -1.,  6.]])
    """
    statics = static_argnums, static_argnames
    return SparseFunction("sparse_jacobian", f, (argnums, argnames), statics)


def sparse_hessian(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    argnames: Argnames = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> SparseFunction:
    """The Hessian of a function to a float scalar as a ``scipy.sparse.csr_array``.

    >>> import cotan as ct, numpy as np
    >>> hessian = ct.sparse_hessian(lambda x: ((x[1:] - x[:-1]) ** 2).sum() / 2)
    >>> hessian(np.zeros(4)).toarray()
    array([[ 1., -1.,  0.,  0.],
           [-1.,  2., -1.,  0.],
           [ 0., -1.,  2., -1.],
           [ 0.,  0., -1.,  1.]])
    """
    statics = static_argnums, static_argnames
    return SparseFunction("sparse_hessian", f, (argnums, argnames), statics)

"""Sparse Jacobians and Hessians: against dense ones, and with SciPy."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

sparse = pytest.importorskip("scipy.sparse", reason="scipy is not installed")

RNG = np.random.default_rng(5)
X = RNG.uniform(0.3, 1.2, 7)


def chain(x: Any) -> Any:
    return cnp.sin(x[1:]) * x[:-1] ** 2


def grid(u: Any) -> Any:
    """A nonlinear equation on a grid, an element at a time."""
    n = len(u)
    at = lambda i: ct.where((i >= 0) & (i < n), u[i], 0.0)
    return ct.build(n, lambda i: 2.0 * u[i] - at(i - 1) - at(i + 1) - cnp.exp(u[i]) / n**2)


def pairs(x: Any) -> Any:
    return (x[1:] * x[:-1]).sum() + (cnp.cos(x) * x**2).sum()


JACOBIANS: dict[str, Any] = {
    "chain": chain,
    "grid": grid,
    "diagonal": cnp.exp,
    "arrow": lambda x: cnp.concatenate([x[:1] * x[1:], x[1:] ** 2, x.sum()[None]]),
    "rows": lambda x: cnp.stack([x[0] * x[1], x[2]]),
    "full": lambda x: cnp.cumsum(x**2),
    "matrix": lambda x: cnp.outer(x[:2], x[2:4]),
    "constant": lambda x: x * 0.0 + 3.0,
    "nothing": lambda x: np.ones(3) + 0.0 * x[:0].sum(),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians_are_the_dense_ones(name: str) -> None:
    f = JACOBIANS[name]
    found = ct.sparse_jacobian(f)(X)
    wanted = ct.jacobian(f)(X)
    assert isinstance(found, sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), np.reshape(wanted, found.shape), atol=1e-13)
    found.check_format(full_check=True)
    assert found.has_sorted_indices


@pytest.mark.parametrize("f", [pairs, lambda x: (chain(x) ** 2).sum(), lambda x: x.sum() ** 3])
def test_hessians_are_the_dense_ones(f: Any) -> None:
    found = ct.sparse_hessian(f)(X)
    np.testing.assert_allclose(found.toarray(), ct.hessian(f)(X), atol=1e-12)
    np.testing.assert_allclose((found - found.T).toarray(), 0.0, atol=1e-13)


def test_few_products_for_many_columns() -> None:
    x = np.linspace(0.1, 1.0, 20_000)
    jacobian = ct.sparse_jacobian(grid)
    assert "from 3 products in forward mode" in jacobian.explain(x)
    assert jacobian(x).nnz == 3 * len(x) - 2
    assert "star" not in ct.sparse_hessian(pairs).explain(x)
    value, j = jacobian.with_value(x)
    np.testing.assert_allclose(value, ct.jit(grid)(x))
    # Products with it are those of `jvp`.
    v = np.cos(np.arange(len(x)))
    np.testing.assert_allclose(j @ v, ct.jvp(grid, (x,), (v,))[1], atol=1e-12)


def test_arguments_structures_and_static_ones() -> None:
    def f(p: Any, x: Any, n: int = 1, scale: bool = True) -> Any:
        y = p["a"] * x + p["b"]
        for _ in range(n):
            y = y * y
        return {"y": y if scale else -y, "z": x[:2] * p["c"]}

    p = {"a": X[:4], "b": X[1:5], "c": 2.0}
    x = X[2:6]
    by_p = ct.sparse_jacobian(f, static_argnames="n")(p, x, n=2)
    dense = ct.jacobian(f, static_argnames="n")(p, x, n=2)
    blocks = [
        np.hstack([np.reshape(dense[row][name], (rows, -1)) for name in "abc"])
        for row, rows in (("y", 4), ("z", 2))
    ]
    np.testing.assert_allclose(by_p.toarray(), np.vstack(blocks))
    both = ct.sparse_jacobian(f, argnums=(0, 1), static_argnames=("n", "scale"))
    assert both(p, x).shape == (6, 13) and both(p, x, scale=False).shape == (6, 13)
    np.testing.assert_allclose(
        both(p, x).toarray()[:, 9:].diagonal(), 2 * (X[:4] * x + X[1:5]) * X[:4]
    )
    named = ct.sparse_jacobian(f, argnames="x")
    np.testing.assert_allclose(named(p, x=x).toarray(), both(p, x).toarray()[:, 9:])
    np.testing.assert_allclose(named(p, x).toarray(), both(p, x).toarray()[:, 9:])
    value, _ = named.with_value(p, x)
    assert sorted(value) == ["y", "z"]


def test_patterns_follow_integers() -> None:
    jacobian = ct.sparse_jacobian(lambda x, p: x[p] ** 2)
    for p in ([0, 1, 2], [2, 2, 0], [0, 1, 2], [1, 1, 1]):
        found = jacobian(X, np.array(p))
        wanted = np.zeros((3, 7))
        wanted[range(3), p] = 2 * X[p]
        np.testing.assert_allclose(found.toarray(), wanted)
    assert "found again when `p` changes" in jacobian.explain(X, np.array([0]))


def test_matrices_are_of_their_own() -> None:
    jacobian = ct.sparse_jacobian(chain)
    first = jacobian(X)
    first.data[:] = 0.0
    first.eliminate_zeros()
    assert jacobian(X).nnz == 12 and first.nnz == 0
    pattern = jacobian.pattern(X)
    assert pattern.dtype == bool and pattern.nnz == 12
    assert pickle.loads(pickle.dumps(ct.sparse_jacobian(cnp.exp)))(X).nnz == 7
    assert ct.sparse_jacobian(chain)(X.astype(np.float32)).dtype == np.float32
    # Other shapes are other programs.
    assert jacobian(X[:3]).shape == (2, 3) and jacobian(X[:0]).shape[1] == 0


BAD: dict[str, tuple[type[Exception], Any]] = {
    "integers": (TypeError, lambda: ct.sparse_jacobian(lambda x: x * 2)(np.arange(3))),
    "no floats": (TypeError, lambda: ct.sparse_jacobian(lambda x: x > 0)(X)),
    "no scalar": (TypeError, lambda: ct.sparse_hessian(lambda x: x)(X)),
    "argument": (TypeError, lambda: ct.sparse_jacobian(chain, argnums=1)(X)),
    "name": (TypeError, lambda: ct.sparse_jacobian(chain, argnames="y")(X)),
    "value": (TypeError, lambda: ct.sparse_hessian(pairs).with_value(X)),
    "traced": (ct.errors.ScopeError, lambda: ct.jit(lambda x: ct.sparse_jacobian(chain)(x))(X)),
    "mixed": (
        TypeError,
        lambda: ct.sparse_jacobian(lambda x, y: x * y, (0, 1))(X, X.astype(np.float32)),
    ),
    "no function": (TypeError, lambda: ct.sparse_jacobian(3.0)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    kind, run = BAD[name]
    with pytest.raises(kind) as caught:
        run()
    assert isinstance(caught.value, ct.CotanError)
    assert not isinstance(caught.value, ct.errors.InternalError), caught.value


def test_least_squares_and_root_finding() -> None:
    from scipy.optimize import least_squares
    from scipy.sparse.linalg import spsolve

    n = 60
    noisy = np.sin(np.linspace(0.0, 3.0, n)) + 0.05 * RNG.standard_normal(n)

    def residuals(x: Any) -> Any:
        return cnp.concatenate([x - noisy, 3.0 * (x[2:] - 2.0 * x[1:-1] + x[:-2])])

    found = least_squares(ct.jit(residuals), np.zeros(n), jac=ct.sparse_jacobian(residuals))
    dense = least_squares(ct.jit(residuals), np.zeros(n), jac=ct.jacobian(residuals))
    assert found.success and np.allclose(found.x, dense.x, atol=1e-6)
    # Newton's method with a sparse solver.
    u = np.zeros(50)
    jacobian = ct.sparse_jacobian(grid)
    for _ in range(6):
        value, j = jacobian.with_value(u)
        u = u - spsolve(j.tocsc(), value)
    assert abs(ct.jit(grid)(u)).max() < 1e-12


def test_without_scipy() -> None:
    text = """
import sys
sys.modules["scipy"] = sys.modules["scipy.sparse"] = None
import numpy as np, cotan as ct
f = ct.sparse_jacobian(lambda x: x[1:] - x[:-1])
assert f.csr(np.ones(3)).indices.tolist() == [0, 1, 1, 2]
try:
    f(np.ones(3))
except ct.errors.DataError as error:
    print(error.hint)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0 and ".csr(..)" in done.stdout, done.stderr

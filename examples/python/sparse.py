"""Sparse Jacobians: Newton's method for an equation on a grid, and a fit with many parameters."""

import numpy as np
from scipy.optimize import least_squares
from scipy.sparse.linalg import spsolve

import cotan as ct
import cotan.numpy as cnp


def bratu(u):
    """The residual of -u'' = exp(u) on points between two walls where u is 0, one point at a time."""
    n = len(u)
    at = lambda i: ct.where((i >= 0) & (i < n), u[i], 0.0)
    return ct.build(n, lambda i: (2.0 * u[i] - at(i - 1) - at(i + 1)) * (n + 1) ** 2 - cnp.exp(u[i]))


def newton() -> None:
    u = np.zeros(2000)
    jacobian = ct.sparse_jacobian(bratu)
    for step in range(20):
        value, j = jacobian.with_value(u)
        change = spsolve(j.tocsc(), -value)
        u = u + change
        if abs(change).max() < 1e-12:
            break
    assert abs(u.max() - 0.1405392) < 1e-5, u.max()
    print(f"bratu: {step + 1} steps, u = {u.max():.6f} in the middle; {jacobian.explain(u)}")


def smooth() -> None:
    """A value for each of many times: what was measured, and as little curvature as possible."""
    random = np.random.default_rng(0)
    t = np.linspace(0.0, 6.0, 300)
    y = np.sin(t) + 0.1 * random.standard_normal(t.size)

    def residuals(x):
        return cnp.concatenate([x - y, 30.0 * (x[2:] - 2.0 * x[1:-1] + x[:-2])])

    found = least_squares(ct.jit(residuals), y, jac=ct.sparse_jacobian(residuals))
    error = np.sqrt(np.mean((found.x - np.sin(t)) ** 2))
    assert found.success and error < 0.06, error
    print(f"smoothing: {t.size} parameters, {found.njev} Jacobians, error {error:.3f}")


if __name__ == "__main__":
    newton()
    smooth()

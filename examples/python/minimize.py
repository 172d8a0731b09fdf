"""scipy's optimisers with exact gradients, products with Hessians and Jacobians."""

import numpy as np
from scipy.optimize import least_squares, minimize

import cotan as ct
import cotan.numpy as cnp


def rosenbrock(x):
    return cnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def newton() -> None:
    both = ct.value_and_grad(rosenbrock)
    found = minimize(
        both, np.zeros(10), jac=True, hessp=ct.hvp(rosenbrock), method="trust-ncg", tol=1e-10
    )
    assert found.success and np.allclose(found.x, 1.0), found
    print(f"rosenbrock: {found.nit} steps of Newton's method, f = {found.fun:.1e}")


def residuals(p, t, y):
    """A damped wave less what was measured."""
    return p["height"] * cnp.exp(-p["decay"] * t) * cnp.sin(p["rate"] * t) - y


def fit() -> None:
    random = np.random.default_rng(0)
    t = np.linspace(0.0, 6.0, 80)
    truth = {"height": 2.0, "decay": 0.3, "rate": 2.5}
    y = np.asarray(residuals(truth, t, 0.0)) + 0.01 * random.standard_normal(80)
    names = sorted(truth)

    # scipy knows vectors, we know structures.
    def of_vector(x, t, y):
        return residuals({name: x[k] for k, name in enumerate(names)}, t, y)

    found = least_squares(
        ct.jit(of_vector), np.ones(3) * 2.0, jac=ct.jacfwd(of_vector), args=(t, y)
    )
    fitted = dict(zip(names, found.x, strict=True))
    assert all(abs(fitted[name] - truth[name]) < 0.05 for name in names), fitted
    print("least squares:", {name: round(float(value), 3) for name, value in fitted.items()})


if __name__ == "__main__":
    newton()
    fit()

"""A Gaussian process whose length scales are learnt, through a Cholesky decomposition."""

import numpy as np

import cotan as ct
import cotan.numpy as cnp


def covariance(p, x, z):
    """Of the values at the rows of x with those at the rows of z, without noise."""
    scales = cnp.exp(p["scales"])
    return ct.build(
        (len(x), len(z)),
        lambda i, j: cnp.exp(2 * p["amplitude"] - 0.5 * (((x[i] - z[j]) / scales) ** 2).sum()),
    )


def factor(p, x):
    return ct.linalg.cholesky(covariance(p, x, x) + cnp.exp(2 * p["noise"]) * cnp.eye(len(x)))


def loss(p, x, y):
    """Minus the logarithm of the likelihood."""
    lower = factor(p, x)
    white = ct.linalg.solve_triangular(lower, y, lower=True)
    constant = 0.5 * len(y) * np.log(2 * np.pi)
    return 0.5 * (white**2).sum() + cnp.log(cnp.diagonal(lower)).sum() + constant


@ct.jit
def predict(p, x, y, others):
    """The means of the values at other points."""
    lower = factor(p, x)
    cross = ct.linalg.solve_triangular(lower, covariance(p, x, others), lower=True)
    return cross.T @ ct.linalg.solve_triangular(lower, y, lower=True)


def truth(x):
    """Of three coordinates the first matters much, the second little, the third not at all."""
    return np.sin(3.0 * x[:, 0]) + 0.3 * x[:, 1]


def main() -> None:
    random = np.random.default_rng(0)
    x, others = random.uniform(-1.0, 1.0, (80, 3)), random.uniform(-1.0, 1.0, (200, 3))
    y = truth(x) + 0.1 * random.standard_normal(80)

    start = {"amplitude": 0.0, "scales": np.zeros(3), "noise": -1.0}
    found = ct.optim.lbfgs(loss, start, x, y, gradient_tolerance=1e-4)
    scales = np.exp(found.point["scales"])
    error = np.sqrt(np.mean((predict(found.point, x, y, others) - truth(others)) ** 2))
    print(f"length scales {scales.round(2)}, noise {float(np.exp(found.point['noise'])):.3f}")
    print(f"error at other points {error:.4f} (root of the mean square)")
    assert error < 0.1 and scales[0] < scales[1] < scales[2]


if __name__ == "__main__":
    main()

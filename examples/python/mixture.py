"""A mixture of Gaussians, written one element at a time, fitted by Adam; a picture of it if matplotlib
is installed.
"""

import sys

import numpy as np

import cotan as ct
import cotan.numpy as cnp


def loss(p, x):
    """The negative logarithm of the likelihood of points under a mixture."""
    (n, d), k = x.shape, len(p["mean"])
    weights = ct.nn.log_softmax(p["weight"])

    def log_joint(i, c):
        width = cnp.exp(p["width"][c])
        distance = (x[i] - p["mean"][c]) / width
        return weights[c] - d * p["width"][c] - 0.5 * (distance * distance).sum()

    return -cnp.logsumexp(ct.build((n, k), log_joint), axis=1).mean()


def main() -> None:
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    x = np.concatenate([c + 0.5 * random.standard_normal((100, 2)) for c in centres])
    start = np.array([[0.5, 1.0], [3.0, 1.0], [2.0, 2.0]])
    p = {"weight": np.zeros(3), "width": np.zeros(3), "mean": start}

    method = ct.optim.adam(0.05)

    @ct.jit
    def step(p, state, x):
        value, gradient = ct.value_and_grad(loss)(p, x)
        p, state = method.step(p, gradient, state)
        return p, state, value

    state = method.init(p)
    for n in range(400):
        p, state, value = step(p, state, x)
        if n % 100 == 0:
            print(f"step {n}: {float(value):.4f}")
    found = p["mean"][np.argsort(p["mean"].sum(1))]
    assert np.allclose(found, centres[np.argsort(centres.sum(1))], atol=0.2), found
    picture(p, x)


def picture(p, x) -> None:
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    path = sys.argv[1] if len(sys.argv) > 1 else "mixture.png"
    plt.scatter(*x.T, s=5)
    plt.scatter(*p["mean"].T, s=2e4 * np.exp(p["width"]) ** 2 / 10, alpha=0.3)
    plt.savefig(path)
    print("the picture is in", path)


if __name__ == "__main__":
    main()

"""How warm a plate was, from how warm it is now: an inverse problem with 1,600 unknowns."""

import numpy as np

import cotan as ct
import cotan.numpy as cnp

SIZE, STEPS, KAPPA, NOISE, ALPHA = 40, 60, 0.2, 0.002, 1e-5


def heat(start):
    """The plate some time later. A computed index outside of an array reads 0: the cold edges."""

    def step(_, u):
        def element(i, j):
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            return u[i, j] + KAPPA * (around - 4.0 * u[i, j])

        return ct.build((SIZE, SIZE), element)

    return ct.fori_loop(0, STEPS, step, start)


def loss(start, seen):
    """The misfit, and the total variation, which prefers flat pieces with few edges."""
    down, across = start[1:, :-1] - start[:-1, :-1], start[:-1, 1:] - start[:-1, :-1]
    variation = cnp.sqrt(down**2 + across**2 + 1e-4).sum()
    return 0.5 * ((heat(start) - seen) ** 2).sum() + ALPHA * variation


def plate():
    """A warm disc and a hot bar."""
    i, j = np.indices((SIZE, SIZE))
    disc = 0.6 * (np.hypot(i - 12, j - 13) < 6.5)
    return np.where((22 <= i) & (i < 31) & (17 <= j) & (j < 33), 1.0, disc)


def main() -> None:
    exact = plate()
    seen = ct.jit(heat)(exact) + NOISE * np.random.default_rng(0).standard_normal((SIZE, SIZE))
    found = ct.optim.lbfgs(loss, np.zeros((SIZE, SIZE)), seen, max_iterations=400)

    def off(u):
        return np.linalg.norm(u - exact) / np.linalg.norm(exact)

    print(f"what is seen differs from the truth by {off(seen):.1%}")
    print(f"what was found differs from the truth by {off(found.point):.1%}")
    assert off(found.point) < 0.5 * off(seen)


if __name__ == "__main__":
    main()

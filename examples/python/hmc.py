"""Hamiltonian Monte Carlo on a log-density: a sampler whose trajectories are one compiled program."""

import numpy as np

import cotan as ct
import cotan.numpy as cnp

STEPS, SIZE = 12, 0.15


def log_density(q):
    """A correlated normal distribution."""
    a, b = q["a"], q["b"]
    return -0.5 * (a**2 + ((b - a[0]) / 0.5) ** 2).sum()


@ct.jit
def trajectory(q, p):
    """Leapfrog steps, and how much energy they have lost."""
    slope = ct.grad(log_density)

    def energy(q, p):
        kinetic = sum(0.5 * (x * x).sum() for x in ct.tree.leaves(p))
        return kinetic - log_density(q)

    def step(_, state):
        q, p = state
        p = ct.tree.map(lambda p, g: p + 0.5 * SIZE * g, p, slope(q))
        q = ct.tree.map(lambda q, p: q + SIZE * p, q, p)
        p = ct.tree.map(lambda p, g: p + 0.5 * SIZE * g, p, slope(q))
        return q, p

    end_q, end_p = ct.fori_loop(0, STEPS, step, (q, p))
    return end_q, cnp.exp(energy(q, p) - energy(end_q, end_p))


def main() -> None:
    key = ct.random.key(0)
    q = {"a": np.zeros(1), "b": np.zeros(1)}
    samples, accepted = [], 0
    for n in range(3000):
        one, two, three = ct.random.split(ct.random.fold_in(key, n), 3)
        p = {"a": ct.random.normal(one, 1), "b": ct.random.normal(two, 1)}
        proposed, odds = trajectory(q, p)
        if ct.random.uniform(three) < odds:
            q, accepted = proposed, accepted + 1
        samples.append((q["a"][0], q["b"][0]))
    mean, covariance = np.mean(samples, 0), np.cov(np.transpose(samples))
    print(
        f"accepted {accepted / 3000:.0%}, mean {mean.round(2)}, covariance {covariance.round(2).tolist()}"
    )
    assert accepted > 2000 and np.allclose(mean, 0.0, atol=0.15)
    assert np.allclose(covariance, [[1.0, 1.0], [1.0, 1.25]], atol=0.2)


if __name__ == "__main__":
    main()

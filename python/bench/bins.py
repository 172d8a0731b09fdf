"""Prints a table of reductions by index, with operators of one's own and with those that have rules of
their own, and their gradients: this package beside JAX.

Run it as ``python python/bench/bins.py [--processor-time]``; JAX is left out where it is not installed.
Each number is the least of several rounds, in which both take turns; both agree before any is timed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from peers import jax, jnp  # first: it sets the numbers of threads

import numpy as np

import cotan as ct
import cotan.numpy as cnp


RNG = np.random.default_rng(0)
CLOCK = time.process_time if "--processor-time" in sys.argv[1:] else time.perf_counter
ROUNDS = 7
SIZE = 1_000_000

# Both libraries have an array of the elements, their ids and the weights of the results.
Op = Callable[[Any, Any], Any]


def add(a: Any, b: Any) -> Any:
    return a + b


def times(a: Any, b: Any) -> Any:
    return a * b


def affine(a: Any, b: Any) -> Any:
    """``x -> a[0] x + a[1]``, and then the other: associative, but not commutative."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def logaddexp(a: Any, b: Any) -> Any:
    """Running maxima and sums, as in a softmax in one pass."""
    top = cnp.maximum(a[0], b[0])
    return top, a[1] * cnp.exp(a[0] - top) + b[1] * cnp.exp(b[0] - top)


def spread(n: Any, a: Any, b: Any) -> Any:
    """Counts, means and sums of squares about them (Welford, Chan)."""
    count = a[0] + b[0]
    delta = b[1] - a[1]
    share = b[0] / n.maximum(count, 1.0)
    return count, a[1] + delta * share, a[2] + b[2] + delta * delta * a[0] * share


def timed(f: Callable[[], Any]) -> tuple[float, Any]:
    begin = CLOCK()
    made = f()
    return CLOCK() - begin, made


def row(name: str, runs: dict[str, Callable[[], Any]]) -> None:
    values = {key: [np.asarray(x) for x in run()] for key, run in runs.items()}
    for key, found in values.items():
        for x, y in zip(found, values["cotan"], strict=True):
            if not np.allclose(x, y, rtol=1e-9, atol=1e-9, equal_nan=True):
                sys.exit(f"{name}: {key} and cotan differ")
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for key, run in runs.items():
            best[key] = min(best[key], timed(run)[0])
    cells = [f"{1e3 * best[key]:.2f}" if key in best else "" for key in ("cotan", "jax")]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def both(name: str, ours: Any, theirs: Any, *args: Any) -> None:
    """Value and gradient by the first argument of a sum of weighted results."""
    f = ct.value_and_grad(ours)
    runs = {"cotan": lambda: f(*args)}
    if jax is not None and theirs is not None:
        g = jax.jit(jax.value_and_grad(theirs))
        at = [jnp.asarray(x) for x in args]
        runs["jax"] = lambda: jax.block_until_ready(g(*at))
    row(name, runs)


def main() -> None:
    print(f"| {SIZE} elements, value and gradient, milliseconds | cotan | jax |")
    print("|---|--:|--:|")
    x = RNG.uniform(0.5, 1.5, SIZE)
    holes = np.where(RNG.random(SIZE) < 1e-4, 0.0, x)
    for bins in (1000, 100_000):
        ids, w = RNG.integers(0, bins, SIZE), RNG.normal(size=bins)

        def ours(op: Op, unit: float, bins: int = bins) -> Any:
            return lambda x, ids, w: cnp.sum(w * ct.reduce_by_index(op, unit, ids, x, bins))

        def theirs(segment: str, bins: int = bins) -> Any:
            if jax is None:
                return None
            f = getattr(jax.ops, segment)
            return lambda x, ids, w: jnp.sum(w * f(x, ids, bins))

        both(f"+, {bins} bins", ours(add, 0.0), theirs("segment_sum"), x, ids, w)
        largest = ours(cnp.maximum, -np.inf)
        both(f"max, {bins} bins", largest, theirs("segment_max"), x, ids, w)
        small = np.exp((x - 1.0) * 1e-3)
        # JAX has no gradient of this one.
        both(f"*, {bins} bins", ours(times, 1.0), None, small, ids, w)
        both(f"*, {bins} bins, some factors 0", ours(times, 1.0), None, holes, ids, w)

        def variance(x: Any, ids: Any, w: Any, bins: int = bins) -> Any:
            op = lambda a, b: spread(cnp, a, b)  # noqa: E731
            elements = cnp.ones_like(x), x, cnp.zeros_like(x)
            _, mean, m2 = ct.reduce_by_index(op, (0.0, 0.0, 0.0), ids, elements, bins)
            return cnp.sum(w * (mean + m2))

        def variance_jax(x: Any, ids: Any, w: Any, bins: int = bins) -> Any:
            """By sums, as one writes it there: it has no operators of one's own."""
            count = jax.ops.segment_sum(jnp.ones_like(x), ids, bins)
            mean = jax.ops.segment_sum(x, ids, bins) / jnp.maximum(count, 1.0)
            m2 = jax.ops.segment_sum((x - mean[ids]) ** 2, ids, bins)
            return jnp.sum(w * (mean + m2))

        both(f"mean and spread (structures of three), {bins} bins", variance, variance_jax, x, ids, w)

    a, b = RNG.uniform(0.5, 1.0, SIZE), RNG.normal(size=SIZE)

    def scanned(a: Any, b: Any) -> Any:
        return cnp.sum(ct.associative_scan(affine, (a, b))[1])

    def scanned_jax(a: Any, b: Any) -> Any:
        return jnp.sum(jax.lax.associative_scan(affine, (a, b))[1])

    both("scan of affine functions", scanned, scanned_jax, a, b)

    def reduced(a: Any, b: Any) -> Any:
        top, total = ct.reduce(logaddexp, (-np.inf, 0.0), (a, cnp.exp(b)))
        return top + cnp.log(total)

    def reduced_jax(a: Any, b: Any) -> Any:
        return jax.scipy.special.logsumexp(a, b=jnp.exp(b))

    both("reduction of pairs (softmax in one pass)", reduced, reduced_jax, a, b)


if __name__ == "__main__":
    main()

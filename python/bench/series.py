"""Prints tables of derivatives of high order: Taylor mode of this package beside nested derivatives, its
own and those of JAX, and Laplacians in one pass beside those of JAX.

Run it as ``python python/bench/series.py [--processor-time]``; JAX is left out where it is not installed.
Each number is the least of several rounds, in which all take turns; all agree before any is timed.
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

try:
    from jax.experimental import jet as jax_jet
except ImportError:
    jax_jet = None

RNG = np.random.default_rng(0)
CLOCK = time.process_time if "--processor-time" in sys.argv[1:] else time.perf_counter
ROUNDS = 7
# Nested derivatives double from order to order.
MAX_NESTED = 10


def network(n: Any, weights: list[Any], x: Any) -> Any:
    """Of a point, or of the rows of a matrix."""
    for w in weights[:-1]:
        x = n.tanh(n.dot(x, w))
    return n.sum(n.dot(x, weights[-1]))


def parameters(dims: list[int]) -> list[Any]:
    pairs = zip(dims[:-1], dims[1:], strict=True)
    return [RNG.normal(size=(a, b)) / np.sqrt(a) for a, b in pairs]


def timed(f: Callable[[], Any]) -> tuple[float, Any]:
    begin = CLOCK()
    made = f()
    return CLOCK() - begin, made


def least(runs: dict[str, Callable[[], Any]], name: str) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of the first call and of further ones."""
    first, values = {}, {}
    for key, run in runs.items():
        first[key], values[key] = timed(run)
    expected = np.asarray(values["cotan"], float)
    for key, value in values.items():
        error = np.max(np.abs(np.asarray(value, float) - expected) / (1e-300 + np.abs(expected)))
        if not error <= 1e-8:
            sys.exit(f"{name}: {key} has {value} where cotan has {expected}")
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for key, run in runs.items():
            # As many calls as the clock can see.
            calls = max(1, min(200, int(0.02 / max(best[key], 1e-5)))) if best[key] < 1 else 1
            seconds = timed(lambda run=run, calls=calls: [run() for _ in range(calls)])[0]
            best[key] = min(best[key], seconds / calls)
    return first, best


def nested(derive: Callable[..., Any], f: Callable[[Any], Any], order: int) -> Callable[[Any], Any]:
    """The derivative of an order of a function of a scalar."""
    for _ in range(order):
        f = derive(f)
    return f


def orders() -> None:
    weights = parameters([8, 64, 64, 1])
    x, v = RNG.normal(size=(32, 8)), RNG.normal(size=(32, 8))
    print("| order | jet, cotan | nested, cotan | jet, jax | nested, jax | compile: jet | nested |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    base = 0.0
    for order in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12):
        series = ct.jet(lambda x: network(cnp, weights, x), order)
        runs: dict[str, Callable[[], Any]] = {"cotan": lambda series=series: series(x, v)[1][order - 1]}
        factorial = float(np.prod(np.arange(1, order + 1)))
        if order <= MAX_NESTED:
            along = lambda t: network(cnp, weights, x + t * v)  # noqa: E731
            deep = ct.jit(nested(lambda f: lambda t: ct.jvp(f, (t,), (1.0,))[1], along, order))
            runs["nested"] = lambda deep=deep: deep(0.0) / factorial
        if jax is not None:
            w = [jnp.asarray(a) for a in weights]
            at = jnp.asarray(x), jnp.asarray(v)

            @jax.jit
            def coefficients(x: Any, v: Any, order: int = order, w: Any = w) -> Any:
                more = [jnp.zeros_like(v)] * (order - 1)
                f = lambda x: network(jnp, w, x)  # noqa: E731
                return jax_jet.jet(f, (x,), ([v, *more],))[1][-1]

            runs["jax jet"] = lambda run=coefficients, at=at: np.asarray(run(*at)) / factorial
            if order <= MAX_NESTED:
                one = lambda f: lambda t: jax.jvp(f, (t,), (1.0,))[1]  # noqa: E731
                line = lambda t, w=w: network(jnp, w, at[0] + t * at[1])  # noqa: E731
                whole = jax.jit(nested(one, line, order))
                runs["jax nested"] = lambda run=whole: np.asarray(run(0.0)) / factorial
        first, best = least(runs, f"order {order}")
        base = base or best["cotan"]
        cells = [best.get(key) for key in ("cotan", "nested", "jax jet", "jax nested")]
        cells = ["" if cell is None else f"{1e6 * cell:.0f} us" for cell in cells]
        cells += [f"{first[k]:.2f} s" if k in first else "" for k in ("cotan", "nested")]
        print(f"| {order} | " + " | ".join(cells) + " |", flush=True)


def laplacians() -> None:
    print("\n| Laplacian of a network | cotan | jax, nested jvp | jax, trace of the Hessian |")
    print("|---|--:|--:|--:|")
    for dims, batch in (([3, 64, 64, 1], 1000), ([10, 128, 128, 1], 256), ([100, 256, 256, 1], 16)):
        weights = parameters(dims)
        x = RNG.normal(size=(batch, dims[0]))
        f = lambda x, weights=weights: network(cnp, weights, x)  # noqa: E731
        each = ct.jit(ct.vmap(ct.laplacian(f)))
        runs: dict[str, Callable[[], Any]] = {"cotan": lambda each=each, x=x: each(x)}
        if jax is not None:
            w = [jnp.asarray(a) for a in weights]
            g = lambda x, w=w: network(jnp, w, x)  # noqa: E731

            def forward(x: Any, g: Any = g) -> Any:
                def second(v: Any) -> Any:
                    slope = lambda y: jax.jvp(g, (y,), (v,))[1]  # noqa: E731
                    return jax.jvp(slope, (x,), (v,))[1]

                return jnp.sum(jax.vmap(second)(jnp.eye(len(x))))

            trace = lambda x, g=g: jnp.trace(jax.hessian(g)(x))  # noqa: E731
            at = jnp.asarray(x)
            for key, one in (("nested", forward), ("hessian", trace)):
                run = jax.jit(jax.vmap(one))
                runs[key] = lambda run=run, at=at: jax.block_until_ready(run(at))
        _, best = least(runs, f"Laplacian {dims}")
        cells = [best.get(key) for key in ("cotan", "nested", "hessian")]
        cells = ["" if cell is None else f"{1e3 * cell:.3f} ms" for cell in cells]
        shape = "-".join(map(str, dims))
        print(f"| {shape}, {batch} points | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    orders()
    laplacians()

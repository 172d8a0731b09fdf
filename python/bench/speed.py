"""Prints one table of times: this package beside JAX, PyTorch and autograd, in alternation.

Run it as ``python python/bench/speed.py`` on a machine that does nothing else, or with
``--processor-time`` on one that does. What is not installed is left out. Each number is the least of
several rounds, in which the libraries take turns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from peers import jax  # first: it sets the numbers of threads

import numpy as np

import cotan as ct
import cotan.numpy as cnp

try:
    import autograd
    import autograd.numpy as anp
except ImportError:
    autograd = anp = None

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

RNG = np.random.default_rng(0)
CLOCK = time.process_time if "--processor-time" in sys.argv[1:] else time.perf_counter


def tiny(n: Any, x: Any) -> Any:
    return n.sum(x * x)


def network(n: Any, p: Any, x: Any, y: Any) -> Any:
    hidden = n.tanh(n.dot(x, p[0]) + p[1])
    return n.mean((n.dot(hidden, p[2]) + p[3] - y) ** 2)


def pairs(n: Any, x: Any) -> Any:
    """The energy of particles, whole arrays at once."""
    d = x[:, None, :] - x[None, :, :]
    unit = n.eye(len(x))
    r2 = n.sum(d * d, axis=2) + unit
    inverse = 1.0 / r2**3
    return n.sum((inverse**2 - inverse) * (1.0 - unit))


def pairs_by_elements(x: Any) -> Any:
    """The same, one pair at a time: nothing of the size of all pairs is stored."""
    n = len(x)

    def pair(i: Any, j: Any) -> Any:
        d = x[i] - x[j]
        r2 = (d * d).sum()
        inverse = 1.0 / ct.where(i == j, 1.0, r2) ** 3
        return ct.where(i == j, 0.0, inverse**2 - inverse)

    return ct.build((n, n), pair).sum()


def mixture(n: Any, p: Any, x: Any) -> Any:
    """The likelihood of points under Gaussians with diagonal covariances."""
    d = (x[:, None, :] - p[0][None, :, :]) * n.exp(-p[1])[None, :, :]
    log = -0.5 * n.sum(d * d, axis=2) - n.sum(p[1], axis=1)
    top = n.max(log, axis=1, keepdims=True)
    return n.sum(n.log(n.sum(n.exp(log - top), axis=1)) + top[:, 0])


class TorchNames:
    """The functions of PyTorch, called as those of numpy."""

    sum = staticmethod(lambda x, axis=None: x.sum() if axis is None else x.sum(axis))
    mean = staticmethod(lambda x: x.mean())
    dot = staticmethod(lambda x, y: x @ y)
    eye = staticmethod(lambda n: torch.eye(n, dtype=torch.float64))
    max = staticmethod(lambda x, axis, keepdims: x.amax(axis, keepdim=keepdims))

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def with_torch(f: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[], Any]:
    """Value and gradient by the first argument, run operation by operation."""
    first, *rest = (
        [torch.tensor(x) for x in arg] if isinstance(arg, list) else torch.tensor(arg)
        for arg in args
    )
    leaves = first if isinstance(first, list) else [first]
    for leaf in leaves:
        leaf.requires_grad_()

    def run() -> Any:
        value = f(TorchNames(), first, *rest)
        return value, torch.autograd.grad(value, leaves)

    return run


def row(
    name: str, f: Callable[..., Any], *args: Any, ours: Callable[..., Any] | None = None
) -> tuple[Any, ...]:
    """What gives value and gradient, for each library."""
    runs: dict[str, Callable[[], Any]] = {}
    mine = ct.value_and_grad(ours or (lambda *args: f(cnp, *args)))
    runs["cotan"] = lambda: mine(*args)
    if jax is not None:
        theirs = jax.jit(jax.value_and_grad(lambda *args: f(jax.numpy, *args)))
        on_device = jax.tree.map(jax.numpy.asarray, args)
        runs["jax"] = lambda: jax.block_until_ready(theirs(*on_device))
    if torch is not None:
        runs["torch"] = with_torch(f, args)
    if autograd is not None:
        slow = autograd.value_and_grad(lambda *args: f(anp, *args))
        runs["autograd"] = lambda: slow(*args)
    return name, runs


def measured(runs: dict[str, Callable[[], Any]], rounds: int = 7) -> dict[str, float]:
    """Seconds for one call, the least of several rounds."""
    best: dict[str, float] = {}
    for name, run in runs.items():
        run()
        begin = CLOCK()
        run()
        best[name] = CLOCK() - begin
    counts = {name: max(1, min(2000, int(0.05 / max(t, 1e-7)))) for name, t in best.items()}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = CLOCK()
            for _ in range(counts[name]):
                run()
            best[name] = min(best[name], (CLOCK() - begin) / counts[name])
    return best


def compiling() -> dict[str, float]:
    """Seconds to trace, differentiate and compile the network."""
    p, x, y = network_arguments()
    best: dict[str, float] = {}
    for _ in range(5):
        begin = CLOCK()
        ct.value_and_grad(lambda p, x, y: network(cnp, p, x, y))(p, x, y)
        best["cotan"] = min(best.get("cotan", 1e9), CLOCK() - begin)
        if jax is not None:
            f = jax.jit(jax.value_and_grad(lambda p, x, y: network(jax.numpy, p, x, y)))
            begin = CLOCK()
            jax.block_until_ready(f(p, x, y))
            best["jax"] = min(best.get("jax", 1e9), CLOCK() - begin)
    return best


def network_arguments() -> tuple[Any, ...]:
    p = [RNG.standard_normal(s) * 0.1 for s in ((64, 128), (128,), (128, 10), (10,))]
    return p, RNG.standard_normal((256, 64)), RNG.standard_normal((256, 10))


def main() -> None:
    x = RNG.standard_normal((300, 3)) * 5
    points, centres = RNG.standard_normal((2000, 8)), RNG.standard_normal((16, 8))
    rows = [
        row("call of a tiny gradient", tiny, np.ones(3)),
        row("network 64-128-10, batch 256", network, *network_arguments()),
        row("300 particles, whole arrays", pairs, x),
        row("300 particles, by elements", pairs, x, ours=pairs_by_elements),
        row("mixture, 2000 points, 16 parts", mixture, [centres, np.zeros((16, 8))], points),
    ]
    results = [("trace and compile the network", compiling())]
    results += [(name, measured(runs)) for name, runs in rows]
    known = {"cotan": ct, "jax": jax, "torch": torch, "autograd": autograd}
    names = [name for name, module in known.items() if module is not None]
    print("| value and gradient, microseconds | " + " | ".join(names) + " |")
    print("|---|" + "--:|" * len(names))
    for name, times in results:
        cells = (f"{times[key] * 1e6:.1f}" if key in times else "" for key in names)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

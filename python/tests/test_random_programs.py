"""Random programs of the common subset against JAX and autograd: values, gradients, products with
Hessians.

A program is a list of instructions over a few arrays, run by the module that is given: each takes
arrays that were made before. So the same program runs everywhere.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

PROGRAMS = int(os.environ.get("COTAN_RANDOM_PROGRAMS", "2000"))
CHUNKS = 20
N, M = 3, 4

UNARY: dict[str, Any] = {
    "sin": lambda n, x: n.sin(x),
    "cos": lambda n, x: n.cos(x),
    "tanh": lambda n, x: n.tanh(x),
    "exp": lambda n, x: n.exp(-x * x),
    "log": lambda n, x: n.log(1.5 + n.sin(x)),
    "sqrt": lambda n, x: n.sqrt(1.0 + x * x),
    "arctan": lambda n, x: n.arctan(x),
    "square": lambda n, x: n.square(n.tanh(x)),
    "neg": lambda n, x: -x,
    "pow": lambda n, x: n.tanh(x) ** 3,
    "abs": lambda n, x: n.abs(x + 0.123),
    "expm1": lambda n, x: n.expm1(n.sin(x)),
    "log1p": lambda n, x: n.log1p(x * x),
    "clip": lambda n, x: n.clip(x, -0.7, 0.9),
}
BINARY: dict[str, Any] = {
    "add": lambda n, x, y: x + y,
    "sub": lambda n, x, y: x - y,
    "mul": lambda n, x, y: x * y,
    "div": lambda n, x, y: x / (2.0 + n.sin(y)),
    "max": lambda n, x, y: n.maximum(x, y + 0.01),
    "min": lambda n, x, y: n.minimum(x, y - 0.01),
    "where": lambda n, x, y: n.where(x > y + 0.017, x, 2.0 * y),
    "arctan2": lambda n, x, y: n.arctan2(x, 3.0 + n.sin(y)),
    "hyp": lambda n, x, y: n.sqrt(0.5 + x * x + y * y),
}
# From matrices (N, M) to the same, by way of other shapes.
SHAPED: dict[str, Any] = {
    "rows": lambda n, x: x - n.mean(x, axis=0, keepdims=True),
    "columns": lambda n, x: x * n.sum(x, axis=1, keepdims=True),
    "flip": lambda n, x: x[::-1],
    "roll": lambda n, x: n.roll(x, 1, axis=1),
    "transpose": lambda n, x: n.transpose(n.reshape(n.transpose(x), (M, N))),
    "reshape": lambda n, x: n.reshape(n.reshape(x, (N * M,))[::-1], (N, M)),
    "concat": lambda n, x: n.concatenate([x[1:], x[:1]], axis=0),
    "gather": lambda n, x: x[np.array([2, 0, 2])],
    "column gather": lambda n, x: x[:, np.array([3, 1, 1, 0])],
    "slice": lambda n, x: n.concatenate([x[:, ::2], x[:, 1::2]], axis=1),
    "matmul": lambda n, x: n.tanh(n.matmul(x, n.transpose(x)))[:, :1] * x,
    "dot": lambda n, x: x + n.dot(x[0], x[1]),
    "outer": lambda n, x: 0.1 * n.outer(x[:, 0], x[0]),
    "cumsum": lambda n, x: 0.3 * n.cumsum(x, axis=1),
    "stack": lambda n, x: n.stack([x[2], x[0], x[0] * x[1]]),
    "max": lambda n, x: x - n.max(x, axis=1, keepdims=True),
    "prod": lambda n, x: x + n.prod(1.5 + n.sin(x), axis=0),
    "var": lambda n, x: x * n.var(x, axis=0),
    "softmax": lambda n, x: n.exp(x) / n.sum(n.exp(x), axis=1, keepdims=True),
    "trace": lambda n, x: x + n.trace(x[:, :N]),
    "einsum": lambda n, x: 0.2 * n.einsum("ij,kj,kl->il", x, x, x),
    "new axis": lambda n, x: n.sum(x[:, None, :] * n.sin(x)[None, :, :], axis=1) * 0.3,
}


def program(seed: int) -> Any:
    """A random function of two matrices to a scalar."""
    random = np.random.default_rng(seed)
    steps: list[tuple[str, str, int, int]] = []
    for k in range(int(random.integers(3, 9))):
        kind = str(random.choice(["unary", "binary", "shaped"]))
        table = {"unary": UNARY, "binary": BINARY, "shaped": SHAPED}[kind]
        name = str(random.choice(list(table)))
        steps.append((kind, name, int(random.integers(0, k + 2)), int(random.integers(0, k + 2))))

    def f(n: Any, x: Any, y: Any) -> Any:
        made = [x, y]
        for kind, name, a, b in steps:
            if kind == "unary":
                made.append(UNARY[name](n, made[a]))
            elif kind == "binary":
                made.append(BINARY[name](n, made[a], made[b]))
            else:
                made.append(SHAPED[name](n, made[a]))
        return n.sum(made[-1] * 0.7) + n.sum(n.sin(made[-2]))

    return f, steps


def arguments(seed: int) -> tuple[np.ndarray[Any, Any], ...]:
    random = np.random.default_rng(seed + 10_000_000)
    return tuple(random.standard_normal((N, M)) for _ in range(3))


def ours(seed: int) -> tuple[Any, ...]:
    f, _ = program(seed)
    x, y, v = arguments(seed)
    value, gradients = ct.value_and_grad(lambda x, y: f(cnp, x, y), argnums=(0, 1))(x, y)
    product = ct.hvp(lambda x: f(cnp, x, y))(x, v) if seed % 4 == 0 else np.zeros(())
    # Written with the functions of numpy it is the same program.
    if seed % 7 == 0:
        again = ct.grad(lambda x: f(np, x, y))(x)
        np.testing.assert_allclose(again, gradients[0], rtol=1e-9, atol=1e-9)
    return value, *gradients, product


def compare(seed: int, expected: tuple[Any, ...]) -> None:
    for got, found in zip(ours(seed), expected, strict=True):
        if found is None:
            continue
        wanted = np.asarray(found)
        scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        np.testing.assert_allclose(
            got / scale,
            wanted / scale,
            rtol=1e-7,
            atol=1e-9,
            err_msg=f"seed {seed}: {program(seed)[1]}",
        )


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_against_autograd(chunk: int) -> None:
    autograd = pytest.importorskip(
        "autograd", reason="autograd is not installed: pip install autograd"
    )
    import autograd.numpy as anp

    for seed in range(chunk, PROGRAMS, CHUNKS):
        f, steps = program(seed)
        x, y, v = arguments(seed)
        g = lambda x, y, f=f: f(anp, x, y)
        product: Any = np.zeros(())
        if seed % 4 == 0:
            product = autograd.hessian_vector_product(lambda x: g(x, y))(x, v)
        compare(seed, (g(x, y), autograd.grad(g, 0)(x, y), autograd.grad(g, 1)(x, y), product))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_against_jax(chunk: int) -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax")
    jax.config.update("jax_enable_x64", True)
    # Other programs than autograd's. Products with Hessians take JAX long: few of them.
    for seed in range(PROGRAMS + chunk, 2 * PROGRAMS, CHUNKS):
        f, _ = program(seed)
        x, y, v = arguments(seed)
        g = lambda x, y, f=f: f(jax.numpy, x, y)
        both = jax.value_and_grad(g, argnums=(0, 1))
        value, gradients = both(x, y)
        product: Any = None
        if seed % 40 == 0:
            product = jax.jvp(lambda x: jax.grad(g)(x, y), (x,), (v,))[1]
        compare(seed, (value, *gradients, product))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_against_differences(chunk: int) -> None:
    """Also where neither is installed."""
    for seed in range(2 * PROGRAMS + chunk, 2 * PROGRAMS + PROGRAMS // 10, CHUNKS):
        f, steps = program(seed)
        x, y, v = arguments(seed)
        at = ct.jit(lambda x, f=f, y=y: f(cnp, x, y))
        slope = (at(x + 1e-6 * v) - at(x - 1e-6 * v)) / 2e-6
        got = float((ct.grad(lambda x: f(cnp, x, y))(x) * v).sum())
        forward = float(ct.jvp(lambda x: f(cnp, x, y), (x,), (v,))[1])
        scale = max(1.0, abs(got))
        assert abs(got - forward) < 1e-9 * scale, (seed, steps)
        assert abs(got - slope) < 1e-4 * scale, (seed, steps)
        # And numpy itself agrees with the value.
        np.testing.assert_allclose(at(x), f(np, x, y), rtol=1e-9)

"""The functions of cotan.numpy, linalg, nn, random and optim against numpy and scipy, and their
gradients against differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

RNG = np.random.default_rng(2)
V = RNG.uniform(0.2, 0.9, 6)
M = RNG.uniform(0.2, 0.9, (3, 4))
W = RNG.uniform(0.2, 0.9, (4, 3))
T3 = RNG.uniform(0.2, 0.9, (2, 3, 4))
S = M @ M.T + np.eye(3)
I = RNG.integers(-5, 6, 8)  # noqa: E741
B = RNG.random(6) > 0.5

UNARY = (
    "negative abs sign square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan "
    "arcsin arccos arctan sinh cosh tanh arcsinh arctanh floor ceil rint trunc deg2rad rad2deg "
    "isnan isinf isfinite positive"
).split()
BINARY = (
    "add subtract multiply divide floor_divide remainder power equal not_equal less less_equal "
    "greater greater_equal minimum maximum arctan2 hypot logaddexp"
).split()

# A function of the module, which is numpy or cotan.numpy.
CASES: dict[str, Any] = {
    **{name: (lambda n, name=name: getattr(n, name)(V)) for name in UNARY},
    **{name: (lambda n, name=name: getattr(n, name)(M, M[::-1] + 0.1)) for name in BINARY},
    "int add": lambda n: n.add(I, 2),
    "int power": lambda n: n.power(I, 3),
    "int mod": lambda n: n.remainder(I, 3),
    "int sum": lambda n: n.sum(I),
    "bool sum": lambda n: n.sum(B),
    "bitwise_and": lambda n: n.bitwise_and(B, ~B),
    "logical": lambda n: n.logical_or(n.logical_and(V, B), n.logical_not(B)),
    "clip": lambda n: n.clip(V, 0.4, 0.6),
    "where": lambda n: n.where(V > 0.5, V, -V),
    "nan_to_num": lambda n: n.nan_to_num(np.array([np.nan, np.inf, -np.inf, 1.0])),
    "isclose": lambda n: n.isclose(V, V + 1e-9),
    "allclose": lambda n: n.allclose(V, V + 1e-3),
    "array_equal": lambda n: n.array_equal(V, V),
    "sum": lambda n: n.sum(T3),
    "sum 1": lambda n: n.sum(T3, axis=1),
    "sum keep": lambda n: n.sum(T3, axis=(0, -1), keepdims=True),
    "prod": lambda n: n.prod(M, axis=0),
    "mean": lambda n: n.mean(M, axis=1, keepdims=True),
    "var": lambda n: n.var(M, axis=0, ddof=1),
    "std": lambda n: n.std(M),
    "max": lambda n: n.max(M, axis=1),
    "min all": lambda n: n.min(M, keepdims=True),
    "argmax": lambda n: n.argmax(M),
    "argmin 1": lambda n: n.argmin(M, axis=1),
    "median": lambda n: n.median(M, axis=1),
    "quantile": lambda n: n.quantile(M, 0.3, axis=0),
    "percentile": lambda n: n.percentile(V, 30.0),
    "ptp": lambda n: n.ptp(M, axis=0),
    "all": lambda n: n.all(M > 0.3, axis=0),
    "any": lambda n: n.any(M > 0.8),
    "count_nonzero": lambda n: n.count_nonzero(B),
    "cumsum": lambda n: n.cumsum(M, axis=1),
    "cumsum flat": lambda n: n.cumsum(M),
    "cumprod": lambda n: n.cumprod(V),
    "diff": lambda n: n.diff(M, n=2, axis=1),
    "sort": lambda n: n.sort(M, axis=0),
    "argsort": lambda n: n.argsort(V),
    "searchsorted": lambda n: n.searchsorted(np.sort(V), V - 0.05, side="right"),
    "reshape": lambda n: n.reshape(M, (2, -1)),
    "ravel": lambda n: n.ravel(M),
    "transpose": lambda n: n.transpose(T3, (2, 0, 1)),
    "transpose all": lambda n: n.transpose(T3),
    "swapaxes": lambda n: n.swapaxes(T3, 0, -1),
    "moveaxis": lambda n: n.moveaxis(T3, (0, 1), (-1, 0)),
    "expand_dims": lambda n: n.expand_dims(M, (0, -1)),
    "squeeze": lambda n: n.squeeze(M[:, :1], axis=1),
    "squeeze all": lambda n: n.squeeze(M[:1, :1]),
    "broadcast_to": lambda n: n.broadcast_to(V, (2, 6)),
    "tile": lambda n: n.tile(M, (2, 1, 2)),
    "repeat": lambda n: n.repeat(M, 2, axis=1),
    "flip": lambda n: n.flip(M, 1),
    "flip all": lambda n: n.flip(M),
    "roll": lambda n: n.roll(M, 2),
    "roll axes": lambda n: n.roll(M, (1, -1), (0, 1)),
    "rot90": lambda n: n.rot90(M, 3),
    "concatenate": lambda n: n.concatenate([M, M * 2], axis=1),
    "concatenate flat": lambda n: n.concatenate([M, V], axis=None),
    "stack": lambda n: n.stack([V, V * 2], axis=1),
    "hstack": lambda n: n.hstack([V, V]),
    "vstack": lambda n: n.vstack([V, V]),
    "column_stack": lambda n: n.column_stack([V, V]),
    "split": lambda n: n.split(V, [2, 5])[1],
    "diagonal": lambda n: n.diagonal(M),
    "diag": lambda n: n.diag(V[:3], 1),
    "diag of": lambda n: n.diag(M),
    "tril": lambda n: n.tril(M, 1),
    "triu": lambda n: n.triu(M),
    "trace": lambda n: n.trace(S),
    "pad": lambda n: n.pad(M, ((1, 0), (0, 2)), constant_values=3.0),
    "pad edge": lambda n: n.pad(V, 2, mode="edge"),
    "pad reflect": lambda n: n.pad(V, (1, 2), mode="reflect"),
    "pad wrap": lambda n: n.pad(V, 2, mode="wrap"),
    "take": lambda n: n.take(M, np.array([1, 1, 0]), axis=0),
    "take_along_axis": lambda n: n.take_along_axis(M, np.argsort(M, 1), axis=1),
    "matmul": lambda n: n.matmul(M, W),
    "matmul batch": lambda n: n.matmul(T3, W),
    "dot": lambda n: n.dot(T3, W),
    "dot vectors": lambda n: n.dot(V, V),
    "vdot": lambda n: n.vdot(M, M),
    "inner": lambda n: n.inner(M, M),
    "outer": lambda n: n.outer(V, V),
    "kron": lambda n: n.kron(M[:2, :2], W[:2, :2]),
    "cross": lambda n: n.cross(V[:3], V[3:]),
    "tensordot": lambda n: n.tensordot(T3, W, axes=((2,), (0,))),
    "tensordot n": lambda n: n.tensordot(T3, T3.transpose(1, 2, 0), axes=2),
    "einsum": lambda n: n.einsum("bij,jk->bik", T3, W),
    "einsum trace": lambda n: n.einsum("ii->", S),
    "arange": lambda n: n.arange(1, 7, 2),
    "linspace": lambda n: n.linspace(0.0, 1.0, 5),
    "eye": lambda n: n.eye(3, 4, 1),
    "full": lambda n: n.full((2, 2), 7.0),
    "meshgrid": lambda n: n.meshgrid(V, V[:2])[1],
    "atleast_2d": lambda n: n.atleast_2d(V),
    "solve": lambda n: n.linalg.solve(S, M) if n is np else ct.linalg.solve(S, M),
    "inv": lambda n: np.linalg.inv(S) if n is np else ct.linalg.inv(S),
    "det": lambda n: np.linalg.det(S) if n is np else ct.linalg.det(S),
    "cholesky": lambda n: np.linalg.cholesky(S) if n is np else ct.linalg.cholesky(S),
    "norm": lambda n: np.linalg.norm(M, 1, axis=0) if n is np else ct.linalg.norm(M, 1, axis=0),
    "matrix_power": lambda n: (
        np.linalg.matrix_power(S, -2) if n is np else ct.linalg.matrix_power(S, -2)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_agree_with_numpy(name: str) -> None:
    ours, theirs = CASES[name](cnp), np.asarray(CASES[name](np))
    assert isinstance(ours, np.ndarray), type(ours)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


DISPATCHED: dict[str, Any] = {
    "ufunc": lambda n, x: n.sin(x) * n.exp(-x) + n.maximum(x, 0.5) + n.arctan2(x, 2.0),
    "function": lambda n, x: n.sum(n.concatenate([x, n.cumsum(x)])) + n.mean(x) + n.linalg.norm(x),
    "where": lambda n, x: n.where(x > 0.5, x, x**2).sum(),
    "products": lambda n, x: n.dot(x, x) * n.einsum("i,i->", x, x) + n.outer(x, x).sum(),
    "reduce": lambda n, x: n.add.reduce(x) * n.multiply.reduce(x),
    "stack": lambda n, x: (n.stack([x, 2 * x]) @ x).sum(),
}


@pytest.mark.parametrize("name", DISPATCHED)
def test_functions_of_numpy_take_traced_arrays(name: str) -> None:
    f = lambda x: DISPATCHED[name](np, x)
    np.testing.assert_allclose(ct.jit(f)(V), f(V), rtol=1e-12)
    ct.check_grads(lambda x: f(x), (V,), order=1)


DIFFERENTIABLE: dict[str, Any] = {
    name: (lambda x, name=name: getattr(cnp, name)(x))
    for name in (
        "sqrt cbrt exp expm1 log log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
        "arctanh erf erfc gammaln digamma prod cumprod logsumexp std var median sort cumlogsumexp"
    ).split()
} | {
    "solve": lambda x: ct.linalg.solve(S + cnp.outer(x[:3], x[3:]), x[:3]),
    "det": lambda x: ct.linalg.det(S * cnp.reshape(cnp.tile(x, 2)[:9], (3, 3))),
    "cholesky": lambda x: ct.linalg.cholesky(cnp.diag(x[:3]) + S),
    "norm": lambda x: ct.linalg.norm(x),
    "softmax": lambda x: ct.nn.softmax(x),
    "log_softmax": lambda x: ct.nn.log_softmax(cnp.reshape(x, (2, 3)), axis=0),
    "gelu": lambda x: ct.nn.gelu(x - 0.5) + ct.nn.gelu(x, approximate=False),
    "activations": lambda x: (
        ct.nn.silu(x) + ct.nn.elu(-x) + ct.nn.softplus(x) + ct.nn.mish(x) + ct.nn.selu(x)
    ),
    "layer_norm": lambda x: ct.nn.layer_norm(cnp.reshape(x, (2, 3)), np.ones(3), np.zeros(3)),
    "rms_norm": lambda x: ct.nn.rms_norm(x, np.ones(6)),
    "cross_entropy": lambda x: ct.nn.cross_entropy(cnp.reshape(x, (2, 3)), np.array([0, 2])),
    "losses": lambda x: (
        ct.nn.huber(x, 0.0) + ct.nn.mse(x, 1.0) + ct.nn.binary_cross_entropy_with_logits(x, 1.0)
    ),
    "conv": lambda x: ct.nn.conv(
        cnp.reshape(cnp.tile(x, 6), (1, 1, 6, 6)), np.ones((2, 1, 3, 3)), stride=2, padding=1
    ),
    "conv kernel": lambda x: ct.nn.conv(
        np.ones((1, 2, 5)), cnp.reshape(x, (1, 2, 3)), padding="same"
    ),
    "conv_transpose": lambda x: ct.nn.conv_transpose(
        cnp.reshape(x, (1, 1, 6)), np.ones((1, 1, 3)), stride=2
    ),
    "pool": lambda x: (
        ct.nn.max_pool(cnp.reshape(x, (1, 1, 2, 3)), (2, 2), stride=1)
        + ct.nn.avg_pool(cnp.reshape(x, (1, 1, 2, 3)), (2, 2), stride=1)
    ),
    "attention": lambda x: ct.nn.attention(
        *(cnp.reshape(x, (1, 2, 3)) * k for k in (1.0, 2.0, 3.0))
    ),
    "embedding": lambda x: ct.nn.embedding(cnp.reshape(x, (3, 2)), np.array([0, 2, 0])) ** 2,
    "segments": lambda x: (
        cnp.segment_sum(x, np.array([0, 1, 1, 0, 2, 2]), 3)
        * cnp.segment_max(x, np.array([0, 1, 1, 0, 2, 2]), 3)
    ),
    "fold": lambda x: ct.fold(lambda s, e: cnp.sin(s) + e * s, 1.0, x),
    "window": lambda x: cnp.sliding_window_view(x, 3) ** 2,
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_agree_with_differences(name: str) -> None:
    ct.check_grads(DIFFERENTIABLE[name], (V,), order=2, rtol=2e-4, atol=2e-5)


def test_f32_stays_f32() -> None:
    x = V.astype(np.float32)
    for f in (
        cnp.sin,
        cnp.sum,
        cnp.mean,
        cnp.sort,
        ct.nn.softmax,
        lambda x: x * 2.0 + 1,
        lambda x: x @ x,
    ):
        assert ct.jit(f)(x).dtype == np.float32
    assert ct.grad(lambda x: (cnp.sin(x) * 2.0).sum())(x).dtype == np.float32


def test_random_numbers_are_those_of_their_key() -> None:
    key = ct.random.key(7)
    a, b = ct.random.split(key)
    assert (ct.random.normal(a, 5) == ct.random.normal(a, 5)).all() and a != b
    assert not np.allclose(ct.random.normal(a, 5), ct.random.normal(b, 5))
    assert ct.random.fold_in(key, 3) == ct.random.fold_in(key, 3)
    many = ct.random.normal(key, (200, 100))
    assert abs(many.mean()) < 0.03 and abs(many.std() - 1) < 0.03
    assert ct.random.normal(key, 3, dtype=np.float32).dtype == np.float32
    assert set(ct.random.randint(key, 100, 2, 5).tolist()) == {2, 3, 4}
    assert 300 < ct.random.bernoulli(key, 0.4, 1000).sum() < 500
    assert ct.random.categorical(key, [0.0, 1.0], 9).tolist() == [1] * 9
    assert abs(ct.random.gamma(key, 3.0, 5000).mean() - 3.0) < 0.2
    assert abs(ct.random.exponential(key, 5000).mean() - 1.0) < 0.1
    assert abs(ct.random.truncated_normal(key, 1000)).max() <= 2.0
    assert ct.random.uniform(key, 100, minval=2.0, maxval=3.0).min() >= 2.0


OPTIMISERS = {
    "sgd": ct.optim.sgd(0.1),
    "momentum": ct.optim.sgd(0.02, momentum=0.9, nesterov=True),
    "adam": ct.optim.adam(0.1),
    "adamw": ct.optim.adamw(0.1, weight_decay=1e-5),
    "rmsprop": ct.optim.rmsprop(ct.optim.exponential_decay(0.1, 0.5, every=50)),
    "schedule": ct.optim.adam(ct.optim.warmup(ct.optim.cosine_decay(0.2, 300), 10)),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimisers_find_the_minimum_of_a_parabola(name: str) -> None:
    method = OPTIMISERS[name]
    loss = lambda p: ((p["x"] - 3.0) ** 2).sum() + (p["y"] + 1.0) ** 2
    step = ct.jit(lambda p, s: method.step(p, ct.grad(loss)(p), s))
    p: Any = {"x": np.zeros(2, np.float32), "y": np.zeros(())}
    state = method.init(p)
    for _ in range(300):
        p, state = step(p, state)
    assert p["x"].dtype == np.float32 and p["y"].dtype == np.float64
    np.testing.assert_allclose(p["x"], 3.0, atol=2e-2)
    np.testing.assert_allclose(p["y"], -1.0, atol=2e-2)
    assert int(state["step"]) == 300 and step.cache_info().misses == 2


def test_lbfgs_minimises_structures() -> None:
    found = ct.optim.lbfgs(
        lambda p, k: ((p["x"] - k) ** 4).sum() + p["y"] ** 2, {"x": np.zeros(3), "y": 5.0}, 2.0
    )
    np.testing.assert_allclose(found.point["x"], 2.0, atol=1e-2)
    assert abs(found.point["y"]) < 1e-6 and found.value < 1e-8 and found.iterations > 3

    def broken(x: Any) -> Any:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        ct.optim.lbfgs(broken, np.zeros(2))


def test_the_array_namespace() -> None:
    def f(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.sum(xp.sin(x))

    assert abs(float(ct.jit(f)(V)) - np.sin(V).sum()) < 1e-12

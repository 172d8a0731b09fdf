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
HOLES = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]])

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
    "var correction": lambda n: n.var(M, axis=0, correction=1),
    "cumulative_sum": lambda n: n.cumulative_sum(M, axis=1, include_initial=True),
    "cumulative_prod": lambda n: n.cumulative_prod(V, include_initial=True),
    "diff ends": lambda n: n.diff(V, prepend=V[:1], append=V[:2]),
    "searchsorted sorter": lambda n: n.searchsorted(V, V, sorter=np.argsort(V)),
    "repeat counts": lambda n: n.repeat(M, [0, 2, 1], axis=0),
    "trace offset": lambda n: n.trace(S, 1),
    "vecdot": lambda n: n.vecdot(M, M[::-1], axis=0),
    "cross axis": lambda n: n.cross(W[:3], W[1:], axis=0),
    **{
        f"convolve {mode} {k}": (lambda n, mode=mode, k=k: n.convolve(V, V[:k] * 2, mode))
        for mode in ("full", "same", "valid")
        for k in (1, 2, 5, 6)
    },
    **{
        f"correlate {mode} {k}": (lambda n, mode=mode, k=k: n.correlate(V, V[:k] * 2, mode))
        for mode in ("full", "same", "valid")
        for k in (2, 3)
    },
    "convolve shorter": lambda n: n.convolve(V[:2], V, "full"),
    "gradient": lambda n: n.gradient(V, 0.5),
    "gradient axes": lambda n: n.gradient(M, 0.5, 2.0)[1],
    "gradient axis": lambda n: n.gradient(T3, axis=-1),
    "trapezoid": lambda n: n.trapezoid(M, dx=0.5, axis=0),
    "trapezoid x": lambda n: n.trapezoid(M, np.array([0.0, 1.0, 3.0, 4.0])),
    "trapezoid xs": lambda n: n.trapezoid(M, np.cumsum(M, 1), axis=1),
    "histogram": lambda n: n.histogram(V, 4)[0],
    "histogram edges": lambda n: n.histogram(V, 4)[1],
    "histogram bins": lambda n: n.histogram(M, np.array([0.2, 0.5, 0.6, 0.9]))[0],
    "histogram range": lambda n: n.histogram(M, 5, (0.3, 0.7))[0],
    "histogram weights": lambda n: n.histogram(M, 3, weights=M * 2)[0],
    "histogram density": lambda n: n.histogram(M, 3, density=True)[0],
    "histogram equal": lambda n: n.histogram(np.ones(3), 4)[1],
    "digitize": lambda n: n.digitize(V, np.array([0.3, 0.5, 0.7])),
    "corrcoef": lambda n: n.corrcoef(M),
    "polyadd": lambda n: n.polyadd(V, V[:2]),
    "polysub": lambda n: n.polysub(V[:3], V),
    "polymul": lambda n: n.polymul(V, V[:3]),
    "polyder": lambda n: n.polyder(V, 2),
    "polyint": lambda n: n.polyint(V, 2),
    "vander": lambda n: n.vander(V, 4),
    "vander increasing": lambda n: n.vander(V, increasing=True),
    "hanning": lambda n: n.hanning(7),
    "append": lambda n: n.append(M, M, axis=0),
    "append flat": lambda n: n.append(M, V),
    "atleast_3d": lambda n: n.atleast_3d(M),
    "atleast_3d vector": lambda n: n.atleast_3d(V),
    "array_equiv": lambda n: n.array_equiv(V, np.stack([V, V])),
    "delete": lambda n: n.delete(M, [0, 2], axis=1),
    "delete flat": lambda n: n.delete(M, 3),
    "diagflat": lambda n: n.diagflat(M[:2, :2]),
    "divmod": lambda n: n.divmod(I, 3)[1],
    "fmod": lambda n: n.fmod(V * 10 - 4, -1.7),
    "fmod int": lambda n: n.fmod(I, 3),
    "modf": lambda n: n.modf(np.array([1.5, -2.25, np.inf]))[0],
    "ldexp": lambda n: n.ldexp(V, np.array([1, 2, -3, 0, 4, 5])),
    "logaddexp2": lambda n: n.logaddexp2(V, 2 * V),
    "isposinf": lambda n: n.isposinf(np.array([np.inf, -np.inf, 0.0])),
    "isneginf": lambda n: n.isneginf(np.array([np.inf, -np.inf, 0.0])),
    "ediff1d": lambda n: n.ediff1d(M),
    "rollaxis": lambda n: n.rollaxis(T3, 2, 1),
    "rollaxis end": lambda n: n.rollaxis(T3, 0, 3),
    "select": lambda n: n.select([V > 0.7, V > 0.4], [V, 2 * V], -1.0),
    "hsplit": lambda n: n.hsplit(M, 2)[1],
    "vsplit": lambda n: n.vsplit(M, [1])[1],
    "dsplit": lambda n: n.dsplit(T3, 2)[0],
    "unravel_index": lambda n: n.unravel_index(np.array([3, 11]), (3, 4))[1],
    "ravel_multi_index": lambda n: n.ravel_multi_index(
        (np.array([0, 2]), np.array([3, 1])), (3, 4)
    ),
    "tril_indices": lambda n: n.tril_indices(3)[1],
    "geomspace": lambda n: n.geomspace(1.0, 8.0, 4),
    "nanprod": lambda n: n.nanprod(HOLES, axis=1),
    "nanvar": lambda n: n.nanvar(HOLES, axis=1, ddof=1),
    "nanstd": lambda n: n.nanstd(HOLES),
    "nancumsum": lambda n: n.nancumsum(HOLES, axis=1),
    "nancumprod": lambda n: n.nancumprod(HOLES),
    "nanargmax": lambda n: n.nanargmax(HOLES, axis=1),
    "nanargmin": lambda n: n.nanargmin(HOLES),
    "copy": lambda n: n.copy(M),
    "around": lambda n: n.around(V, 1),
    "signbit": lambda n: n.signbit(np.array([-0.0, 0.0, -2.0, 3.0])),
    "copysign": lambda n: n.copysign(V, np.array([-0.0, 0.0, -2.0, 3.0, -1.0, 1.0])),
    "int floor": lambda n: n.floor(I),
    "int round": lambda n: n.round(I),
    "unique": lambda n: n.unique(I),
    "unique_counts": lambda n: n.unique_counts(I).counts,
    "nonzero": lambda n: n.nonzero(B)[0],
    "nextafter": lambda n: n.nextafter(V, 1.0),
    "take from the end": lambda n: n.take(M, np.array([-1, 0]), axis=1),
    "round decimals": lambda n: n.round(V, 1),
    "flipud": lambda n: n.flipud(M),
    "fliplr": lambda n: n.fliplr(M),
    "dstack": lambda n: n.dstack([M, M]),
    "dstack vectors": lambda n: n.dstack([V, V]),
    "array_split": lambda n: n.array_split(V, 4)[2],
    "average": lambda n: n.average(M, axis=1),
    "average weights": lambda n: n.average(M, axis=0, weights=np.arange(1.0, 1.0 + len(M))),
    "average all": lambda n: n.average(M, weights=M),
    "cov": lambda n: n.cov(M),
    "cov columns": lambda n: n.cov(M, rowvar=False),
    "cov vector": lambda n: n.cov(V),
    "interp": lambda n: n.interp(np.linspace(-0.1, 1.2, 30), np.sort(V), V),
    "polyval": lambda n: n.polyval(V, M),
    "sinc": lambda n: n.sinc(np.array([0.0, 1e-12, 0.3])),
    "heaviside": lambda n: n.heaviside(np.array([-1.0, 0.0, 2.0]), 0.5),
    "isin": lambda n: n.isin(I, np.array([1, 2])),
    "nansum": lambda n: n.nansum(HOLES, axis=0),
    "nanmean": lambda n: n.nanmean(HOLES, axis=1),
    "nanmax": lambda n: n.nanmax(HOLES, axis=0, keepdims=True),
    "nanmin": lambda n: n.nanmin(HOLES),
    "isdtype": lambda n: np.array([n.isdtype(np.dtype(k), "integral") for k in (float, int)]),
    "arange": lambda n: n.arange(1, 7, 2),
    "linspace": lambda n: n.linspace(0.0, 1.0, 5),
    "eye": lambda n: n.eye(3, 4, 1),
    "full": lambda n: n.full((2, 2), 7.0),
    "meshgrid": lambda n: n.meshgrid(V, V[:2])[1],
    "atleast_2d": lambda n: n.atleast_2d(V),
    "partition": lambda n: n.sort(n.partition(M, 2, axis=1)[:, 3:], axis=1),
    "argpartition": lambda n: n.argpartition(V, 3)[3:4],
    "lexsort": lambda n: n.lexsort((I, I % 2, I > 0)),
    "lexsort axis": lambda n: n.lexsort((M, np.round(M)), axis=0),
    "block": lambda n: n.block([[M, S], [np.ones((1, 7))]]),
    "block vectors": lambda n: n.block([V, 2 * V]),
    "block ranks": lambda n: n.block([[M], [np.zeros(4)]]),
    "choose": lambda n: n.choose(np.array([2, 0, 1, 1]), [M[0], M[1], M[2]]),
    "choose broadcast": lambda n: n.choose(np.array([[1], [0]]), [V, 2.0 * V]),
    "nanmedian": lambda n: n.nanmedian(HOLES, axis=1),
    "nanmedian all": lambda n: n.nanmedian(HOLES, keepdims=True),
    "nanmedian keep": lambda n: n.nanmedian(HOLES, axis=0, keepdims=True),
    "nanquantile": lambda n: n.nanquantile(HOLES, [0.2, 0.9], axis=0),
    "nanpercentile": lambda n: n.nanpercentile(HOLES, 30.0),
    "unwrap": lambda n: n.unwrap(np.cumsum(M * 5.0, 1) % (2 * np.pi)),
    "unwrap axis": lambda n: n.unwrap(np.cumsum(M * 5.0, 0) % 4.0, axis=0, period=4.0),
    "unwrap jumps": lambda n: n.unwrap(np.cumsum(V * 9.0) % (2 * np.pi), 5.0),
    "tensordot lists": lambda n: n.tensordot(T3, W, axes=([2], [0])),
    "slogdet": lambda n: (np if n is np else ct).linalg.slogdet(S)[1],
    "slogdet small": lambda n: (np if n is np else ct).linalg.slogdet(1e-200 * S)[1],
    "slogdet sign": lambda n: (np if n is np else ct).linalg.slogdet(-S)[0],
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
    "slogdet": lambda x: ct.linalg.slogdet(S * cnp.reshape(cnp.tile(x, 2)[:9], (3, 3)))[1],
    "cholesky_solve": lambda x: ct.linalg.cholesky_solve(
        ct.linalg.cholesky(cnp.diag(x[:3]) + S), x[3:]
    ),
    "batch_norm": lambda x: ct.nn.batch_norm(cnp.reshape(x, (3, 2)), x[:2], x[2:4])[0] ** 2,
    "dropout": lambda x: ct.nn.dropout(x, B, 0.4) ** 2,
    "cosine_similarity": lambda x: ct.nn.cosine_similarity(x[:3], x[3:]),
    "cross entropy of probabilities": lambda x: ct.nn.cross_entropy_with_probabilities(
        cnp.reshape(x, (2, 3)), ct.nn.softmax(cnp.reshape(x * x, (2, 3)))
    ),
    "reduce": lambda x: ct.reduce(lambda a, b: a * b + a + b, 0.0, x),
    "reduce_by_index": lambda x: ct.reduce_by_index(
        lambda a, b: a * b, 1.0, np.array([0, 1, 0, 2, 1, 0]), x, 3
    ),
    "partition": lambda x: (ct.partition(x, B)[0] * np.arange(6.0)).sum(),
    "sort_by_key": lambda x: cnp.sort_by_key(x**2, -V) * np.arange(6.0),
    "nanmedian": lambda x: cnp.nanquantile(cnp.concatenate([x**2, [np.nan]]), 0.3),
    "block": lambda x: (cnp.block([[x, x**2], [x**3, x]]) ** 2).sum(),
    "choose": lambda x: cnp.choose(np.array([0, 1, 1, 0, 1, 0]), [x**2, x**3]),
    "unwrap": lambda x: cnp.unwrap(x * 9.0) ** 2,
    "top_k": lambda x: cnp.top_k(cnp.reshape(x, (2, 3)), 2, axis=1)[0] ** 2,
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
    "convolve": lambda x: cnp.convolve(x, x[:3], "same").sum(),
    "gradient": lambda x: (cnp.gradient(x, 0.5) ** 2).sum(),
    "trapezoid": lambda x: cnp.trapezoid(x**2, cnp.cumsum(x)),
    "histogram of weights": lambda x: (cnp.histogram(V, 3, weights=x)[0] ** 2).sum(),
    "nanstd": lambda x: cnp.nanstd(cnp.concatenate([x, [np.nan]])),
    "select": lambda x: cnp.select([x > 0.7, x > 0.4], [x**2, x**3], x).sum(),
    "polymul": lambda x: cnp.polymul(x, x).sum(),
    "vander": lambda x: (cnp.vander(x, 4) ** 2).sum(),
    "celu": lambda x: ct.nn.celu(x - 0.5, 0.7).sum(),
    "hard_silu": lambda x: ct.nn.hard_silu(x).sum(),
    "squareplus": lambda x: ct.nn.squareplus(x).sum(),
    "sum where": lambda x: cnp.sum(cnp.log(x), where=V > 0.5),
    "mean where": lambda x: cnp.mean(x**2, where=V > 0.5),
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
        cnp.nanmedian,
        ct.nn.softmax,
        lambda x: x * 2.0 + 1,
        lambda x: x @ x,
    ):
        assert ct.jit(f)(x).dtype == np.float32
    assert ct.grad(lambda x: (cnp.sin(x) * 2.0).sum())(x).dtype == np.float32


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

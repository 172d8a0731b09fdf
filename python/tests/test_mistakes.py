"""Mistakes that users of numpy and JAX make: each exception says the line, the shapes and the remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

A, V, W = np.ones((2, 3)), np.ones(3), np.ones(4)
SQUARE = np.eye(3)
IMAGES, KERNEL = np.ones((1, 2, 4, 4)), np.ones((1, 3, 3, 3))


def _stored(x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x
    return a


def _added(x: Any) -> Any:
    a = np.zeros(3)
    a += x
    return a


def _halved(x: Any) -> Any:
    while x > 1:
        x = x / 2
    return x


def _asserted(x: Any) -> Any:
    assert (x > 0).all()
    return x


def _forgotten(x: Any) -> None:
    x * x


def _leaked() -> Any:
    kept: list[Any] = []
    ct.jit(lambda x: kept.append(x) or x)(1.0)
    return kept[0] + 1


def _rule(f: Any, forward: Any, backward: Any) -> Any:
    made = ct.custom_vjp(f)
    made.defvjp(forward, backward)
    return made


# What is done, the class of the exception, and what it says.
MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "add": (lambda: ct.jit(lambda a, b: a + b)(V, W), ValueError, "[3]f64|[4]f64|equal, 1 or"),
    "multiply": (lambda: ct.jit(lambda a: a * A.T)(A), ValueError, "[2, 3]f64|[3, 2]f64"),
    "matmul": (lambda: ct.jit(lambda a: a @ A)(A), ValueError, "matmul: [2, 3]f64 and [2, 3]f64"),
    "numpy's matmul": (lambda: ct.jit(lambda a: np.matmul(a, A))(A), ValueError, "the last size"),
    "dot": (lambda: cnp.dot(A, W), ValueError, "[2, 3]f64 and [4]f64|one size"),
    "einsum letters": (lambda: cnp.einsum("ij,jk->il", A, A.T), ValueError, "letter `l`|operand"),
    "einsum sizes": (lambda: cnp.einsum("ij,jk->ik", A, A), ValueError, "`j` is 3|same size"),
    "einsum axes": (lambda: cnp.einsum("ijk->i", A), ValueError, "3 axes|[2, 3]f64"),
    "tensordot": (lambda: cnp.tensordot(A, A, axes=([1], [0])), ValueError, "[2, 3]f64|one size"),
    "concatenate": (lambda: cnp.concatenate([A, V]), ValueError, "[2, 3]f64 and [3]f64"),
    "no list": (
        lambda: cnp.concatenate(A, A),
        TypeError,
        "concatenate: the argument `axis`|ndarray",
    ),
    "nothing": (lambda: cnp.concatenate([]), ValueError, "no arrays|at least one"),
    "stack": (lambda: cnp.stack([V, W]), ValueError, "[3]f64 and [4]f64|`concatenate`"),
    "block": (lambda: cnp.block([[A], V]), ValueError, "depths|[[a, b], [c, d]]"),
    "reshape": (lambda: cnp.reshape(A, (4, 2)), ValueError, "6 elements|[4, 2] has 8"),
    "two unknown": (lambda: cnp.reshape(A, (-1, -1)), ValueError, "one size may be -1"),
    "half a size": (lambda: cnp.zeros(3 / 2), TypeError, "a float|`n // 2`"),
    "negative size": (lambda: ct.build(-1, lambda i: i), ValueError, "(-1,)|0 at least"),
    "axis": (lambda: cnp.sum(A, axis=2), ValueError, "axis 2|0 to 1"),
    "axis of floats": (lambda: cnp.sum(A, axis=1.0), TypeError, "1.0 is a float"),
    "axis twice": (lambda: cnp.sum(A, axis=(0, 0)), ValueError, "axis 0|once"),
    "permutation": (lambda: cnp.transpose(A, (0, 0)), ValueError, "axis 0|once"),
    "squeeze": (lambda: cnp.squeeze(A, axis=0), ValueError, "[2, 3]f64|size 1"),
    "broadcast": (lambda: cnp.broadcast_to(V, (3, 2)), ValueError, "[3]f64|[3, 2]"),
    "if": (lambda: ct.jit(lambda x: x if x > 0 else -x)(1.0), TypeError, "`ct.where(|`ct.cond("),
    "while": (lambda: ct.jit(_halved)(4.0), TypeError, "`ct.while_loop`"),
    "assert": (lambda: ct.jit(_asserted)(V), TypeError, "not known while tracing"),
    "max": (lambda: ct.jit(lambda x: max(x, 0.0))(1.0), TypeError, "`cotan.numpy` for `max`"),
    "sorted": (lambda: ct.jit(lambda x: sorted(x))(V), TypeError, "`sorted`"),
    "range": (lambda: ct.jit(lambda n: sum(range(n)))(3), TypeError, "`ct.fori_loop("),
    "float": (lambda: ct.jit(lambda x: float(x))(3.0), TypeError, "`x.astype(float)`"),
    "math": (lambda: ct.jit(lambda x: math.exp(x))(3.0), TypeError, "in the place of `math`"),
    "np.array": (lambda: ct.jit(lambda x: np.array([x, x]))(3.0), TypeError, "`asarray([a, b])`"),
    "zeros": (lambda: ct.jit(lambda n: cnp.zeros(n))(3), TypeError, "`static_argnums`"),
    "linspace": (lambda: ct.jit(lambda n: cnp.linspace(0, 1, n))(5), TypeError, "static_argnums"),
    "set": (
        lambda: ct.jit(lambda x: x.__setitem__(0, 1.0))(V),
        TypeError,
        "x.at[index].set(value)",
    ),
    "set of numpy": (lambda: ct.jit(_stored)(1.0), TypeError, ".at[index].set(x)"),
    "add in place": (lambda: ct.jit(_added)(V), TypeError, "a = a + x for a += x"),
    "mask": (lambda: ct.jit(lambda x: x[x > 0])(V), IndexError, "`ct.where(mask|`ct.partition("),
    "where": (lambda: ct.jit(lambda x: cnp.where(x > 0))(V), TypeError, "`np.nonzero(condition)`"),
    "nonzero": (lambda: ct.jit(lambda x: cnp.nonzero(x))(V), TypeError, "mask by `ct.where`"),
    "index": (lambda: ct.jit(lambda x: x[3])(V), IndexError, "index 3|size 3|from 0"),
    "indices": (lambda: ct.jit(lambda x: x[0, 0])(V), IndexError, "2 indices|1 axes|at most"),
    "index of floats": (lambda: ct.jit(lambda x: x[1.0])(V), IndexError, "float64|integers"),
    "index of text": (lambda: ct.jit(lambda x: x["a"])(V), IndexError, "'a'|dict of arrays"),
    "slice": (lambda: ct.jit(lambda x, n: x[:n])(V, 2), TypeError, "`ct.dynamic_slice("),
    "at set": (lambda: ct.jit(lambda x: x.at[:2].set(V))(V), ValueError, "[3]f64|[2]"),
    "at call": (lambda: ct.jit(lambda x: x.at(0).set(1.0))(V), TypeError, "x.at[index].set"),
    "take": (lambda: cnp.take(V, np.array([5])), IndexError, "index 5|size 3|count from 0"),
    "grad of many": (lambda: ct.grad(lambda x: x * 2)(V), TypeError, "[3]f64|`ct.jacrev`"),
    "grad of int": (lambda: ct.grad(lambda x: x * x)(3), TypeError, "i64|write 3.0 for 3"),
    "grad of None": (lambda: ct.grad(_forgotten)(1.0), TypeError, "0 arrays|return one scalar"),
    "argnums": (
        lambda: ct.grad(lambda x: x, argnums=1)(1.0),
        TypeError,
        "no argument 1|`argnames`",
    ),
    "grad at once": (lambda: ct.grad(lambda x: x, 3.0)(1.0), TypeError, "3.0|ct.grad(f)(x)"),
    "grad of value": (lambda: ct.grad(3.0), TypeError, "a float|grad(f)(x)"),
    "aux": (lambda: ct.grad(lambda x: x, has_aux=True)(1.0), TypeError, "an Array|loss, rest"),
    "vmap sizes": (lambda: ct.vmap(lambda x, y: x * y)(V, W), TypeError, "[3, 4]|`in_axes`"),
    "vmap scalar": (lambda: ct.vmap(lambda x: x)(1.0), TypeError, "shape ()|None in `in_axes`"),
    "vmap axes": (lambda: ct.vmap(lambda x, y: x, in_axes=(0,))(V, V), TypeError, "1 axes for 2"),
    "vmap inside": (lambda: ct.vmap(lambda x: x @ W)(A), ValueError, "[3]f64 and [4]f64"),
    "scan": (lambda: ct.scan(lambda c, x: c + x, 0.0, V), TypeError, "an Array|return state, y"),
    "scan lengths": (
        lambda: ct.scan(lambda c, x: (c + x[0], c), 0.0, (V, W)),
        TypeError,
        "[3]f64 and [4]f64|outermost",
    ),
    "carry": (lambda: ct.fold(lambda c, x: c + V, np.ones(2), A), ValueError, "[2]f64 and [3]f64"),
    "state": (lambda: ct.fold(lambda c, x: x, 0.0, A), TypeError, "f64 at first|[3]f64 after"),
    "cond shapes": (lambda: ct.cond(True, lambda: V, lambda: W), TypeError, "[3]f64|[4]f64"),
    "cond of many": (
        lambda: ct.cond(V > 0, lambda: 1.0, lambda: 2.0),
        TypeError,
        "[3]bool|ct.where",
    ),
    "cond of values": (lambda: ct.cond(True, 1.0, 2.0), TypeError, "ct.where(condition, a, b)"),
    "while of many": (
        lambda: ct.while_loop(lambda x: x < 3, lambda x: x + 1, V),
        TypeError,
        "[3]bool|`x.all()`",
    ),
    "switch": (lambda: ct.switch(0, []), TypeError, "no branch|one function"),
    "leak": (_leaked, RuntimeError, "return it from the function"),
    "text": (lambda: ct.jit(lambda x, mode: x)(1.0, "fast"), TypeError, "`mode`|`static_argnums`"),
    "static array": (
        lambda: ct.jit(lambda x, n: x, static_argnums=1)(1.0, V),
        TypeError,
        "`n`|ndarray|tuple of these",
    ),
    "objects": (lambda: ct.jit(lambda x: x)(np.array([1, "a"], object)), TypeError, "`x`|object"),
    "complex": (lambda: ct.jit(lambda x: x + 1.0)(1j), TypeError, "`ct.Complex(x)`"),
    "ragged": (lambda: cnp.asarray([[1.0], [1.0, 2.0]]), ValueError, "rows of equal length"),
    "numpy's eig": (lambda: ct.jit(lambda x: np.linalg.eig(x))(SQUARE), TypeError, "eig|`eigh`"),
    "numpy's random": (lambda: ct.jit(lambda x: np.random.normal(x))(1.0), TypeError, "outside of"),
    "out": (lambda: ct.jit(lambda x: np.add(x, x, out=np.ones(3)))(V), TypeError, "a = a + x"),
    "solve": (lambda: ct.linalg.solve(A, V), ValueError, "[2, 3]f64|`ct.linalg.lstsq`"),
    "right sides": (lambda: ct.linalg.solve(SQUARE, W), ValueError, "[3, 3]f64|[4]f64"),
    "cholesky": (lambda: ct.linalg.cholesky(V), ValueError, "[3]f64|equal"),
    "ids of floats": (
        lambda: cnp.segment_sum(V, np.zeros(3), 2),
        IndexError,
        "float64|astype(int)",
    ),
    "ids": (lambda: cnp.segment_sum(V, np.zeros(4, int), 2), ValueError, "[4]i64|[3]f64|outermost"),
    "interp": (lambda: cnp.interp(V, V, W), ValueError, "(3,)|(4,)|one length"),
    "top": (lambda: cnp.top_k(V, 5), ValueError, "5"),
    "search": (lambda: cnp.searchsorted(A, V), ValueError, "[2, 3]f64"),
    "pad": (lambda: cnp.pad(V, 1, mode="odd"), ValueError, "'odd'|reflect or wrap"),
    "cross": (lambda: cnp.cross(W, W), ValueError, "[4]f64|size 3"),
    "channels": (lambda: ct.nn.conv(IMAGES, KERNEL), ValueError, "[1, 2, 4, 4]f64|[1, 3, 3, 3]f64"),
    "image": (lambda: ct.nn.conv(A, SQUARE), ValueError, "(2, 3)|(3, 3)|x[None, None]"),
    "labels": (lambda: ct.nn.cross_entropy(A, np.zeros(2)), IndexError, "float64|astype(int)"),
    "examples": (lambda: ct.nn.cross_entropy(A, np.zeros(3, int)), ValueError, "[3]i64|[2, 3]f64"),
    "seed": (lambda: ct.random.normal(0, (3,)), ValueError, "ct.random.key(seed)"),
    "no key": (lambda: ct.random.normal((3,)), ValueError, "ct.random.key(seed)"),
    "cotangent": (lambda: ct.vjp(lambda x: x * 2, V)[1](W), TypeError, "(4,)|(3,)|the shape of"),
    "tangent": (lambda: ct.jvp(lambda x: x, (V,), (W,)), TypeError, "[4]f64|[3]f64|the shape of"),
    "tangent of hvp": (lambda: ct.hvp(lambda x: (x * x).sum())(V, W), TypeError, "[4]f64|[3]f64"),
    "no tuples": (lambda: ct.jvp(lambda x: x, V, V), TypeError, "ct.jvp(f, (x,), (dx,))"),
    "no rule": (lambda: ct.grad(ct.custom_vjp(lambda x: x * x))(1.0), RuntimeError, "`defvjp`"),
    "rule": (
        lambda: ct.grad(_rule(lambda x: x.sum(), lambda x: (x.sum(), x), lambda r, g: (g,)))(V),
        TypeError,
        "[3]f64",
    ),
    "reduce": (lambda: ct.reduce(lambda a, b: (a, b), 0.0, V), TypeError, "gives what it takes"),
    "neutral": (lambda: ct.reduce(lambda a, b: a, (0.0, 0.0), V), TypeError, "f(neutral, x) is x"),
    "start": (lambda: ct.dynamic_slice(V, [0, 0], [2, 2]), ValueError, "2 components|[3]f64"),
    "too large": (
        lambda: ct.jit(lambda x: cnp.broadcast_to(x, (1 << 40, 1 << 40)).sum())(1.0),
        MemoryError,
        "too many elements|`ct.build`",
    ),
    "memory": (
        lambda: ct.jit(lambda x: cnp.cumsum(cnp.broadcast_to(x, (1 << 42,))))(1.0),
        MemoryError,
        "no memory|`ct.fold`",
    ),
    "length": (lambda: ct.jit(lambda x: len(x))(1.0), TypeError, "no axes"),
    "optimiser": (
        lambda: ct.optim.sgd(0.1).step({"a": 1.0}, {"b": 1.0}, {"step": 0}),
        TypeError,
        "structures",
    ),
    "format": (lambda: ct.jit(lambda x: f"{x:.3f}")(1.0), TypeError, "print what"),
    "list": (lambda: ct.jit(lambda x: x.tolist())(V), TypeError, "return the array"),
    "text program": (lambda: ct.loads("def f(x: [n]f64) = summ(x)"), ValueError, "`summ`|`sum`"),
    "delete": (lambda: ct.jit(lambda x: x.__delitem__(0))(V), TypeError, "ct.numpy.delete(x, index)"),
    "key": (lambda: ct.jit(lambda x: {x: 1.0})(1.0), TypeError, "hash|keys of dicts"),
    "argument twice": (
        lambda: ct.grad(lambda x, y: x * y, argnums=(0, -2))(1.0, 2.0),
        TypeError,
        "`argnums`|0 twice",
    ),
    "name twice": (
        lambda: ct.grad(lambda x: x * x, argnames=["x", "x"])(x=1.0),
        TypeError,
        "`argnames`|'x' twice",
    ),
    "no name": (lambda: ct.grad(lambda x: x, argnames="y")(1.0), TypeError, "`y`|has `x`"),
    "new axis": (
        lambda: ct.vmap(lambda x: x, out_axes=2)(V),
        TypeError,
        "axis 2|(3,)|`out_axes`",
    ),
    "bound": (
        lambda: ct.fori_loop(0, 3.5, lambda i, s: s + i, 0.0),
        TypeError,
        "float64|`.astype(int)`",
    ),
    "no element": (lambda: ct.build(3, lambda i: None), TypeError, "no element|return"),
    "half a place": (lambda: cnp.roll(V, 1.5), TypeError, "a float"),
    "stride": (lambda: ct.nn.conv(IMAGES, KERNEL, stride="2"), TypeError, "a str|an integer"),
    "no elements": (lambda: ct.scan(lambda c, x: (c, x), V), TypeError, "ct.scan(f, init, xs)"),
    "forward rule": (
        lambda: ct.grad(_rule(lambda x: x * x, lambda x: x * x, lambda r, g: (g,)))(1.0),
        TypeError,
        "an Array|return y, residuals",
    ),
    "keyword of a rule": (
        lambda: ct.grad(lambda x: _rule(lambda x: x, lambda x: (x, x), lambda r, g: (g,))(y=x))(1.0),
        TypeError,
        "'x'|the same arguments",
    ),
    "cotangents": (
        lambda: ct.vjp(lambda x: (x, x * 2), V)[1](V),
        TypeError,
        "(*, *)|a cotangent for each result",
    ),
    "tangents": (
        lambda: ct.jvp(lambda x, y: x * y, (V, V), (V,)),
        TypeError,
        "(*, *)|a tangent for each argument",
    ),
    "too many": (
        lambda: ct.loads("def f(x: f64) = x").f(1.0, 2.0),
        TypeError,
        "2 arguments for 1 parameters",
    ),
    "sizes": (
        lambda: ct.loads("def f(x: [n]f64, y: [n]f64) = x + y").f(V, W),
        ValueError,
        "`n` is 3|4",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name: str) -> None:
    run, kind, words = MISTAKES[name]
    with pytest.raises(kind) as caught:
        run()
    error = caught.value
    assert isinstance(error, ct.CotanError), repr(error)
    assert not isinstance(error, ct.errors.InternalError), error
    text = str(error)
    for word in words.split("|"):
        assert word in text, text
    # The line is in this file: of the mistake, or of the function that makes it.
    file, _, line = str(error.location).rpartition(":")
    assert file == __file__ and int(line) > 20, text
    # The messages of the text language bring their own.
    assert error.hint or isinstance(error, ct.errors.TextError), text


MISSING: dict[str, tuple[Callable[[], Any], str]] = {
    "lax": (lambda: ct.lax.scan, "`ct.scan`"),  # type: ignore[attr-defined]
    "fft": (lambda: cnp.rfft, "cotan.numpy.fft"),  # type: ignore[attr-defined]
    "svd": (lambda: ct.linalg.svdd, "svdd"),  # type: ignore[attr-defined]
    "numpy": (lambda: ct.jit(lambda x: x.numpy())(1.0), "return the array"),
    "backward": (lambda: ct.jit(lambda x: x.backward())(1.0), "ct.grad(f)(x)"),
    "log": (lambda: ct.jit(lambda x: x.log())(1.0), "ct.numpy.log(x)"),
    "function": (lambda: ct.loads("def f(x: f64) = x").g, "it has `f`"),
}


@pytest.mark.parametrize("name", MISSING)
def test_missing_names_lead_to_others(name: str) -> None:
    run, words = MISSING[name]
    with pytest.raises(AttributeError) as caught:
        run()
    assert words in str(caught.value)
    assert not hasattr(ct, "nothing") and not hasattr(cnp, "nothing")

"""Tracing, derivatives, structures, caches."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

RNG = np.random.default_rng(0)


def close(a: Any, b: Any, tol: float = 1e-10) -> None:
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: abs(a) ** b,
]


@pytest.mark.parametrize("f", BINARY)
@pytest.mark.parametrize("shapes", [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 4))])
def test_operators_broadcast_like_numpy(f: Any, shapes: Any) -> None:
    a, b = (RNG.standard_normal(s) + 3 for s in shapes)
    close(ct.jit(f)(a, b), f(a, b), 1e-12)
    close(ct.jit(lambda a: f(a, 2))(a), f(a, 2), 1e-12)
    close(ct.jit(lambda a: f(2.5, a))(a), f(2.5, a), 1e-12)
    # An array of numpy on the left leaves the operator to ours.
    close(ct.jit(lambda a: f(np.asarray(b), a))(a), f(b, a), 1e-12)


def test_element_types_are_those_of_numpy() -> None:
    samples = [np.float32(2), np.float64(2), np.int64(3), np.bool_(True), 2.0, 3, True]
    for a in samples:
        for b in samples:
            if isinstance(a, (bool, int, float)) and isinstance(b, (bool, int, float)):
                continue
            x = np.asarray(a) if isinstance(a, np.generic) else a
            y = np.asarray(b) if isinstance(b, np.generic) else b
            got = ct.jit(lambda x, y: x * y)(x, y)
            # What is a number of Python here takes the type of arrays with axes, too.
            wide = np.multiply(
                np.atleast_1d(x) if isinstance(a, np.generic) else x,
                np.atleast_1d(y) if isinstance(b, np.generic) else y,
            )
            assert got.dtype == wide.dtype, (a, b, got.dtype, wide.dtype)
    assert ct.jit(lambda x, y: x / y)(np.array(1), np.array(2)) == 0.5
    assert ct.jit(lambda x: x * 0.5)(np.float32([1, 2])).dtype == np.float32


def test_integers_divide_and_shift_like_python() -> None:
    a, b = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
    assert ct.jit(lambda a, b: (a // b, a % b))(a, b)[0].tolist() == (a // b).tolist()
    assert ct.jit(lambda a, b: a % b)(a, b).tolist() == (a % b).tolist()
    assert ct.jit(lambda a: (a << 2) >> 1)(a).tolist() == (a * 2).tolist()
    assert ct.jit(lambda a: a**3)(a).tolist() == (a**3).tolist()
    assert ct.jit(lambda a: ~a)(a).tolist() == (~a).tolist()
    mask = a > 0
    assert ct.jit(lambda m: (~m | m) & m ^ m)(mask).tolist() == [False] * 4


INDICES = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(4, 0, -2),
    (0, 1),
    (slice(None), 2),
    (slice(None), None, 1),
    (..., 0),
    (1, ...),
    None,
    (slice(1), slice(2, None), -1),
    np.array([2, 0, 0]),
    np.array([[0, 1], [2, -1]]),
    (np.array([0, 1]), np.array([1, 2])),
    (slice(None), np.array([0, 2])),
    (np.array([0, 1]), slice(None), np.array([1, 0])),
    (0, slice(None), np.array([1, 0])),
    (..., np.array([1, 3])),
    (np.array([1]), None, 2),
    np.array([True, False, True]),
    (slice(None), np.array([True, False, True, True])),
    [0, 2],
    (slice(0, 2), np.array([[0], [1]]), slice(1, None)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_that_of_numpy(index: Any) -> None:
    x = RNG.standard_normal((3, 4, 5))
    close(ct.jit(lambda x: x[index])(x), x[index])
    part = x[index]
    weights = RNG.standard_normal(part.shape)
    expected = np.zeros_like(x)
    np.add.at(expected, index if not isinstance(index, list) else np.array(index), weights)
    close(ct.grad(lambda x: (x[index] * weights).sum())(x), expected)
    close(ct.jit(lambda x: x.at[index].add(weights))(x), x + expected)
    if (
        not isinstance(index, np.ndarray)
        or index.dtype == bool
        or len(set(index.flat)) == index.size
    ):
        written = x.copy()
        written[index] = 7.0
        close(ct.jit(lambda x: x.at[index].set(7.0))(x), written)


def test_traced_indices_read_zero_outside() -> None:
    x = np.array([1.0, 2.0, 3.0])
    f = ct.jit(lambda x, i: x[i])
    assert [float(f(x, i)) for i in (0, 2, 3, -1)] == [1.0, 3.0, 0.0, 0.0]
    m = np.arange(6.0).reshape(2, 3)
    assert float(ct.jit(lambda m, i, j: m[i, j])(m, 1, 2)) == 5.0
    assert ct.jit(lambda m, k: m[:, k])(m, np.array([2, 0])).tolist() == [[2.0, 0.0], [5.0, 3.0]]
    assert ct.jit(lambda x, i: x.at[i].multiply(10.0))(x, 1).tolist() == [1.0, 20.0, 3.0]


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    name: str = dataclasses.field(default="layer", metadata={"static": True})


def test_structures_of_all_kinds() -> None:
    tree = {
        "z": [1.0, (np.ones(2), None)],
        "p": Pair(np.float32([1, 2]), 3.0),
        "l": Layer(2.0, 1.0),
    }
    f = ct.jit(lambda t: ct.tree.map(lambda x: x * 2, t))
    out = f(tree)
    assert isinstance(out["p"], Pair) and isinstance(out["l"], Layer) and out["z"][1][1] is None
    assert out["l"].name == "layer" and float(out["l"].w) == 4.0
    assert out["p"].a.dtype == np.float32

    def loss(t: Any) -> Any:
        return t["z"][0] * t["z"][1][0].sum() + (t["p"].a ** 2).sum() + t["p"].b * t["l"].w

    g = ct.grad(loss)(tree)
    assert float(g["z"][0]) == 2.0 and g["z"][1][0].tolist() == [1.0, 1.0]
    assert g["p"].a.tolist() == [2.0, 4.0] and g["p"].a.dtype == np.float32
    assert float(g["l"].w) == 3.0 and float(g["l"].b) == 0.0
    # A static field of another value is another function.
    misses = f.cache_info().misses
    f({**tree, "l": Layer(2.0, 1.0, "other")})
    assert f.cache_info().misses == misses + 1


def test_comparison_with_none_is_identity() -> None:
    assert float(ct.jit(lambda x: x if x == None else 2 * x)(1.0)) == 2.0  # noqa: E711
    assert float(ct.jit(lambda x: 2 * x if x != None else x)(1.0)) == 2.0  # noqa: E711


def test_transformations_nest_in_any_order() -> None:
    f = lambda x: cnp.sin(x) * x**3
    d = [np.sin(2.0) * 8, np.cos(2.0) * 8 + 12 * np.sin(2.0)]
    close(ct.grad(f)(2.0), d[1])
    second = 24 * np.cos(2.0) - 8 * np.sin(2.0) + 12 * np.sin(2.0)
    for twice in (
        ct.grad(ct.grad(f)),
        ct.jacfwd(ct.grad(f)),
        ct.jacrev(ct.jacfwd(f)),
        ct.hessian(f),
        ct.jit(ct.grad(ct.jit(ct.grad(ct.jit(f))))),
        lambda x: ct.jvp(ct.grad(f), (x,), (1.0,))[1],
        lambda x: ct.hvp(f)(x, 1.0),
        lambda x: ct.vjp(ct.grad(f), x)[1](1.0)[0],
        ct.grad(lambda x: ct.vjp(f, x)[1](1.0)[0]),
        ct.grad(lambda x: ct.jvp(f, (x,), (1.0,))[1]),
        ct.grad(lambda x: ct.linearize(f, x)[1](1.0)),
    ):
        close(twice(2.0), second)
    xs = np.array([0.5, 2.0])
    close(ct.vmap(ct.grad(ct.grad(f)))(xs)[1], second)
    close(ct.grad(lambda xs: ct.vmap(ct.grad(f))(xs).sum())(xs)[1], second)
    close(ct.jacfwd(ct.vmap(f))(xs), np.diag([ct.grad(f)(x) for x in xs]))


def test_derivatives_by_some_arguments() -> None:
    f = lambda x, y, k=1.0: k * x * y**2
    assert float(ct.grad(f, argnums=1)(3.0, 4.0)) == 24.0
    assert [float(g) for g in ct.grad(f, argnums=(1, 0))(3.0, 4.0)] == [24.0, 16.0]
    assert float(ct.grad(f, argnums=-1)(3.0, 4.0)) == 24.0
    assert float(ct.grad(f, argnames="k")(3.0, 4.0, k=2.0)) == 48.0
    assert float(ct.grad(f, argnames="y")(3.0, 4.0)) == 24.0
    (value, aux), g = ct.value_and_grad(lambda x: (x * x, (x, "k")[0]), has_aux=True)(3.0)
    assert (float(value), float(aux), float(g)) == (9.0, 3.0, 6.0)
    jac, aux = ct.jacrev(lambda x: (x * x, x.sum()), has_aux=True)(np.array([1.0, 2.0]))
    assert jac.tolist() == [[2.0, 0.0], [0.0, 4.0]] and float(aux) == 3.0
    rows = ct.jacobian(lambda p: {"s": p["x"].sum(), "d": p["x"] * p["y"]})(
        {"x": np.ones(2), "y": 2.0}
    )
    assert rows["s"]["x"].tolist() == [1.0, 1.0] and rows["d"]["y"].tolist() == [1.0, 1.0]
    with pytest.raises(ct.CotanError, match="there is no argument 2"):
        ct.grad(f, argnums=2)(3.0, 4.0)


def test_functions_are_traced_once_for_each_signature() -> None:
    count = 0

    @ct.jit(static_argnums=1, cache_size=2)
    def f(x: Any, n: int) -> Any:
        nonlocal count
        count += 1
        return x * n

    for _ in range(3):
        f(np.ones(2), 2), f(np.ones(2), 3)
    assert count == 2 and f.cache_info() == (4, 2, 2, 2)
    f(np.ones(2), 3.0)
    assert count == 3, "3 and 3.0 are not the same"
    f(np.ones(3), 2)
    assert count == 4 and f.cache_info().size == 2, "the cache is bounded"
    f(np.ones(2), 2)
    assert count == 5, "what was used longest ago is forgotten"
    f.clear_cache()
    assert f.cache_info().size == 0


def test_a_transformation_sees_what_its_function_captures_then() -> None:
    for batch in (1.0, 2.0):
        assert float(ct.grad(lambda x: x * batch)(3.0)) == batch

    def loss(x: Any) -> Any:
        return x * scale

    found = []
    for scale in (3.0, 4.0):  # noqa: B007
        found += [float(ct.grad(loss)(1.0)), float(ct.vjp(loss, 1.0)[1](1.0)[0])]
        found.append(float(ct.jvp(loss, (1.0,), (1.0,))[1]))
    assert found == [3.0] * 3 + [4.0] * 3


def test_functions_go_when_nobody_has_them() -> None:
    def f(x: Any) -> Any:
        return x * x

    alive = weakref.ref(f)
    g = ct.grad(f)
    g(1.0)
    del f, g
    gc.collect()
    assert alive() is None


def test_methods_and_keywords() -> None:
    class Model:
        scale = 3.0

        @ct.jit(static_argnums=0)
        def __call__(self, x: Any) -> Any:
            return self.scale * x

    assert float(Model()(2.0)) == 6.0
    f = ct.jit(lambda x, *, y, z=1.0: x * y + z)
    assert float(f(2.0, y=3.0)) == 7.0 and float(f(2.0, z=0.0, y=3.0)) == 6.0


def test_programs_can_be_looked_at() -> None:
    f = ct.grad(lambda x: (x * x).sum())
    f(np.ones(3))
    assert f.source.startswith("def main(x: [3]f64)")
    text = f.explain(np.ones(4))
    assert "# optimised" in text and "[4]f64" in text and "operations" in text
    assert "<table>" in f._repr_html_() and f.lower(np.ones(2)).backend in ("native", "machine")
    assert f.cost().peak_bytes >= 32 and "grad" in repr(f)
    with pytest.raises(ct.CotanError, match="no program yet"):
        ct.jit(lambda x: x).explain()
    # The gradient is a text of the language, which can be run.
    again = ct.loads(f.lower(np.ones(3)).source).main
    assert again(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]


def test_pullbacks_keep_what_loops_and_branches_left() -> None:
    x, w = RNG.standard_normal(4), RNG.standard_normal((4, 4))

    def f(x: Any, w: Any) -> Any:
        step = lambda h, row: (cnp.tanh(w @ h + row), (h * h).sum())
        last, squares = ct.scan(step, x, w)
        root = ct.while_loop(lambda s: s < 3.0, lambda s: s * 1.5, (x * x).sum() + 1.0)
        branch = ct.cond(x[0] > 0, lambda: cnp.exp(x).sum(), lambda: (x**3).sum())
        return {"last": last, "rest": (squares, root * branch)}

    value, pull = ct.vjp(f, x, w)
    np.testing.assert_allclose(value["last"], ct.jit(f)(x, w)["last"], rtol=1e-14)
    cotangent = {"last": np.arange(4.0), "rest": (np.ones(4), 2.0)}

    def weighted(x: Any, w: Any) -> Any:
        y = f(x, w)
        return (y["last"] * np.arange(4.0)).sum() + y["rest"][0].sum() + 2.0 * y["rest"][1]

    expected = ct.grad(weighted, argnums=(0, 1))(x, w)
    for _ in range(2):
        for got, want in zip(pull(cotangent), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)
    x += 1.0
    np.testing.assert_allclose(pull(cotangent)[0], expected[0], rtol=1e-12)
    # Also inside of traced functions, and for many cotangents at once.
    rows = ct.vmap(lambda c: pull({"last": c, "rest": (np.zeros(4), 0.0)})[0])(np.eye(4))
    jacobian = ct.jacrev(lambda x: f(x, w)["last"])(x - 1.0)
    np.testing.assert_allclose(rows, jacobian, rtol=1e-12)
    # What is no float has no cotangent.
    (number, y), pull_both = ct.vjp(lambda x: (cnp.argmax(x), cnp.sin(x)), x)
    np.testing.assert_allclose(pull_both((number, np.ones(4)))[0], np.cos(x))


def test_sizes_of_text_programs_can_be_integer_parameters() -> None:
    program = ct.loads(
        "def part(x: [n]f64, k: i64) = build k (i => 2.0 * x[i])\n"
        "def power(x: f64, k: i64): f64 = x ** k"
    )
    assert program.part(np.ones(3), 2).tolist() == [2.0, 2.0]
    assert program.part(np.ones(3), k=4).tolist() == [2.0, 2.0, 2.0, 0.0]
    assert ct.grad(lambda x: program.part(x, 2).sum())(np.ones(3)).tolist() == [2.0, 2.0, 0.0]
    # One that is not a size stays an argument.
    assert [float(program.power(2.0, k)) for k in (1, 2, 3)] == [2.0, 4.0, 8.0]
    assert program.power.cache_info().misses == 1
    with pytest.raises(ct.errors.ConcreteValueError):
        ct.jit(lambda x, k: program.part(x, k))(np.ones(3), 2)

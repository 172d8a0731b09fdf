"""What users of JAX and numpy write without looking it up, and the mistakes that go with it."""

from __future__ import annotations

import collections
import copy
import inspect
import pickle
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

X = np.array([1.0, 2.0, 3.0])


def power(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * x
    return x


class Model:
    """Not a structure: an object with a method."""

    def apply(self, w: Any, x: Any) -> Any:
        return w * x


def test_derivatives_hand_on_what_is_not_an_array() -> None:
    """JAX differentiates without compiling, so that any other argument may be anything."""
    assert ct.grad(lambda x, kind: x * x if kind == "square" else x)(3.0, "square") == 6.0
    f = ct.grad(lambda x, train=True: x * x if train else x)
    assert (f(3.0, train=True), f(3.0, train=False), f(3.0, True), f(3.0)) == (6.0, 1.0, 6.0, 6.0)
    assert f.cache_info().misses == 4
    assert ct.grad(lambda x, f: f(x))(0.0, cnp.sin) == 1.0
    model = Model()
    gradient = ct.grad(lambda w, model, x: model.apply(w, x))
    assert (gradient(2.0, model, 5.0), gradient(2.0, model, 7.0)) == (5.0, 7.0)
    assert gradient.cache_info().misses == 1
    assert ct.vmap(lambda x, up: x + 1 if up else x)(X, True).tolist() == [2.0, 3.0, 4.0]
    assert ct.hvp(lambda x, cube: x**3 if cube else x)(2.0, True, 1.0) == 12.0
    again = ct.checkpoint(lambda x, name: {"sin": cnp.sin, "cos": cnp.cos}[name](x))
    assert ct.grad(lambda x: again(x, "sin"))(0.0) == 1.0 and again(0.0, "cos") == 1.0


def test_the_place_of_a_static_argument_counts() -> None:
    f = ct.grad(lambda *args: args[0] * 2.0 if isinstance(args[1], str) else args[1], argnums=-1)
    with pytest.raises(ct.CotanError):
        f(1.0, "a")
    g = ct.vmap(lambda a, b: a if isinstance(b, str) else b * 10.0, in_axes=0)
    assert g(X, "a").tolist() == [1.0, 2.0, 3.0] and g("a", X).tolist() == [10.0, 20.0, 30.0]


def test_static_arguments_of_transformations() -> None:
    assert ct.grad(power, static_argnums=1)(2.0, 3) == 1024.0
    assert ct.grad(ct.jit(power, static_argnums=1))(2.0, 3) == 1024.0
    assert ct.value_and_grad(power, static_argnames="n")(2.0, n=1) == (4.0, 4.0)
    assert ct.jacfwd(power, static_argnums=-1)(2.0, 2) == 32.0
    assert ct.hessian(power, static_argnums=1)(2.0, 1) == 2.0
    assert ct.hvp(power, static_argnums=-1)(2.0, 1, 0.5) == 1.0
    assert ct.vmap(power, static_argnums=1)(X, 2).tolist() == [1.0, 16.0, 81.0]
    assert ct.vmap(ct.grad(ct.jit(power, static_argnames="n")))(X, n=1).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(ct.CotanError, match="is not a parameter"):
        ct.jit(power, static_argnames="m")
    with pytest.raises(ct.CotanError, match="2 positional parameters"):
        ct.jit(power, static_argnums=2)


def test_lists_of_numbers_are_arrays_for_functions_of_numpy() -> None:
    assert cnp.sum([1, 2, 3]) == 6 and cnp.mean(((1.0, 2.0), (3.0, 6.0))) == 3.0
    assert cnp.sin([0.0]).tolist() == [0.0] and cnp.stack([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert ct.grad(lambda x: cnp.sum([x, 2 * x, 3.0]))(1.0) == 3.0
    assert ct.jit(lambda x: cnp.concatenate([x, [4.0]]))(X).tolist() == [1.0, 2.0, 3.0, 4.0]
    long = list(range(100_000))
    assert cnp.sum(long) == sum(long)


def test_reductions_where_a_condition_holds() -> None:
    mask = np.array([[True, False, True], [False, False, True]])
    x = np.array([[1.0, np.nan, 3.0], [np.inf, -2.0, 5.0]])
    for name, options in (
        ("sum", {}),
        ("prod", {}),
        ("mean", {}),
        ("max", {"initial": -1.0}),
        ("min", {"initial": 4.0}),
    ):
        for axis in (None, 0, 1):
            got = getattr(cnp, name)(x, axis=axis, where=mask, **options)
            with np.errstate(all="ignore"):
                wanted = (
                    getattr(np, name)(x, axis=axis, where=mask, **options)
                    if name != "mean"
                    else (np.where(mask, x, 0.0).sum(axis=axis) / mask.sum(axis=axis))
                )
            np.testing.assert_array_equal(got, wanted, err_msg=f"{name} {axis}")
    assert cnp.all(x > 2, where=mask) == np.all(x > 2, where=mask)
    assert cnp.any(x > 4, where=mask).tolist() is True
    assert cnp.sum(X, initial=10.0) == 16.0
    assert ct.grad(lambda x: cnp.sum(cnp.log(x), where=x > 0))(np.array([0.0, 2.0])).tolist() == [
        0.0,
        0.5,
    ]
    with pytest.raises(ct.CotanError, match="initial"):
        cnp.max(X, where=X > 1)


def test_branches_and_numbers_of_python() -> None:
    for f in (
        lambda x: ct.cond(x > 0, lambda: x, lambda: 0),
        lambda x: ct.cond(x > 0, lambda: 2, lambda: x),
        lambda x: ct.switch(0, [lambda: x, lambda: 0, lambda: True]),
    ):
        got = ct.jit(f)(np.float32(3.0))
        assert got.dtype == np.float32
    assert ct.jit(lambda n: ct.cond(n > 0, lambda: n, lambda: 0.5))(np.int64(3)).dtype == np.float64
    both = ct.grad(
        lambda x: ct.cond(x > 0, lambda: {"a": x * x, "b": 1}, lambda: {"a": 0, "b": 2})["a"]
    )
    assert (both(3.0), both(-3.0)) == (6.0, 0.0)
    # As many conditions inside of each other are not traced again and again.
    count = 0

    def chain(x: Any, depth: int) -> Any:
        nonlocal count
        count += 1
        if depth == 0:
            return x
        return ct.cond(x > depth, lambda: 0, lambda: chain(x, depth - 1))

    assert ct.grad(lambda x: chain(x, 12))(0.5) == 1.0 and count < 500
    assert ct.grad(lambda x: chain(x, 12))(np.float32(0.5)).dtype == np.float32
    with pytest.raises(ct.CotanError, match="first branch"):
        ct.cond(True, lambda: np.float32(1), lambda: np.float64(1))


def test_known_arrays_at_traced_indices() -> None:
    table = np.array([10.0, 20.0, 30.0])
    assert ct.build(3, lambda i: cnp.asarray(table)[2 - i]).tolist() == [30.0, 20.0, 10.0]
    assert ct.jit(lambda i: cnp.arange(5)[i, None])(np.int64(3)).tolist() == [3]
    assert ct.jit(lambda x: cnp.arange(5)[1:3] + x)(1.0).tolist() == [2.0, 3.0]


def test_structures_of_collections() -> None:
    f = lambda p: p["b"] * p["a"]
    ordered = ct.grad(f)(collections.OrderedDict(b=2.0, a=3.0))
    assert list(ordered) == ["b", "a"] and isinstance(ordered, collections.OrderedDict)
    default = ct.grad(f)(collections.defaultdict(list, b=2.0, a=3.0))
    assert default["b"] == 3.0 and default["new"] == []
    queue = ct.grad(lambda q: q[0] * q[1])(collections.deque([2.0, 3.0], maxlen=4))
    assert list(queue) == [3.0, 2.0] and queue.maxlen == 4


gradient_of_power = ct.grad(power, static_argnums=1)


@ct.jit
def doubled(x: Any) -> Any:
    return 2.0 * x


def test_functions_are_pickled_by_name_or_made_again() -> None:
    assert ct.grad(cnp.sin).__reduce__()
    again = pickle.loads(pickle.dumps(ct.jit(np.cumsum, static_argnames="axis")))
    assert again(X, axis=0).tolist() == [1.0, 3.0, 6.0]
    assert copy.deepcopy(doubled) is doubled and copy.copy(doubled) is doubled
    with pytest.raises((AttributeError, pickle.PicklingError, ct.CotanError)):
        pickle.dumps(ct.grad(lambda x: x))


def test_signatures_are_those_of_the_function() -> None:
    def f(a: Any, b: float = 2.0, *, c: float = 1.0) -> Any:
        """Says something."""
        return a * b * c

    for made in (ct.jit(f), ct.grad(f), ct.vmap(f), ct.checkpoint(f)):
        assert list(inspect.signature(made).parameters) == ["a", "b", "c"]
        assert made.__doc__ == "Says something."


def test_rules_are_given_by_decorators() -> None:
    @partial(ct.custom_jvp, nondiff_argnums=(0,))
    def apply(f: Any, x: Any) -> Any:
        return f(x)

    @apply.defjvp
    def rule(f: Any, primals: Any, tangents: Any) -> Any:
        return apply(f, *primals), 100.0 * tangents[0]

    assert callable(rule)
    assert ct.grad(apply, argnums=1)(cnp.sin, 2.0) == 100.0


def test_arrays_have_the_attributes_of_numpy() -> None:
    def f(x: Any) -> Any:
        assert (x.itemsize, x.nbytes, x.dtype, x.ndim, x.size) == (8, 24, np.dtype(float), 1, 3)
        return cnp.stack([*reversed(x)]) + x.real + x.conj()

    assert ct.jit(f)(X).tolist() == [5.0, 6.0, 7.0]


def test_quantiles_of_several_shares() -> None:
    for q in (0.3, [0.1, 0.9], np.array([[0.1], [0.2]])):
        np.testing.assert_allclose(cnp.quantile(X, q), np.quantile(X, q))
        np.testing.assert_allclose(cnp.percentile(X, np.asarray(q) * 100), np.quantile(X, q))


def stores(x: Any) -> Any:
    out = np.zeros(3)
    for k in range(3):
        out[k] = x[k]
    return out


@dataclass
class Layer:
    w: Any
    kind: str = "relu"


def returns_text(x: Any) -> Any:
    return {"loss": x, "name": "text"}


# What goes wrong, and what the message says: the words that name the place and the remedy.
MISTAKES: dict[str, tuple[Any, list[str]]] = {
    "store": (lambda: ct.jit(stores)(X), ["numpy cannot hold", ".at[index].set"]),
    "numpy index": (
        lambda: ct.build(3, lambda i: X[i]),
        ["traced index", "ct.numpy.asarray(a)[i]"],
    ),
    "list index": (lambda: ct.build(3, lambda i: [1.0, 2.0][i]), ["ct.numpy.asarray(a)[i]"]),
    "size": (lambda: ct.jit(lambda n: cnp.zeros(n))(3), ["a size is not known", "static_argnums"]),
    "shape": (lambda: ct.jit(lambda x, n: x.reshape(n, -1))(X, 3), ["a size is not known"]),
    "build": (lambda: ct.jit(lambda n: ct.build(n, lambda i: i))(3), ["a size is not known"]),
    "float size": (lambda: ct.build(3.0, lambda i: i), ["not an integer"]),
    "field": (lambda: ct.grad(lambda p: p.w)(Layer(1.0)), ["`p.kind`", "a str", "metadata"]),
    "self": (lambda: ct.jit(Model.apply)(Model(), 1.0, 2.0), ["`self`", "ct.tree.register"]),
    "result": (lambda: ct.jit(returns_text)(1.0), ["result `name`", "a function returns"]),
    "mapped scalar": (lambda: ct.vmap(cnp.add)(X, 1.0), ["no axis 0", "None in `in_axes`"]),
    "in_axes": (lambda: ct.vmap(cnp.sin, in_axes=None), ["`in_axes` is None"]),
    "primals": (lambda: ct.jvp(cnp.sin, X, X), ["tuples", "(x,), (dx,)"]),
    "cotangent": (lambda: ct.vjp(cnp.sin, X)[1](1.0), ["cotangent of shape ()", "(3,)"]),
    "tangent": (lambda: ct.linearize(cnp.sin, X)[1](1.0), ["tangent of shape ()", "(3,)"]),
    "vector": (lambda: ct.grad(cnp.sin)(X), ["float scalar", "ct.jacrev"]),
    "where": (lambda: ct.jit(lambda x: cnp.where(x > 1))(X), ["nonzero"]),
    "max": (lambda: ct.jit(lambda x: max(x))(X), ["cotan.numpy", "`max`"]),
    "scan": (lambda: ct.scan(lambda s, x: ((s, s), x), 0.0, X), ["scan:"]),
    "fori_loop": (lambda: ct.fori_loop(0, 3, lambda i, s: (s, s), 0.0), ["fori_loop:"]),
    "scan lengths": (lambda: ct.scan(lambda s, x: (s, s), 0.0, (X, np.ones(4))), ["scan:"]),
    "axis": (lambda: cnp.sum(X, axis=3), ["sum:", "axis 3"]),
    "concatenate": (lambda: cnp.concatenate([X, np.ones((2, 2))]), ["concatenate:"]),
    "name in text": (lambda: ct.loads("def f(x: f64) = x + y"), ["unknown name `y`", "text.ct:1"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name: str) -> None:
    run, words = MISTAKES[name]
    with pytest.raises(ct.CotanError) as caught:
        run()
    text = str(caught.value)
    assert all(word in text for word in words), text
    assert "test_habits.py:" in text


def test_what_is_left_beside_second_derivatives_and_linear_functions() -> None:
    f = lambda x: ((x**3).sum(), {"twice": 2 * x})
    hessian, aux = ct.hessian(f, has_aux=True)(X)
    np.testing.assert_allclose(hessian, np.diag(6 * X))
    assert aux["twice"].tolist() == [2.0, 4.0, 6.0]
    for wrapped in (lambda f: f, ct.jit):
        value, slope, aux = wrapped(
            lambda x: (lambda y, push, aux: (y, push(x), aux))(
                *ct.linearize(f, x, has_aux=True)
            )
        )(X)
        assert (value, slope) == (36.0, 108.0) and aux["twice"].tolist() == [2.0, 4.0, 6.0]


def test_rules_take_keywords_as_their_functions_do() -> None:
    @ct.custom_vjp
    def scaled(x: Any, by: Any = 2.0) -> Any:
        return x * by

    scaled.defvjp(lambda x, by: (x * by, by), lambda by, g: (10.0 * by * g, 0.0))
    assert ct.grad(lambda x: scaled(x, by=3.0))(1.0) == 30.0
    assert ct.grad(lambda x: scaled(by=3.0, x=x))(1.0) == 30.0
    assert scaled(2.0, by=4.0) == 8.0


def test_parts_from_one_position() -> None:
    assert ct.dynamic_slice(X, 1, 2).tolist() == [2.0, 3.0]
    assert ct.jit(lambda x, i: ct.dynamic_slice(x, i, 2))(X, 2).tolist() == [3.0, 0.0]
    assert ct.dynamic_slice(np.ones((2, 3)), (0, 1), (2, 2)).shape == (2, 2)


def test_calls_like_the_last_one() -> None:
    """The fast way gives what the slow one gives, whatever changes from call to call."""
    f = ct.jit(lambda a, b=1.0, c=0.0: a + 10 * b + 100 * c)
    assert [f(1, b=2, c=3), f(1, c=3, b=2), f(1, b=2, c=4), f(2, c=4, b=1)] == [321, 321, 421, 412]
    assert f.cache_info().misses == 1
    assert f(1.0, b=2, c=3).dtype == np.float64 and f(1, b=2, c=3).dtype == np.int64
    array = np.arange(3.0)
    for a in (array, array.astype(np.float32), array.astype(">f8"), array[::-1], array[:2], array):
        for _ in range(2):
            got = f(a, b=a, c=1)
            np.testing.assert_array_equal(got, 11 * a + 100)
            assert got.dtype == (np.float32 if a.dtype == np.float32 else np.float64)
    assert f(array, b=array, c=True).tolist() == [100.0, 111.0, 122.0]
    assert f(array, **{"".join(["b"]): array, "c": 1}).tolist() == [100.0, 111.0, 122.0]
    with pytest.raises(TypeError):
        f(array, d=1)
    assert f(array, b=array).tolist() == [0.0, 11.0, 22.0]
    # What was used last is what is looked at.
    g = ct.jit(lambda x: x * 2)
    _ = g(X), g(X)
    g.lower(np.ones((4, 5)))
    _ = g(X), g(X)
    assert "[3]f64" in g.source and g.cache_info().hits == 3
    g.clear_cache()
    assert g(X).tolist() == [2.0, 4.0, 6.0] and g.cache_info().size == 1
    h = ct.jit(lambda x, up: x + 1 if up else x, static_argnames="up")
    assert [h(1.0, up=True), h(1.0, up=False), h(1.0, up=True)] == [2.0, 1.0, 2.0]


def test_pullbacks_of_matrix_products() -> None:
    """They keep the factors, of which repetitions would be 200 MB."""
    x = np.random.default_rng(1).random((300, 300))
    y, pullback = ct.vjp(lambda x: x @ x @ x, x)
    np.testing.assert_allclose(pullback(np.ones_like(y))[0], sum(
        np.linalg.matrix_power(x.T, k) @ np.ones_like(x) @ np.linalg.matrix_power(x.T, 2 - k)
        for k in range(3)
    ))
    y, push = ct.linearize(lambda x: x @ x, x)
    np.testing.assert_allclose(push(np.ones_like(x)), np.ones_like(x) @ x + x @ np.ones_like(x))

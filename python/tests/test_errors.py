"""Bad input: exceptions that name the line and the remedy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import cotan as ct
import cotan.numpy as cnp

CONCRETE = {
    "if": lambda x: 1.0 if x > 0 else x,
    "and": lambda x: x and 2.0,
    "float": float,
    "int": int,
    "range": lambda x: range(x.astype(int)),
    "math": lambda x: __import__("math").sin(x),
    "item": lambda x: x.item(),
    "array": lambda x: np.array(x),
    "slice": lambda x: cnp.arange(3)[: x.astype(int)] if False else np.ones(3)[: x.astype(int)],
    "traced slice": lambda x: cnp.broadcast_to(x, (3,))[: x.astype(int)],
    "format": lambda x: f"{float(x)}",
    "numpy": lambda x: np.linalg.svd(np.asarray(x)),
}


@pytest.mark.parametrize("name", CONCRETE)
def test_values_that_are_not_known_are_an_error_with_a_remedy(name: str) -> None:
    with pytest.raises(ct.errors.ConcreteValueError) as caught:
        ct.jit(CONCRETE[name])(1.0)
    assert caught.value.hint and isinstance(caught.value, TypeError)
    assert caught.value.location and "test_errors.py:" in caught.value.location


def test_the_line_is_that_of_the_user() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return cnp.matmul(y, np.ones((5, 5)))  # here

    with pytest.raises(ct.errors.ArrayTypeError) as caught:
        ct.grad(lambda x: f(x).sum())(np.ones((2, 3)))
    line = f.__code__.co_firstlineno + 2
    assert caught.value.location == f"{__file__}:{line}"
    assert "[2, 3]f64" in str(caught.value) and "[5, 5]f64" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


BAD: dict[str, tuple[type[Exception], Any]] = {
    "shapes": (ValueError, lambda: ct.jit(lambda a, b: a + b)(np.ones(2), np.ones(3))),
    "axis": (ValueError, lambda: cnp.sum(np.ones(2), axis=3)),
    "index": (IndexError, lambda: ct.jit(lambda x: x[5])(np.ones(3))),
    "indices": (IndexError, lambda: ct.jit(lambda x: x[0, 0])(np.ones(3))),
    "float index": (IndexError, lambda: ct.jit(lambda x, i: x[i])(np.ones(3), 1.0)),
    "array index": (IndexError, lambda: ct.jit(lambda x: x[np.array([0, 7])])(np.ones(3))),
    "step": (IndexError, lambda: ct.jit(lambda x: x[::0])(np.ones(3))),
    "take": (IndexError, lambda: cnp.take(np.ones(3), np.array([3]))),
    "reshape": (ValueError, lambda: cnp.reshape(np.ones(6), (4, -1))),
    "string": (TypeError, lambda: ct.jit(lambda x: x)("text")),
    "function": (TypeError, lambda: ct.jit(lambda f: 1.0)(np.sin)),
    "object": (TypeError, lambda: ct.jit(lambda x: x)(np.array([object()]))),
    "complex": (TypeError, lambda: ct.jit(lambda x: x)(np.array([1j]))),
    "ragged": (ValueError, lambda: ct.jit(lambda x: x + [[1.0], [1.0, 2.0]])(1.0)),
    "large int": (ValueError, lambda: ct.jit(lambda x: x)(1 << 70)),
    "uint64": (ValueError, lambda: ct.jit(lambda x: x)(np.array([1 << 63], np.uint64))),
    "grad of int": (TypeError, lambda: ct.grad(lambda x: x * 2)(3)),
    "grad of vector": (TypeError, lambda: ct.grad(lambda x: x)(np.ones(2))),
    "grad of tuple": (TypeError, lambda: ct.grad(lambda x: (x, x))(1.0)),
    "not a function": (TypeError, lambda: ct.grad(3.0)),
    "static list": (TypeError, lambda: ct.jit(lambda x: x, static_argnums=0)({})),
    "setitem": (TypeError, lambda: ct.jit(lambda x: x.__setitem__(0, 1.0))(np.ones(2))),
    "state": (TypeError, lambda: ct.fold(lambda s, x: (s, x), 0.0, np.ones(3))),
    "state type": (TypeError, lambda: ct.fold(lambda s, x: x, np.float32(0), np.ones(3))),
    "state shape": (TypeError, lambda: ct.fold(lambda s, x: cnp.stack([s, x]), 0.0, np.ones(3))),
    "branches": (TypeError, lambda: ct.cond(True, lambda: 1.0, lambda: (1.0, 2.0))),
    "branch types": (TypeError, lambda: ct.cond(True, lambda: np.ones(2), lambda: np.ones(3))),
    "vmap": (TypeError, lambda: ct.vmap(lambda x, y: x)(np.ones(2), np.ones(3))),
    "vjp": (TypeError, lambda: ct.vjp(lambda x: x, np.ones(2))[1]((1.0, 2.0))),
    "jvp shape": (TypeError, lambda: ct.jvp(lambda x: x, (np.ones(2),), (np.ones(3),))),
    "rule": (TypeError, lambda: _bad_rule()(1.0)),
    "np function": (TypeError, lambda: ct.jit(lambda x: np.unique(x))(np.ones(2))),
    "out": (TypeError, lambda: ct.jit(lambda x: np.add(x, x, out=np.ones(2)))(np.ones(2))),
    "in place": (TypeError, lambda: ct.jit(lambda x: np.ones(2).__iadd__(x))(np.ones(2))),
    "negative power": (TypeError, lambda: ct.jit(lambda x: x**-1)(2)),
    "regions": (ValueError, lambda: ct.jit(lambda x: _nested(70, x))(1.0)),
    "recursion": (ValueError, lambda: ct.jit(_endless)(1.0)),
    "random": (ValueError, lambda: ct.jit(lambda x: ct.random.normal(x))(1.0)),
    "text": (ValueError, lambda: ct.loads("def f(x: f64 = x")),
    "text call": (
        ValueError,
        lambda: ct.loads("def f(x: [n]f64, y: [n]f64) = x + y").f(np.ones(2), np.ones(3)),
    ),
    "deep": (ValueError, lambda: _deep()),
    "mask": (IndexError, lambda: ct.jit(lambda x: x[x > 0])(np.ones(2))),
}


def _nested(n: int, x: Any) -> Any:
    return x if n == 0 else ct.build(1, lambda i: _nested(n - 1, x))[0]


def _endless(x: Any) -> Any:
    return ct.grad(_endless)(x)


def _bad_rule() -> Any:
    f = ct.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: g)
    return f


def _deep() -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return ct.jit(lambda x: x)(loop)


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_exception_of_ours(name: str) -> None:
    kind, run = BAD[name]
    with pytest.raises(kind) as caught:
        run()
    assert isinstance(caught.value, ct.CotanError), caught.value
    assert not isinstance(caught.value, ct.errors.InternalError), caught.value
    # And nothing is left behind.
    assert float(ct.grad(lambda x: x * x)(3.0)) == 6.0


def test_arrays_of_numpy_do_not_hold_traced_values() -> None:
    def f(x: Any, one: bool) -> Any:
        a = np.zeros(3)
        if one:
            a[0] = x
        else:
            a[:] = x
        return a

    for x, one in (np.ones(3), False), (1.0, True):
        with pytest.raises(ct.errors.ConcreteValueError) as caught:
            ct.jit(f, static_argnums=1)(x, one)
        assert ".at[index].set" in str(caught.value)


def test_exceptions_of_the_function_come_through() -> None:
    class Mine(Exception):
        pass

    def f(*_: Any) -> Any:
        raise Mine("here")

    for run in (
        lambda: ct.jit(f)(1.0),
        lambda: ct.grad(f)(1.0),
        lambda: ct.fold(f, 0.0, np.ones(2)),
        lambda: ct.build(3, f),
        lambda: ct.cond(True, f, f, 1.0),
        lambda: ct.while_loop(f, f, 1.0),
        lambda: ct.jit(lambda x: ct.grad(lambda x: ct.build(2, f).sum())(x))(1.0),
        lambda: ct.linearize(f, 1.0),
        lambda: ct.switch(0, [f], 1.0),
    ):
        with pytest.raises(Mine, match="here"):
            run()


def test_traced_arrays_do_not_leave_their_function() -> None:
    kept: list[Any] = []
    ct.jit(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(ct.errors.ScopeError):
        kept[0] + 1.0
    with pytest.raises(ct.errors.ScopeError):
        ct.jit(lambda y: y + kept[0])(1.0)
    with pytest.raises(ct.errors.ScopeError):
        ct.jit(lambda x: ct.build(3, lambda i: kept.append(i) or x).sum() + kept[-1])(1.0)
    assert "Array" in repr(kept[0]) and kept[0].shape == ()


def test_tracing_goes_on_after_an_exception_that_is_caught() -> None:
    def f(x: Any) -> Any:
        try:
            x = x + np.ones(7)
        except ValueError:
            x = x * 3.0
        return x.sum()

    assert ct.grad(f)(np.ones(2)).tolist() == [3.0, 3.0]

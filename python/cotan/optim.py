"""Optimisers of structures of parameters, inside traced functions and outside.

>>> import cotan as ct, numpy as np
>>> loss = lambda p, x, y: ((p["a"] * x + p["b"] - y) ** 2).sum()
>>> adam = ct.optim.adam(0.1)
>>> @ct.jit
... def step(p, state, x, y):
...     return adam.step(p, ct.grad(loss)(p, x, y), state)
>>> p = {"a": 0.0, "b": 0.0}
>>> state = adam.init(p)
>>> for _ in range(300):
...     p, state = step(p, state, np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
>>> round(float(p["a"]), 2), round(float(p["b"]), 2)
(2.0, 1.0)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _core, tree
from . import numpy as cnp
from ._control import where
from ._core import tree_flatten
from ._function import anywhere

__all__ = [
    "Minimum",
    "Optimizer",
    "adam",
    "adamw",
    "clip_by_global_norm",
    "cosine_decay",
    "exponential_decay",
    "global_norm",
    "lbfgs",
    "rmsprop",
    "sgd",
    "warmup",
]

Schedule = Callable[[Any], Any]
Rate = float | Schedule


@dataclass(frozen=True)
class Optimizer:
    """A method that takes a step for each gradient.

    ``init(params)`` gives the state before the first step; ``step(params, gradient, state)`` the
    parameters and the state after one.
    """

    init: Callable[[Any], Any]
    step: Callable[[Any, Any, Any], tuple[Any, Any]]


def _rate(rate: Rate, step: Any) -> Any:
    return rate(step) if callable(rate) else rate


def _zeros(params: Any) -> Any:
    return tree.map(cnp.zeros_like, params)


def _optimizer(
    names: tuple[str, ...], rule: Callable[[Any, Any, dict[str, Any]], tuple[Any, dict[str, Any]]]
) -> Optimizer:
    """The method whose state are a number of steps and arrays like the parameters, with a rule for
    each leaf: parameter, gradient and state to a new parameter and state."""

    def init(params: Any) -> Any:
        return {"step": 0, **{name: _zeros(params) for name in names}}

    def staged(params: Any, gradient: Any, state: Any) -> tuple[Any, Any]:
        leaves, shape = tree_flatten(params)
        slopes = tree_flatten(tree.map(lambda _, g: g, params, gradient))[0]
        parts = {name: tree_flatten(state[name])[0] for name in names}
        stepped: list[Any] = []
        changed: dict[str, list[Any]] = {name: [] for name in names}
        for n, (p, g) in enumerate(zip(leaves, slopes, strict=True)):
            own = {name: parts[name][n] for name in names}
            p, own = rule(p, g, {"step": state["step"], **own})
            stepped.append(p)
            for name in names:
                changed[name].append(own[name])
        after = {name: shape.unflatten(values) for name, values in changed.items()}
        return shape.unflatten(stepped), {"step": state["step"] + 1, **after}

    def step(params: Any, gradient: Any, state: Any) -> tuple[Any, Any]:
        return anywhere(staged, params, gradient, state)  # type: ignore[no-any-return]

    return Optimizer(init, step)


def sgd(rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> Optimizer:
    """Steps against the gradient, with momentum if one is given.

    >>> method = sgd(0.1)
    >>> method.step(3.0, 2.0, method.init(3.0))[0]
    array(2.8)
    """

    def rule(p: Any, g: Any, state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if momentum == 0.0:
            return p - _rate(rate, state["step"]) * g, {}
        velocity = momentum * state["velocity"] + g
        direction = g + momentum * velocity if nesterov else velocity
        return p - _rate(rate, state["step"]) * direction, {"velocity": velocity}

    return _optimizer(() if momentum == 0.0 else ("velocity",), rule)


def adamw(
    rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-4
) -> Optimizer:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    >>> method = adamw(0.1)
    >>> p, state = method.step(3.0, 2.0, method.init(3.0))
    >>> round(float(p), 5)
    2.89997
    """

    def rule(p: Any, g: Any, state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        mean = b1 * state["mean"] + (1 - b1) * g
        square = b2 * state["square"] + (1 - b2) * g * g
        t = cnp.asarray(state["step"]) + 1
        low, low_square = 1 - cnp.power(b1, t), 1 - cnp.power(b2, t)
        direction = mean / low / (cnp.sqrt(square / low_square) + eps)
        if weight_decay:
            direction = direction + weight_decay * p
        stepped = p - _rate(rate, state["step"]) * direction
        return _as(stepped, p), {"mean": _as(mean, p), "square": _as(square, p)}

    return _optimizer(("mean", "square"), rule)


def _as(x: Any, like: Any) -> Any:
    """In the element type of a parameter."""
    return _core.asarray(x).cast_to(_core.asarray(like).dtype_name)


def adam(rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Optimizer:
    """Adam (Kingma and Ba, 2015): steps of about the rate in every coordinate.

    >>> method = adam(0.1)
    >>> p, state = method.step(3.0, 2.0, method.init(3.0))
    >>> round(float(p), 4)
    2.9
    """
    return adamw(rate, b1, b2, eps, 0.0)


def rmsprop(rate: Rate, decay: float = 0.9, eps: float = 1e-8) -> Optimizer:
    """Steps divided by a running root of mean squares of the gradient.

    >>> method = rmsprop(0.1)
    >>> p, state = method.step(3.0, 2.0, method.init(3.0))
    >>> round(float(p), 4)
    2.6838
    """

    def rule(p: Any, g: Any, state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        square = decay * state["square"] + (1 - decay) * g * g
        stepped = p - _rate(rate, state["step"]) * g / (cnp.sqrt(square) + eps)
        return _as(stepped, p), {"square": _as(square, p)}

    return _optimizer(("square",), rule)


def exponential_decay(rate: float, factor: float, every: int = 1) -> Schedule:
    """The rate times ``factor`` to the power of ``step / every``.

    >>> float(exponential_decay(1.0, 0.5, every=10)(20))
    0.25
    """
    return lambda step: rate * cnp.power(factor, step / every)


def cosine_decay(rate: float, steps: int, last: float = 0.0) -> Schedule:
    """From the rate to the last one along half a wave.

    >>> float(cosine_decay(0.1, 100)(50))
    0.05
    """

    def at(step: Any) -> Any:
        share = cnp.minimum(step / steps, 1.0)
        return last + (rate - last) * 0.5 * (1.0 + cnp.cos(cnp.pi * share))

    return at


def warmup(schedule: Rate, steps: int) -> Schedule:
    """A schedule that begins with so many steps of linear growth.

    >>> [float(warmup(1.0, 4)(k)) for k in (0, 1, 7)]
    [0.25, 0.5, 1.0]
    """
    return lambda step: cnp.minimum((step + 1) / steps, 1.0) * _rate(schedule, step)


def global_norm(gradient: Any) -> Any:
    """The norm of all elements of a structure.

    >>> global_norm({"a": np.array([3.0]), "b": 4.0})
    array(5.)
    """

    def staged(gradient: Any) -> Any:
        leaves = [_core.asarray(g).reshape(-1) for g in tree.leaves(gradient)]
        return _core.lib.norm(_core.lib.concatenate(leaves, 0), None, False, 2.0)

    return anywhere(staged, gradient)


def clip_by_global_norm(gradient: Any, bound: float) -> Any:
    """A gradient made shorter if its norm is larger than a bound.

    >>> clip_by_global_norm({"w": np.array([3.0, 4.0])}, 1.0)
    {'w': array([0.6, 0.8])}
    """

    def staged(gradient: Any) -> Any:
        norm = global_norm(gradient)
        factor = where(norm > bound, bound / norm, 1.0)
        return tree.map(lambda g: _as(g * factor, g), gradient)

    return anywhere(staged, gradient)


class Minimum(NamedTuple):
    """What a minimisation found."""

    point: Any
    value: float
    gradient: Any
    iterations: int
    evaluations: int
    stop: str
    """Why it ended: ``gradient``, ``value``, ``iterations``, ``line search`` or ``not finite``."""


def lbfgs(
    f: Callable[..., Any],
    start: Any,
    *args: Any,
    memory: int = 10,
    max_iterations: int = 1000,
    gradient_tolerance: float = 1e-8,
    value_tolerance: float = 0.0,
) -> Minimum:
    """Minimises a function to a float scalar by L-BFGS, from a structure of parameters on.

    >>> def rosenbrock(x):
    ...     return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2
    >>> found = lbfgs(rosenbrock, np.array([-1.2, 1.0]))
    >>> found.stop, found.point.round(6)
    ('gradient', array([1., 1.]))
    """
    from ._derivatives import value_and_grad

    both = value_and_grad(f)
    leaves, shape = tree_flatten(start)

    def at(point: list[Any]) -> tuple[float, list[Any]]:
        value, gradient = both(shape.unflatten(point), *args)
        return float(value), tree_flatten(gradient)[0]

    point, value, gradient, iterations, evaluations, stop = _core.lbfgs(
        at, leaves, memory, max_iterations, gradient_tolerance, value_tolerance
    )
    found = shape.unflatten(point), value, shape.unflatten(gradient)
    return Minimum(*found, iterations, evaluations, stop)

"""Functions with derivatives of their own, and checks of derivatives."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from . import _core
from ._core import Array, TreeDef, tree_flatten
from ._errors import make
from ._function import Function
from ._operation import a_kind


class _Rules(threading.local):
    """The functions whose rules are being traced on this thread."""

    def __init__(self) -> None:
        self.running: list[Any] = []


_RULES = _Rules()


class _Custom(Function):
    """A function whose derivative is given by a rule."""

    _kind: str
    _rule: Callable[..., Any] | None
    _nondiff: tuple[int, ...]

    def __new__(cls, f: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> Self:
        def staged(*args: Any, **kwargs: Any) -> Any:
            return made._apply(f, _positional(f, args, kwargs))

        nondiff = tuple(nondiff_argnums)
        made = super().__new__(cls, staged, like=f, static_argnums=nondiff)
        made._rule, made._nondiff = None, nondiff
        return made

    def _ruled(
        self, args: tuple[Any, ...], given: tuple[Any, ...], direction: Any
    ) -> tuple[Any, TreeDef]:
        raise NotImplementedError

    def _apply(self, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self._rule is None:
            name = f"def{self._kind}"
            raise make("ScopeError", self.__name__, "it has no rule", f"give one by `{name}`")
        if self in _RULES.running:
            # A rule may use its own function, which there is what it is made of.
            return f(*args)
        own = [n for n in range(len(args)) if n not in self._nondiff]
        leaves, tree = tree_flatten(tuple(args[n] for n in own))
        found: list[TreeDef] = []

        def whole(arrays: list[Array]) -> list[Any]:
            every = list(args)
            for n, value in zip(own, tree.unflatten(arrays), strict=True):
                every[n] = value
            return every

        def flat(arrays: list[Array]) -> list[Any]:
            results, out = tree_flatten(f(*whole(arrays)))
            found.append(out)
            return results

        def rule(arrays: list[Array], directions: list[Array]) -> list[Any]:
            given = tuple(args[n] for n in self._nondiff)
            values = tuple(whole(arrays))
            wanted = tree if self._kind == "vjp" else found[-1]
            direction = (found[-1] if self._kind == "vjp" else tree).unflatten(directions)
            _RULES.running.append(self)
            try:
                derived, shape = self._ruled(values, given, direction)
            finally:
                _RULES.running.pop()
            if shape != wanted:
                message = f"the rule gives {shape}, not {wanted}"
                raise make("ArrayTypeError", self.__name__, message, None)
            likes = arrays if self._kind == "vjp" else [*map(_core.asarray, flat(arrays))]
            return [_like(x, like) for x, like in zip(derived, likes, strict=True)]

        results = _core.custom(self._kind, leaves, flat, rule)
        return found[-1].unflatten(results)


def _positional(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments of a call in the order of the parameters, as rules take them."""
    if not kwargs:
        return args
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(f, "__name__", "custom")
        raise make("ArrayTypeError", name, str(error), "the rule takes the same arguments") from None
    bound.apply_defaults()
    if bound.kwargs:
        message = f"the argument `{next(iter(bound.kwargs))}` cannot be given by position"
        raise make("ArrayTypeError", getattr(f, "__name__", "custom"), message, "a rule takes it so")
    return bound.args


def _like(x: Any, like: Array) -> Array:
    """A derivative in the element type of what it belongs to."""
    if x is None or not like.dtype_name.startswith("float"):
        return like * 0
    return _core.asarray(x).cast_to(like.dtype_name)


class _Zero:
    """Stands for a cotangent that the rule left out."""


class custom_vjp(_Custom):
    """A function whose reverse derivative is given by a rule.

    As with JAX, ``fwd(*args)`` gives the result and what the rule needs, ``bwd(residuals, cotangent)``
    the cotangents of the arguments, a tuple; None stands for 0. The rule serves forward mode, too.

    >>> import cotan as ct
    >>> @ct.custom_vjp
    ... def f(x):
    ...     return x * x
    >>> f.defvjp(lambda x: (x * x, x), lambda x, g: (10.0 * x * g,))
    >>> ct.grad(f)(3.0)
    array(30.)
    """

    _kind = "vjp"
    _backward: Callable[..., Any]

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Gives the rule."""
        self._rule, self._backward = fwd, bwd

    def _ruled(
        self, args: tuple[Any, ...], given: tuple[Any, ...], direction: Any
    ) -> tuple[Any, TreeDef]:
        assert self._rule is not None
        pair = self._rule(*args)
        if not isinstance(pair, tuple) or len(pair) != 2:
            message = f"the forward rule gives {a_kind(pair)}, not the result and what is kept for later"
            raise make("ArrayTypeError", self.__name__, message, "return y, residuals")
        _, residuals = pair
        cotangents = self._backward(*given, residuals, direction)
        own = [x for n, x in enumerate(args) if n not in self._nondiff]
        if not isinstance(cotangents, tuple) or len(cotangents) != len(own):
            message = f"the rule gives no tuple of {len(own)} cotangents, one for each argument"
            raise make("ArrayTypeError", self.__name__, message, "return (dx,)")
        # What is None is 0 in the structure of its argument.
        filled = tuple(
            tree_flatten(x)[1].unflatten([_Zero] * len(tree_flatten(x)[0])) if d is None else d
            for d, x in zip(cotangents, own, strict=True)
        )
        leaves, tree = tree_flatten(filled)
        return [None if x is _Zero else x for x in leaves], tree


class custom_jvp(_Custom):
    """A function whose forward derivative is given by a rule, which serves reverse mode, too.

    ``rule(primals, tangents)`` gives the result and its tangent.

    >>> import cotan as ct
    >>> @ct.custom_jvp
    ... def f(x):
    ...     return x * x
    >>> @f.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return x * x, 10.0 * x * dx
    >>> ct.grad(f)(3.0), ct.jvp(f, (3.0,), (1.0,))[1]
    (array(30.), array(30.))
    """

    _kind = "jvp"

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Gives the rule; also as a decorator."""
        self._rule = rule
        return rule

    def _ruled(
        self, args: tuple[Any, ...], given: tuple[Any, ...], direction: Any
    ) -> tuple[Any, TreeDef]:
        assert self._rule is not None
        primals = tuple(x for n, x in enumerate(args) if n not in self._nondiff)
        pair = self._rule(*given, primals, direction)
        if not isinstance(pair, tuple) or len(pair) != 2:
            message = "the rule gives no pair of a result and its tangent"
            raise make("ArrayTypeError", self.__name__, message, "return y, dy")
        return tree_flatten(pair[1])


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    atol: float = 1e-6,
    rtol: float = 1e-5,
    eps: float = 1e-6,
) -> None:
    """Compares derivatives with finite differences in random directions, up to an order.

    All arguments are floats (others can be captured). Raises an AssertionError that says where they
    differ.

    >>> import cotan as ct, numpy as np
    >>> ct.check_grads(lambda x: ct.numpy.sin(x) * x, (np.array([0.5, 2.0]),), order=2)
    """
    from ._derivatives import jvp, vjp

    primals = tuple(args)
    leaves, tree = tree_flatten(primals)
    values = [np.asarray(leaf) for leaf in leaves]
    random = np.random.default_rng(17)
    tangents = [random.standard_normal(x.shape).astype(x.dtype) for x in values]
    compiled = Function(f)

    def moved(by: float) -> list[np.ndarray[Any, Any]]:
        at = tree.unflatten([x + by * t for x, t in zip(values, tangents, strict=True)])
        return [np.asarray(y) for y in tree_flatten(compiled(*at))[0]]

    numeric = [(a - b) / (2 * eps) for a, b in zip(moved(eps), moved(-eps), strict=True)]
    direction = tree.unflatten(tangents)
    for mode in modes:
        if mode not in ("fwd", "rev"):
            raise ValueError(f"check_grads: the modes are 'fwd' and 'rev', not {mode!r}")
        if mode == "fwd":
            found, shape = tree_flatten(jvp(f, primals, direction)[1])
            pairs = list(zip(found, numeric, strict=True))
        else:
            value, pullback = vjp(f, *primals)
            outs, shape = tree_flatten(value)
            weights = [
                random.standard_normal(np.shape(y)).astype(np.asarray(y).dtype) for y in outs
            ]
            pulled = tree_flatten(pullback(shape.unflatten(weights)))[0]
            reverse = sum(np.vdot(c, t) for c, t in zip(pulled, tangents, strict=True))
            forward = sum(np.vdot(w, d) for w, d in zip(weights, numeric, strict=True))
            pairs = [(reverse, forward)]
        for a, b in pairs:
            message = f"check_grads: {mode} mode differs from finite differences"
            np.testing.assert_allclose(a, b, atol=atol, rtol=rtol, err_msg=message)
    if order > 1:

        def derivative(*primals: Any) -> Any:
            return jvp(f, primals, direction)[1]

        options = {"atol": atol, "rtol": rtol, "eps": eps}
        check_grads(derivative, primals, order - 1, modes, **options)

"""Functions of the library: part of what is being traced, or else compiled and run at once."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Array
from ._errors import make
from ._function import Function


def operation(*arrays: str) -> Callable[[Callable[..., Any]], Function]:
    """Makes a function of arrays callable everywhere; parameters that are not named are static."""

    def decorate(f: Callable[..., Any]) -> Function:
        names = [name for name in inspect.signature(f).parameters if name not in arrays]
        # Those of several arrays take lists of arrays.
        accepts = "arrays" if "arrays" in arrays else "lists"
        return Function(f, static_argnames=names, cache_size=256, accepts=accepts)

    return decorate


def axes_of(axis: Any) -> list[int] | None:
    """Axes as a list; None for all."""
    if axis is None:
        return None
    return [_axis(k) for k in (axis if isinstance(axis, (tuple, list)) else [axis])]


def _axis(axis: Any) -> int:
    if not hasattr(axis, "__index__"):
        message = f"an axis is an integer, and {axis!r} is {a_kind(axis)}"
        raise make("ArrayTypeError", "axis", message, "axes count from 0, or from -1 at the end")
    return operator.index(axis)


def a_kind(value: Any) -> str:
    """``a float``, ``an Array``."""
    name = type(value).__name__
    return f"{'an' if name[:1] in 'AEIOUaeio' else 'a'} {name}"


def sizes_of(shape: Any) -> list[int]:
    """Integers as a list."""
    single = isinstance(shape, Array) or not hasattr(shape, "__iter__")
    sizes: list[Any] = [shape] if single else list(shape)
    for size in sizes:
        if isinstance(size, Array):
            hint = "take sizes from shapes, or pass them as `static_argnums`"
            message = "a size is not known while tracing"
            raise make("ConcreteValueError", "shape", message, hint)
        if not hasattr(size, "__index__"):
            message = f"a size that is {a_kind(size)}, not an integer"
            hint = "write `n // 2` for `n / 2`" if isinstance(size, float) else "write an integer"
            raise make("ArrayTypeError", "shape", message, hint)
    return [operator.index(size) for size in sizes]


def shape_of(shape: Any) -> list[int]:
    """The sizes of a shape, of which none is negative."""
    sizes = sizes_of(shape)
    if any(size < 0 for size in sizes):
        message = f"a negative size in {tuple(sizes)}"
        raise make("ArrayTypeError", "shape", message, "sizes are 0 at least")
    return sizes


def row(name: str, **args: Any) -> Any:
    """What the function of the library with this name gives: an array, or a tuple of several.
    Arguments are named as in its table; those that are None are not given.
    """
    made = _core.row(name, args)
    return made[0] if len(made) == 1 else tuple(made)

"""Functions of the library: part of what is being traced, or else compiled and run at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ._function import Function


def operation(*arrays: str) -> Callable[[Callable[..., Any]], Function]:
    """Makes a function of arrays callable everywhere; parameters that are not named are static."""

    def decorate(f: Callable[..., Any]) -> Function:
        names = [name for name in inspect.signature(f).parameters if name not in arrays]
        return Function(f, static_argnames=names, cache_size=256)

    return decorate


def axes_of(axis: Any) -> list[int] | None:
    """Axes as a list; None for all."""
    if axis is None:
        return None
    return [axis] if isinstance(axis, int) else [int(k) for k in axis]


def sizes_of(shape: Any) -> list[int]:
    """Sizes as a list."""
    return (
        [int(shape)]
        if isinstance(shape, int) or not hasattr(shape, "__iter__")
        else [int(k) for k in shape]
    )

"""Functions of this package as functions of PyTorch, with gradients.

``wrap(f)`` takes and gives tensors on the host, shares their memory where it can, and is
differentiable by ``backward`` (once: its gradient is not differentiable by PyTorch again).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import tree_flatten
from .._derivatives import vjp
from .._function import jit


def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors, and of structures of these, that runs ``f`` and its gradient here."""
    torch: Any = importlib.import_module("torch")

    compiled = jit(f)

    class Wrapped(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, shape: Any, box: list[Any], *tensors: Any) -> Any:
            ctx.args = shape.unflatten([t.detach().cpu().numpy() for t in tensors])
            leaves, out = tree_flatten(compiled(*ctx.args))
            ctx.out = out
            box.append(out)
            made = tuple(torch.from_numpy(np.asarray(leaf)) for leaf in leaves)
            floats = [t.dtype in (torch.float32, torch.float64) for t in made]
            ctx.mark_non_differentiable(
                *(t for t, is_float in zip(made, floats, strict=True) if not is_float)
            )
            return made

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            arrays = [c.detach().cpu().numpy() for c in cotangents]
            _, pullback = vjp(f, *ctx.args)
            pulled = tree_flatten(pullback(ctx.out.unflatten(arrays)))[0]
            return (None, None, *(torch.from_numpy(np.asarray(g)) for g in pulled))

    def wrapped(*args: Any) -> Any:
        tensors, shape = tree_flatten(args)
        tensors = [torch.as_tensor(t) for t in tensors]
        box: list[Any] = []
        results = Wrapped.apply(shape, box, *tensors)
        return box[0].unflatten(list(results))

    return wrapped

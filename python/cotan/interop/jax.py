"""Functions of this package as functions of JAX, with gradients.

``wrap(f)`` runs ``f`` by a callback to the host, so it works under ``jax.jit``, ``jax.grad`` (once)
and, one element after the other, under ``jax.vmap``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import tree_flatten
from .._derivatives import vjp
from .._function import Function, jit


def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays of JAX, and of structures of these, that runs ``f`` and its gradient here."""
    import jax

    compiled = jit(f)

    def backward(args: Any, cotangent: Any) -> Any:
        return vjp(f, *args)[1](cotangent)

    pulled = Function(backward)

    def on_host(args: Any) -> Any:
        return jax.tree.map(np.asarray, args)

    def like(args: Any) -> Any:
        """The shapes and element types of the results, found by tracing."""
        zeros = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), args)
        leaves, shape = tree_flatten(compiled(*zeros))
        specs = [jax.ShapeDtypeStruct(np.shape(y), np.asarray(y).dtype) for y in leaves]
        return shape.unflatten(specs)

    def run(args: Any) -> Any:
        return jax.pure_callback(
            lambda args: compiled(*on_host(args)), like(args), args, vmap_method="sequential"
        )

    def forward(*args: Any) -> Any:
        return run(args), args

    def pull(args: Any, cotangent: Any) -> Any:
        specs = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), args)
        return jax.pure_callback(
            lambda args, c: pulled(on_host(args), on_host(c)),
            specs,
            args,
            cotangent,
            vmap_method="sequential",
        )

    wrapped: Any = jax.custom_vjp(lambda *args: run(args))
    wrapped.defvjp(forward, pull)
    made: Callable[..., Any] = wrapped
    return made

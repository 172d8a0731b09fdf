"""Programs as StableHLO, the language that XLA and other compilers for accelerators read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._core import program_stablehlo
from ._errors import make
from ._function import Function

# Of each axis of an array the axis of the mesh that it is cut along, or several, or None.
Cuts = Sequence[str | Sequence[str] | None]


def stablehlo(
    f: Callable[..., Any],
    *args: Any,
    mesh: Mapping[str, int] | None = None,
    shard: Mapping[str, Cuts] | None = None,
    assume_finite: bool = False,
    **kwargs: Any,
) -> str:
    """The program of a function for arguments like these, as the text of a StableHLO module.

    >>> import cotan as ct, numpy as np
    >>> text = ct.stablehlo(ct.value_and_grad(lambda x: (x * x).sum()), np.ones(8))
    >>> "stablehlo.multiply %arg0, %arg0 : tensor<8xf64>" in text
    True

    ``mesh`` names the axes of many devices with their sizes, and ``shard`` says along which of them
    the axes of arguments and results are cut, by the names that the comments of the module have:

    >>> def loss(w, x):
    ...     return (x @ w).sum()
    >>> text = ct.stablehlo(loss, np.ones(3), np.ones((8, 3)), mesh={"batch": 4}, shard={"x": ("batch", None)})
    >>> '%arg1: tensor<8x3xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"batch"}, {}]>}' in text
    True

    What is not named is left to the partitioner. ``assume_finite`` takes for granted that what
    derivatives multiply with zeros is finite, which saves a look through every matrix product.
    """
    function = f if isinstance(f, Function) else Function(f)
    program = function.program(*args, **kwargs)
    if shard and not mesh:
        raise make("DataError", "stablehlo", "`shard` without a mesh", 'say mesh={"batch": 8}')
    cuts = [(name, _cuts(name, axes)) for name, axes in (shard or {}).items()]
    return program_stablehlo(
        program, function.__name__, assume_finite, list((mesh or {}).items()), cuts
    )


def _cuts(name: str, axes: Cuts) -> list[tuple[str, int]]:
    if isinstance(axes, str):
        message = f"the cuts of `{name}` are a text, not one for each axis"
        raise make("DataError", "stablehlo", message, f'say shard={{"{name}": ("{axes}",)}}')
    found: list[tuple[str, int]] = []
    for number, along in enumerate(axes):
        names = [along] if isinstance(along, str) else list(along or ())
        found.extend((axis, number) for axis in names)
    return found

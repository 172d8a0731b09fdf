"""Functions of arrays that are known, most because shapes of their results depend on values. And what to write
in the place of functions of numpy that are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import Array
from .._data import to_numpy
from .._errors import make
from .._examples import with_example

__all__ = [
    "argwhere",
    "nextafter",
    "nonzero",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_TYPES = "element types are float32, float64, int64 and bool; other integers become int64"
_COMPLEX = "complex numbers are pairs of reals, `ct.Complex`"

_FOURIER = "Fourier transforms are in `cotan.numpy.fft`"
_DECOMPOSED = "it needs complex numbers; `eigh` is for symmetric matrices"

REPLACED = {
    "apply_along_axis": "write `ct.vmap(f)`",
    "argwhere": "shapes do not depend on values: mask by `ct.where`, or count",
    "complex128": _COMPLEX,
    "complex64": _COMPLEX,
    "copyto": "arrays do not change: give the new one a name",
    "eig": _DECOMPOSED,
    "eigvals": _DECOMPOSED,
    "float16": _TYPES,
    "fromfunction": "write `ct.build(shape, f)`",
    "ifft": _FOURIER,
    "int16": _TYPES,
    "int32": _TYPES,
    "int8": _TYPES,
    "ndarray": "arrays are numpy's: `numpy.ndarray`; traced ones are `ct.Array`",
    "nonzero": "shapes do not depend on values: mask by `ct.where`, or count",
    "piecewise": "nest `ct.where`",
    "put": "write `x = x.at[index].set(values)`",
    "rfft": _FOURIER,
    "uint16": _TYPES,
    "uint32": _TYPES,
    "uint64": _TYPES,
    "uint8": _TYPES,
    "unique": "shapes do not depend on values: sort, and compare neighbours",
    "vectorize": "write `ct.vmap(f)`",
}


def _known(name: str, doc: str) -> Callable[..., Any]:
    apply = getattr(np, name)

    def f(x: Any, /, **kwargs: Any) -> Any:
        if isinstance(x, Array):
            message = f"numpy's `{name}` on a traced array"
            raise make("ArrayTypeError", name, message, REPLACED.get(name, REPLACED["unique"]))
        return apply(to_numpy(x), **kwargs)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return f


nonzero = _known("nonzero", "The positions of elements that are not 0, an array for each axis.")
argwhere = _known("argwhere", "The positions of elements that are not 0, a row for each.")
unique = _known("unique", "The elements without repetition, in order; as numpy has it.")
unique_all = _known(
    "unique_all", "The elements without repetition, where they are, of which each is, how often."
)
unique_counts = _known(
    "unique_counts", "The elements without repetition, and how often they occur."
)
unique_inverse = _known("unique_inverse", "The elements without repetition, and which each one is.")
unique_values = _known("unique_values", "The elements without repetition, in order.")


def nextafter(x: Any, y: Any, /) -> Any:
    """The next number that a float can be, from ``x`` towards ``y``; both are known.

    >>> float(nextafter(1.0, 2.0) - 1.0)
    2.220446049250313e-16
    """
    if isinstance(x, Array) or isinstance(y, Array):
        hint = "it has no derivative: pass it as an argument"
        raise make("ArrayTypeError", "nextafter", "numpy's `nextafter` on a traced array", hint)
    # Numbers of Python take the element type of what they meet.
    own = (value if isinstance(value, (int, float)) else to_numpy(value) for value in (x, y))
    start, end = own
    return np.nextafter(start, end)

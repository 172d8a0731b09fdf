"""Element types, and what the array API standard asks a namespace to say about itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core import Array
from .._data import to_numpy

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "bool",
    "bool_",
    "broadcast_shapes",
    "can_cast",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int64",
    "isdtype",
    "ndim",
    "result_type",
    "shape",
    "size",
]

__array_api_version__ = "2024.12"

# Before the name of an element type hides it.
_Truth = bool

float32, float64, int64, bool_ = np.float32, np.float64, np.int64, np.bool_
bool = bool_

_KINDS: dict[str, list[type[np.generic]]] = {
    "bool": [bool_],
    "signed integer": [int64],
    "unsigned integer": [],
    "integral": [int64],
    "real floating": [float32, float64],
    "complex floating": [],
    "numeric": [int64, float32, float64],
}


def own_dtype(dtype: Any) -> np.dtype[Any]:
    """The element type of ours for one of numpy's; float64 by default."""
    return np.dtype(np.float64) if dtype is None else to_numpy(np.empty(0, dtype)).dtype


def _dtype_of(value: Any) -> Any:
    """The element type of an array, or the type itself."""
    return value.dtype if isinstance(value, (Array, np.ndarray)) else value


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The element type that arrays and element types have in common.

    >>> result_type(np.float32, np.int64)
    dtype('float64')
    """
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def can_cast(from_: Any, to: Any) -> _Truth:
    """Whether elements of one type, or of an array, can be converted to another without loss.

    >>> can_cast(np.int64, np.float64)
    True
    """
    return np.can_cast(np.dtype(_dtype_of(from_)), to)


def isdtype(dtype: Any, kind: Any) -> _Truth:
    """Whether an element type is of a kind: ``"bool"``, ``"integral"``, ``"real floating"``,
    ``"numeric"``, another type, or a tuple of these.

    >>> isdtype(np.float32, ("integral", "real floating"))
    True
    """
    return np.isdtype(np.dtype(dtype), kind)


class FloatInfo(NamedTuple):
    """The limits of a float type, as numbers of Python."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    tiny: float
    resolution: float
    dtype: np.dtype[Any]


def finfo(type: Any) -> FloatInfo:
    """The limits of a float type.

    >>> finfo(float).eps
    2.220446049250313e-16
    """
    known: Any = np.finfo(_dtype_of(type))
    names = ("eps", "max", "min", "smallest_normal", "tiny", "resolution")
    numbers = {name: float(getattr(known, name)) for name in names}
    return FloatInfo(bits=known.bits, dtype=known.dtype, **numbers)


def iinfo(type: Any) -> Any:
    """What numpy says of an integer type.

    >>> int(iinfo(int).max)
    9223372036854775807
    """
    return np.iinfo(_dtype_of(type))


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes.

    >>> shape(np.zeros((2, 3)))
    (2, 3)
    """
    return tuple(a.shape) if isinstance(a, Array) else np.shape(a)


def ndim(a: Any) -> int:
    """The number of axes.

    >>> ndim(np.zeros((2, 3)))
    2
    """
    return len(shape(a))


def size(a: Any) -> int:
    """The number of elements.

    >>> size(np.zeros((2, 3)))
    6
    """
    return int(np.prod(shape(a), dtype=np.int64))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that shapes have in common.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*map(tuple, shapes))


class _Info:
    """What the standard asks of a namespace: one device, and four element types."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        names = {"real floating": float64, "integral": int64, "indexing": int64}
        return {name: np.dtype(dtype) for name, dtype in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        kinds = [kind] if isinstance(kind, str) else list(kind or ("bool", "numeric"))
        found = [np.dtype(dtype) for name in kinds for dtype in _KINDS[name]]
        return {dtype.name: dtype for dtype in found}


def __array_namespace_info__() -> _Info:
    """The element types and the device of this namespace."""
    return _Info()

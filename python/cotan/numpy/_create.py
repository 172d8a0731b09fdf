"""Making arrays. What does not depend on traced arrays is made by numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Array, lib
from .._data import to_numpy
from .._operation import operation, sizes_of

pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None
euler_gamma = np.euler_gamma
float32, float64, int64, bool_ = np.float32, np.float64, np.int64, np.bool_


def _has_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_traced(part) for part in value)
    return isinstance(value, Array)


def asarray(a: Any, dtype: Any = None) -> Any:
    """The array of a value: of numbers, of nested lists, also of traced ones.

    >>> asarray([1, 2]).dtype
    dtype('int64')
    >>> ct.grad(lambda x: asarray([x, 2 * x, 3.0]).sum())(1.0)
    array(3.)
    """
    if _has_traced(a):
        made = lib.stack([asarray(part) for part in a], 0) if isinstance(a, (list, tuple)) else a
        return made if dtype is None else made.astype(dtype)
    array = to_numpy(a)
    return array if dtype is None else array.astype(_dtype(dtype))


def array(a: Any, dtype: Any = None, *, copy: bool = True) -> Any:
    """The array of a value, a new one."""
    made = asarray(a, dtype)
    return made.copy() if copy and isinstance(made, np.ndarray) else made


def _dtype(dtype: Any) -> np.dtype[Any]:
    """The element type of ours for one of numpy's."""
    return np.dtype(np.float64) if dtype is None else to_numpy(np.empty(0, dtype)).dtype


def _filled(shape: Any, value: Any, dtype: Any) -> Any:
    if _has_traced(value):
        made = lib.broadcast_to(value, sizes_of(shape))
        return made if dtype is None else made.astype(dtype)
    return np.full(sizes_of(shape), value, _dtype(dtype))


def zeros(shape: Any, dtype: Any = None) -> Any:
    """Zeros of a shape."""
    return _filled(shape, 0, dtype)


def ones(shape: Any, dtype: Any = None) -> Any:
    """Ones of a shape."""
    return _filled(shape, 1, dtype)


def empty(shape: Any, dtype: Any = None) -> Any:
    """Zeros of a shape."""
    return _filled(shape, 0, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """One value at every position of a shape; it may be traced."""
    if dtype is None and not _has_traced(fill_value):
        dtype = to_numpy(fill_value).dtype
    return _filled(shape, fill_value, dtype)


def _like(a: Any, shape: Any, dtype: Any) -> tuple[Any, Any]:
    own = a if isinstance(a, Array) else to_numpy(a)
    return own.shape if shape is None else shape, own.dtype if dtype is None else dtype


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros in the shape and element type of an array."""
    return zeros(*_like(a, shape, dtype))


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Ones in the shape and element type of an array."""
    return ones(*_like(a, shape, dtype))


def empty_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros in the shape and element type of an array."""
    return zeros(*_like(a, shape, dtype))


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """One value in the shape and element type of an array."""
    sizes, wanted = _like(a, shape, dtype)
    return _filled(sizes, fill_value, wanted)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """The numbers from ``start`` to before ``stop``."""
    made = np.arange(0, start, step) if stop is None else np.arange(start, stop, step)
    return made.astype(_dtype(made.dtype if dtype is None else dtype))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    """``num`` numbers from ``start`` to ``stop``, which may be traced.

    >>> linspace(0.0, 1.0, 3)
    array([0. , 0.5, 1. ])
    """
    steps = np.linspace(0.0, 1.0, num, endpoint=endpoint)
    if not (_has_traced(start) or _has_traced(stop)):
        return np.linspace(start, stop, num, endpoint=endpoint)
    return start + (stop - start) * steps


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on a diagonal."""
    return np.eye(n, m, k, _dtype(dtype))


def identity(n: int, dtype: Any = None) -> Any:
    """The unit matrix."""
    return np.eye(n, dtype=_dtype(dtype))


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on and below a diagonal."""
    return np.tri(n, m, k, _dtype(dtype))


@operation("arrays")
def meshgrid(*arrays: Any, indexing: str = "xy") -> Any:
    """The coordinates of a grid, one array for each vector.

    >>> [g.tolist() for g in meshgrid(np.array([1.0, 2.0]), np.array([3.0]), indexing="ij")]
    [[[1.0], [2.0]], [[3.0], [3.0]]]
    """
    xs = [_core.asarray(x) for x in arrays]
    order = [1, 0, *range(2, len(xs))] if indexing == "xy" and len(xs) > 1 else list(range(len(xs)))
    sizes = [xs[k].size for k in order]
    made = []
    for n, x in enumerate(xs):
        own = [1] * len(xs)
        own[order.index(n)] = x.size
        made.append(lib.broadcast_to(lib.reshape(x, own), sizes))
    return made


@operation("indices")
def one_hot(indices: Any, num_classes: int, dtype: Any = None) -> Any:
    """For each integer the vector that is 1 there and 0 elsewhere.

    >>> one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return lib.one_hot(indices, num_classes, np.dtype(dtype or np.float64) == np.float32)


def astype(x: Any, dtype: Any) -> Any:
    """With elements of another type."""
    if isinstance(x, Array):
        return x.astype(dtype)
    return to_numpy(x).astype(_dtype(dtype))


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes."""
    return tuple(a.shape) if isinstance(a, Array) else np.shape(a)


def ndim(a: Any) -> int:
    """The number of axes."""
    return len(shape(a))


def size(a: Any) -> int:
    """The number of elements."""
    return int(np.prod(shape(a), dtype=np.int64))


def result_type(*arrays: Any) -> Any:
    """The element type that arrays have in common."""
    known = [a.dtype if isinstance(a, Array) else a for a in arrays]
    return np.result_type(*known)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that shapes have in common."""
    return np.broadcast_shapes(*map(tuple, shapes))


def from_dlpack(x: Any) -> Any:
    """The array of another library, without a copy where its memory can be shared."""
    return np.from_dlpack(x)


__all__ = [
    "arange",
    "array",
    "asarray",
    "astype",
    "bool_",
    "broadcast_shapes",
    "e",
    "empty",
    "empty_like",
    "euler_gamma",
    "eye",
    "float32",
    "float64",
    "from_dlpack",
    "full",
    "full_like",
    "identity",
    "inf",
    "int64",
    "linspace",
    "meshgrid",
    "nan",
    "ndim",
    "newaxis",
    "one_hot",
    "ones",
    "ones_like",
    "pi",
    "result_type",
    "shape",
    "size",
    "tri",
    "zeros",
    "zeros_like",
]

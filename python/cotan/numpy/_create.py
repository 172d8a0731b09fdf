"""Making arrays. What does not depend on traced arrays is made by numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .._core import Array, is_tracing, lib
from .._data import to_numpy
from .._errors import make
from .._examples import with_example
from .._operation import operation, shape_of
from ._inspect import own_dtype

pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None
euler_gamma = np.euler_gamma


class KnownArray(np.ndarray[Any, Any]):
    """An array made inside a traced function whose elements are known: one of numpy, with ``at`` and
    with traced indices.
    """

    def __getitem__(self, index: Any) -> Any:
        if _has_traced(index):
            return _core.asarray(self)[index]
        return super().__getitem__(index)

    @property
    def at(self) -> Any:
        """The array with other elements at an index, which is traced: see ``Array.at``."""
        from .._array import At

        return At(_core.asarray(self))


def _made(array: np.ndarray[Any, Any]) -> Any:
    return array.view(KnownArray) if is_tracing() else array


def known_by_numpy(name: str, doc: str) -> Callable[..., Any]:
    """A function of known values that numpy has."""
    apply = getattr(np, name)

    def f(*args: Any, **kwargs: Any) -> Any:
        if _has_traced([*args, *kwargs.values()]):
            hint = "take sizes from shapes, or pass them as `static_argnums`"
            raise make("ConcreteValueError", name, "a value that is not known while tracing", hint)
        found = apply(*args, **kwargs)
        return tuple(map(_made, found)) if isinstance(found, tuple) else _made(found)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return f


def _expect_host(device: Any) -> None:
    """There is one device."""
    if device not in (None, "cpu"):
        raise make(
            "DataError", "device", f"there is no device {device!r}", "arrays are on the host"
        )


def _has_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_traced(part) for part in value)
    return isinstance(value, Array)


def asarray(a: Any, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array of a value: of numbers, of nested lists, also of traced ones.

    >>> asarray([1, 2]).dtype
    dtype('int64')
    >>> ct.grad(lambda x: asarray([x, 2 * x, 3.0]).sum())(1.0)
    array(3.)
    """
    _expect_host(device)
    if _has_traced(a):
        made = lib.stack([asarray(part) for part in a], 0) if isinstance(a, (list, tuple)) else a
        return made if dtype is None else made.astype(dtype)
    array = to_numpy(a)
    if dtype is not None:
        array = array.astype(own_dtype(dtype), copy=False)
    # Of an array without axes numpy makes another view.
    shared = isinstance(a, np.ndarray) and array.ctypes.data == a.ctypes.data
    if copy is False and not shared:
        raise make("DataError", "asarray", "it cannot be made without a copy", "leave out `copy`")
    return _made(array.copy() if copy and shared else array)


def array(a: Any, dtype: Any = None, *, copy: bool = True) -> Any:
    """The array of a value, a new one.

    >>> array([1.0, 2.0])
    array([1., 2.])
    """
    return asarray(a, dtype, copy=True if copy else None)


def _filled(shape: Any, value: Any, dtype: Any, device: Any) -> Any:
    _expect_host(device)
    if _has_traced(value):
        made = lib.broadcast_to(value, shape_of(shape))
        return made if dtype is None else made.astype(dtype)
    return _made(np.full(shape_of(shape), value, own_dtype(dtype)))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Zeros of a shape.

    >>> zeros((2, 2))
    array([[0., 0.],
           [0., 0.]])
    """
    return _filled(shape, 0, dtype, device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones of a shape.

    >>> ones(3)
    array([1., 1., 1.])
    """
    return _filled(shape, 1, dtype, device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """Zeros of a shape.

    >>> empty((2, 3)).shape
    (2, 3)
    """
    return _filled(shape, 0, dtype, device)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """One value at every position of a shape; it may be traced.

    >>> full(2, 7.0)
    array([7., 7.])
    """
    if dtype is None and not _has_traced(fill_value):
        dtype = to_numpy(fill_value).dtype
    return _filled(shape, fill_value, dtype, device)


def _like(a: Any, shape: Any, dtype: Any) -> tuple[Any, Any]:
    own = a if isinstance(a, Array) else to_numpy(a)
    return own.shape if shape is None else shape, own.dtype if dtype is None else dtype


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros in the shape and element type of an array.

    >>> zeros_like(np.array([1, 2]))
    array([0, 0])
    """
    return zeros(*_like(a, shape, dtype), device=device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Ones in the shape and element type of an array.

    >>> ones_like(np.array([1, 2]))
    array([1, 1])
    """
    return ones(*_like(a, shape, dtype), device=device)


def empty_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros in the shape and element type of an array.

    >>> empty_like(np.array([1, 2])).shape
    (2,)
    """
    return zeros(*_like(a, shape, dtype), device=device)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Any:
    """One value in the shape and element type of an array.

    >>> full_like(np.array([1, 2]), 7)
    array([7, 7])
    """
    sizes, wanted = _like(a, shape, dtype)
    return _filled(sizes, fill_value, wanted, device)


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> Any:
    """The numbers from ``start`` to before ``stop``, which are known.

    >>> arange(1.0, 2.0, 0.25)
    array([1.  , 1.25, 1.5 , 1.75])
    """
    _expect_host(device)
    if _has_traced([start, stop, step]):
        hint = "sizes are known: take them from shapes, or pass them as `static_argnums`"
        raise make("ConcreteValueError", "arange", "the value is not known while tracing", hint)
    made = np.arange(0, start, step) if stop is None else np.arange(start, stop, step)
    return _made(made.astype(own_dtype(made.dtype if dtype is None else dtype)))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """``num`` numbers from ``start`` to ``stop``, which may be traced.

    >>> linspace(0.0, 1.0, 3)
    array([0. , 0.5, 1. ])
    """
    _expect_host(device)
    if not (_has_traced(start) or _has_traced(stop)):
        return _made(np.linspace(start, stop, num, endpoint=endpoint, dtype=own_dtype(dtype)))
    made = start + (stop - start) * np.linspace(0.0, 1.0, num, endpoint=endpoint)
    return made if dtype is None else made.astype(dtype)


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones on a diagonal.

    >>> eye(2)
    array([[1., 0.],
           [0., 1.]])
    """
    _expect_host(device)
    return _made(np.eye(n, m, k, own_dtype(dtype)))


def identity(n: int, dtype: Any = None) -> Any:
    """The unit matrix.

    >>> identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """Ones on and below a diagonal.

    >>> tri(2, 3)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return _made(np.tri(n, m, k, own_dtype(dtype)))


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


def astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    """With elements of another type.

    >>> astype(np.array([1.5, -1.5]), int)
    array([ 1, -1])
    """
    _expect_host(device)
    if isinstance(x, Array):
        return x.astype(dtype)
    return to_numpy(x).astype(own_dtype(dtype), copy=copy)


def from_dlpack(x: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """The array of another library, without a copy where its memory can be shared.

    >>> from_dlpack(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    _expect_host(device)
    array = np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy)
    return _made(array)


__all__ = [
    "KnownArray",
    "arange",
    "array",
    "asarray",
    "astype",
    "e",
    "empty",
    "empty_like",
    "euler_gamma",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "identity",
    "inf",
    "linspace",
    "meshgrid",
    "nan",
    "newaxis",
    "one_hot",
    "ones",
    "ones_like",
    "pi",
    "tri",
    "zeros",
    "zeros_like",
]

"""The methods of traced arrays, and what numpy does with them; the operators are in Rust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _core, linalg
from . import numpy as cnp
from ._core import Array
from ._data import to_numpy
from ._errors import make


class At:
    """``x.at``: says where, by an index."""

    __slots__ = ("_x",)

    def __init__(self, x: Array) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Update:
        return Update(self._x, index)


class Update:
    """``x.at[index]``: the array with other elements there."""

    __slots__ = ("_index", "_x")

    def __init__(self, x: Array, index: Any) -> None:
        self._x, self._index = x, index

    def get(self) -> Array:
        """``x[index]``."""
        return self._x[self._index]

    def set(self, values: Any) -> Array:
        """With these values; of several to one place the last counts."""
        return _core.at_set(self._x, self._index, values)

    def add(self, values: Any) -> Array:
        """With these values added; of several to one place, all."""
        return _core.at_add(self._x, self._index, values)

    def subtract(self, values: Any) -> Array:
        """With these values subtracted; of several to one place, all."""
        return _core.at_add(self._x, self._index, -_core.asarray(values))

    def apply(self, f: Callable[[Any], Any]) -> Array:
        """With a function of what is there. The index has no arrays."""
        if _core.has_arrays(self._x, self._index):
            message = "an index with arrays, which may name a place several times"
            hint = "`add` and `set` take such indices; for products and extremes of many values \
`cotan.numpy.segment_max` and `segment_min`"
            raise make("IndexTypeError", "at", message, hint)
        return self.set(f(self.get()))

    def multiply(self, values: Any) -> Array:
        """With these factors. The index has no arrays."""
        return self.apply(lambda x: x * values)

    def divide(self, values: Any) -> Array:
        """Divided by these values. The index has no arrays."""
        return self.apply(lambda x: x / values)

    def power(self, values: Any) -> Array:
        """To these powers. The index has no arrays."""
        return self.apply(lambda x: x**values)

    def min(self, values: Any) -> Array:
        """The smaller of what is there and these. The index has no arrays."""
        return self.apply(lambda x: cnp.minimum(x, values))

    def max(self, values: Any) -> Array:
        """The larger of what is there and these. The index has no arrays."""
        return self.apply(lambda x: cnp.maximum(x, values))


def _iterated(self: Array) -> Iterator[Array]:
    return (self[k] for k in range(len(self)))


def _not_set(self: Array, index: Any, value: Any) -> None:
    hint = "write x = x.at[index].set(value), or `.add(value)`"
    raise make("ArrayTypeError", "setitem", "traced arrays do not change", hint)


def _no_ndarray(self: Array, dtype: Any = None, copy: Any = None) -> Any:
    hint = (
        "a function of numpy or another library needs the elements: use that of `cotan.numpy`, or "
        "call it outside of the traced function"
    )
    raise make("ConcreteValueError", "array", "the elements are not known while tracing", hint)


def _no_value(self: Array) -> Any:
    hint = "return the array from the function; outside it has values"
    raise make("ConcreteValueError", "item", "the value is not known while tracing", hint)


def _found(name: str, module: str) -> Callable[..., Any]:
    place: Any = linalg if module.endswith("linalg") else cnp
    made: Callable[..., Any] | None = getattr(place, name, None)
    if made is None or name.startswith("_"):
        message = f"numpy's `{name}` on a traced array"
        hint = _REPLACED.get(name, "`cotan.numpy` has no such function: write it by others")
        raise make("ArrayTypeError", name, message, hint)
    return made


_REPLACED = {
    "nonzero": "shapes do not depend on values: mask by `ct.where`, or count",
    "unique": "shapes do not depend on values: sort, and compare neighbours",
    "vectorize": "write `ct.vmap(f)`",
    "apply_along_axis": "write `ct.vmap(f)`",
    "fromfunction": "write `ct.build(shape, f)`",
    "put": "write `x = x.at[index].set(values)`",
    "copyto": "arrays do not change: give the new one a name",
    "convolve": "write `cotan.nn.conv`",
    "select": "nest `ct.where`",
    "piecewise": "nest `ct.where`",
}


def _ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if kwargs.pop("out", None) is not None or kwargs.pop("where", True) is not True:
        message = f"numpy's `{ufunc.__name__}` with `out` or `where`"
        hint = "arrays do not change: write a = a + x for a += x, and `ct.where` for `where`"
        raise make("ArrayTypeError", ufunc.__name__, message, hint)
    if method == "reduce" and ufunc.__name__ in _REDUCED:
        return _found(_REDUCED[ufunc.__name__], "numpy")(*inputs, **{"axis": 0, **kwargs})
    if method != "__call__":
        message = f"numpy's `{ufunc.__name__}.{method}` on a traced array"
        raise make("ArrayTypeError", ufunc.__name__, message, None)
    return _found(ufunc.__name__, "numpy")(*inputs, **kwargs)


_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


def _function(self: Array, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return _found(func.__name__, getattr(func, "__module__", None) or "numpy")(*args, **kwargs)


def _namespace(self: Array, api_version: Any = None) -> Any:
    return cnp


def _astype(self: Array, dtype: Any, copy: bool = True) -> Array:
    return self.cast_to(to_numpy(np.empty(0, dtype)).dtype.name)


def _reshape(self: Array, *shape: Any) -> Array:
    made: Array = cnp.reshape(self, shape[0] if len(shape) == 1 else shape)
    return made


def _transposed(self: Array, *axes: Any) -> Array:
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    made: Array = cnp.transpose(self, given or None)
    return made


def _rounded(self: Array, decimals: int = 0) -> Array:
    if decimals:
        raise make("ArrayTypeError", "round", "rounding to decimals", "scale, round, scale back")
    made: Array = cnp.round(self)
    return made


def _matmul(self: Array, other: Any) -> Any:
    return _core.lib.matmul(self, other)


def _rmatmul(self: Array, other: Any) -> Any:
    return _core.lib.matmul(other, self)


def _divmod(self: Array, other: Any) -> Any:
    return self // other, self % other


def _same(self: Array, *args: Any) -> Array:
    return self


_METHODS: dict[str, Any] = {
    "__array__": _no_ndarray,
    "__array_function__": _function,
    "__array_namespace__": _namespace,
    "__array_ufunc__": _ufunc,
    "__copy__": _same,
    "__deepcopy__": _same,
    "__divmod__": _divmod,
    "__iter__": _iterated,
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__round__": _rounded,
    "__setitem__": _not_set,
    "at": property(At),
    "astype": _astype,
    "copy": _same,
    "dtype": property(lambda self: np.dtype(self.dtype_name)),
    "item": _no_value,
    "reshape": _reshape,
    "round": _rounded,
    "tolist": _no_value,
    "transpose": _transposed,
}
_SAME_NAMES = (
    "all any argmax argmin argsort clip cumprod cumsum diagonal dot max mean min prod ptp ravel "
    "repeat sort squeeze std sum swapaxes take trace var"
).split()


def _method(f: Any) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return f(self, *args, **kwargs)

    method.__doc__, method.__name__ = f.__doc__, f.__name__
    return method


for _name in _SAME_NAMES:
    _METHODS[_name] = _method(getattr(cnp, _name))
_METHODS["flatten"] = _METHODS["ravel"]
_METHODS["T"] = property(_method(getattr(cnp, "transpose")))
_METHODS["mT"] = property(_method(getattr(cnp, "matrix_transpose")))
_METHODS["__getitem__"] = _method(_core.getitem)
for _name, _value in _METHODS.items():
    setattr(Array, _name, _value)

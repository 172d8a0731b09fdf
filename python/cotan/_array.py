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
from ._parallel import associative_scan
from .numpy._known import REPLACED


class At:
    """``x.at``: says where, by an index."""

    __slots__ = ("_x",)

    def __init__(self, x: Array) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Update:
        return Update(self._x, index)

    def __call__(self, *index: Any) -> Any:
        hint = "write x.at[index].set(values), with brackets"
        raise make("ArrayTypeError", "at", "`x.at` was called", hint)


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
        if self._is_mask():
            return self._where(lambda x: _core.asarray(values).cast_to(x.dtype_name))
        return _core.at_set(self._x, self._index, values)

    def add(self, values: Any) -> Array:
        """With these values added; of several to one place, all."""
        if self._is_mask():
            return self._where(lambda x: x + values)
        return _core.at_add(self._x, self._index, values)

    def subtract(self, values: Any) -> Array:
        """With these values subtracted; of several to one place, all."""
        if self._is_mask():
            return self._where(lambda x: x - values)
        return _core.at_add(self._x, self._index, -_core.asarray(values))

    def apply(self, f: Callable[[Any], Any]) -> Array:
        """With a function of what is there. The index has no arrays."""
        if self._is_mask():
            return self._where(f)
        if self._has_arrays():
            message = "an index with arrays, which may name a place several times"
            hint = "`set`, `add`, `multiply`, `min`, `max` and their relatives take such indices"
            raise make("IndexTypeError", "at", message, hint)
        return self.set(f(self.get()))

    def multiply(self, values: Any) -> Array:
        """With these factors; of several to one place, all."""
        if self._has_arrays():
            return self._x * self._factors(values)
        return self.apply(lambda x: x * values)

    def divide(self, values: Any) -> Array:
        """Divided by these values; of several to one place, by all."""
        if self._has_arrays():
            return self._x / self._factors(values)
        return self.apply(lambda x: x / values)

    def power(self, values: Any) -> Array:
        """To these powers; of several to one place, to all."""
        if self._has_arrays():
            return self._x ** self._factors(values)
        return self.apply(lambda x: x**values)

    def min(self, values: Any) -> Array:
        """The smaller of what is there and these; of several to one place, the smallest."""
        if self._has_arrays():
            return self._extreme(cnp.minimum, _core.lib.segment_min, values)
        return self.apply(lambda x: cnp.minimum(x, values))

    def max(self, values: Any) -> Array:
        """The larger of what is there and these; of several to one place, the largest."""
        if self._has_arrays():
            return self._extreme(cnp.maximum, _core.lib.segment_max, values)
        return self.apply(lambda x: cnp.maximum(x, values))

    def _has_arrays(self) -> bool:
        return not self._is_mask() and _core.has_arrays(self._x, self._index)

    def _is_mask(self) -> bool:
        """Whether the index is a traced mask, which says where, not how often."""
        return isinstance(self._index, Array) and self._index.dtype_name == "bool"

    def _where(self, f: Callable[[Array], Any]) -> Array:
        """With a function of what is there, where the mask holds."""
        x, mask = self._x, self._index
        if mask.shape != x.shape[: mask.ndim]:
            message = f"a mask of shape {mask.shape} for an array of shape {x.shape}"
            raise make("IndexTypeError", "at", message, "a mask has the shape of the leading axes")
        changed = _core.asarray(f(x)).cast_to(x.dtype_name)
        if changed.ndim > x.ndim - mask.ndim and changed.shape != x.shape:
            message = f"values of shape {changed.shape} where a traced mask holds"
            hint = "how many there are is not known: give a scalar, or an array like the whole"
            raise make("IndexTypeError", "at", message, hint)
        spread = mask.reshape([*mask.shape, *[1] * (x.ndim - mask.ndim)])
        return _core.select(spread, changed, x)

    def _flat(self, values: Any) -> tuple[Array, Array]:
        """The places in the flat array, -1 outside of it, and the values for them."""
        x = self._x
        # What is read outside is 0.
        numbers = _core.lib.reshape(_core.lib.iota(x.size) + 1, list(x.shape))
        places = numbers[self._index] - 1
        spread = _core.lib.broadcast_to(values, list(places.shape)).cast_to(x.dtype_name)
        return places.reshape(-1), spread.reshape(-1)

    def _extreme(self, larger: Any, by_segment: Any, values: Any) -> Array:
        places, flat = self._flat(values)
        found = by_segment(flat, places, self._x.size)
        made: Array = larger(self._x, found.reshape(self._x.shape))
        return made

    def _factors(self, values: Any) -> Array:
        """Ones, with the product of the values for each place there."""
        places, flat = self._flat(values)
        order = cnp.argsort(places)

        def both(a: Any, b: Any) -> Any:
            (place, x), (next_place, y) = a, b
            return next_place, cnp.where(place == next_place, x * y, y)

        # Running products of what belongs to one place; of several that are set the last counts.
        places, products = associative_scan(both, (places[order], flat[order]))
        ones = _core.lib.broadcast_to(1, [self._x.size]).cast_to(self._x.dtype_name)
        made: Array = ones.at[places].set(products).reshape(self._x.shape)
        return made


def _reversed(self: Array) -> Iterator[Array]:
    return (self[k] for k in reversed(range(len(self))))


def _iterated(self: Array) -> Iterator[Array]:
    return (self[k] for k in range(len(self)))


def _no_hash(self: Array) -> int:
    hint = "keys of dicts and members of sets need a value: use arrays and indices in their place"
    raise make("ConcreteValueError", "hash", "the value is not known while tracing", hint)


def _not_deleted(self: Array, index: Any) -> None:
    hint = "write ct.numpy.delete(x, index), or take what stays: x[1:]"
    raise make("ArrayTypeError", "delitem", "traced arrays do not change", hint)


def _not_set(self: Array, index: Any, value: Any) -> None:
    hint = "write x = x.at[index].set(value), or `.add(value)`"
    raise make("ArrayTypeError", "setitem", "traced arrays do not change", hint)


def _no_ndarray(self: Array, dtype: Any = None, copy: Any = None) -> Any:
    hint = (
        "a function of numpy or another library needs the elements: use that of `cotan.numpy` "
        "(`asarray([a, b])` for a list), or call it outside of the traced function"
    )
    raise make("ConcreteValueError", "array", "the elements are not known while tracing", hint)


def _formatted(self: Array, spec: str) -> str:
    if not spec:
        return repr(self)
    hint = "print what the function returns; inside it, {x} alone shows shape and element type"
    raise make("ConcreteValueError", "format", "the value is not known while tracing", hint)


# Methods that arrays have elsewhere.
_ELSEWHERE = {
    "append": "arrays do not change: `ct.numpy.concatenate` joins them",
    "backward": "write ct.grad(f)(x)",
    "block_until_ready": "there is nothing to wait for",
    "clone": "arrays do not change, so nobody needs a copy",
    "cpu": "there are no devices",
    "detach": "write ct.stop_gradient(x)",
    "device": "there are no devices",
    "dim": "it is `x.ndim`",
    "fill": "arrays do not change: write ct.numpy.full_like(x, value)",
    "grad": "write ct.grad(f)(x)",
    "numpy": "the elements are known when the function runs: return the array",
    "permute": "write x.transpose(..)",
    "requires_grad": "what to differentiate by is said by `argnums` of ct.grad",
    "to": "write x.astype(dtype); there are no devices",
    "to_numpy": "the elements are known when the function runs: return the array",
    "unsqueeze": "write ct.numpy.expand_dims(x, axis)",
    "values": "the elements are known when the function runs: return the array",
    "view": "write x.reshape(..)",
}


def _missing(self: Array, name: str) -> Any:
    hint = _ELSEWHERE.get(name)
    if hint is None and not name.startswith("_") and callable(getattr(cnp, name, None)):
        hint = f"write ct.numpy.{name}(x)"
    message = f"a traced array has no `{name}`" + (f": {hint}" if hint else "")
    raise AttributeError(message, name=name, obj=self)


def _no_value(self: Array) -> Any:
    hint = "return the array from the function; outside it has values"
    raise make("ConcreteValueError", "item", "the value is not known while tracing", hint)


def _found(name: str, module: str) -> Callable[..., Any]:
    place: Any = {"numpy.linalg": linalg, "numpy.fft": cnp.fft}.get(module, cnp)
    made: Callable[..., Any] | None = getattr(place, name, None)
    if made is None or name.startswith("_"):
        message = f"numpy's `{name}` on a traced array"
        hint = REPLACED.get(name, "`cotan.numpy` has no such function: write it by others")
        raise make("ArrayTypeError", name, message, hint)
    return made


def _ufunc(self: Array, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if kwargs.pop("out", None) is not None or kwargs.pop("where", True) is not True:
        message = f"numpy's `{ufunc.__name__}` with `out` or `where`"
        hint = "arrays do not change: write a = a + x for a += x, and `ct.where` for `where`"
        raise make("ArrayTypeError", ufunc.__name__, message, hint)
    if any(map(complex_numbers().is_one, inputs)):
        return ufunc(*map(complex_numbers().Complex, inputs))
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


def _matmul(self: Array, other: Any) -> Any:
    if complex_numbers().is_one(other):
        return complex_numbers().beside(self, "__matmul__", other)
    return _core.lib.matmul(self, other)


def _rmatmul(self: Array, other: Any) -> Any:
    if complex_numbers().is_one(other):
        return complex_numbers().beside(self, "__rmatmul__", other)
    return _core.lib.matmul(other, self)


def complex_numbers() -> Any:
    """The module of complex numbers, which needs this one."""
    from . import _complex

    return _complex


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
    "__format__": _formatted,
    "__getattr__": _missing,
    "__hash__": _no_hash,
    "__iter__": _iterated,
    "__matmul__": _matmul,
    "__reversed__": _reversed,
    "__rmatmul__": _rmatmul,
    "__setitem__": _not_set,
    "__delitem__": _not_deleted,
    "at": property(At),
    "conj": _same,
    "conjugate": _same,
    "astype": _astype,
    "copy": _same,
    "dtype": property(lambda self: np.dtype(self.dtype_name)),
    "item": _no_value,
    "itemsize": property(lambda self: self.dtype.itemsize),
    "nbytes": property(lambda self: self.size * self.dtype.itemsize),
    "real": property(_same),
    "reshape": _reshape,
    "tolist": _no_value,
    "transpose": _transposed,
}
_SAME_NAMES = (
    "all any argmax argmin argsort clip cumprod cumsum diagonal dot max mean min prod ptp ravel "
    "repeat round sort squeeze std sum swapaxes take trace var"
).split()


def _method(f: Any) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return f(self, *args, **kwargs)

    method.__doc__, method.__name__ = f.__doc__, f.__name__
    return method


for _name in _SAME_NAMES:
    _METHODS[_name] = _method(getattr(cnp, _name))
_METHODS["flatten"] = _METHODS["ravel"]
_METHODS["__round__"] = _METHODS["round"]
_METHODS["T"] = property(_method(getattr(cnp, "transpose")), doc="The axes in reversed order.")
_METHODS["mT"] = property(
    _method(getattr(cnp, "matrix_transpose")), doc="The last two axes exchanged."
)
for _name, _value in _METHODS.items():
    setattr(Array, _name, _value)

"""What values become at the border: arrays of float32, float64, int64 and bool."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Array
from ._errors import make
from .errors import CotanError

_OURS = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_))


def _refused(message: str, hint: str) -> Exception:
    return make("DataError", "array", message, hint)


def is_array(value: Any) -> bool:
    """Whether a value that is no structure is an array, or becomes one."""
    arrays = (np.ndarray, np.generic, int, float, complex, Array)
    return isinstance(value, arrays) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def _as_ndarray(value: Any) -> np.ndarray[Any, Any]:
    """The ndarray of a value: by DLPack where there is no other way, without a copy."""
    if isinstance(value, (list, tuple)):
        try:
            return np.asarray(value)
        except ValueError as error:
            raise _refused(
                f"nested lists that are no array: {error}", "give rows of equal length"
            ) from None
    if isinstance(value, (np.ndarray, np.generic, int, float, complex)):
        return np.asarray(value)
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return _of_another_library(value)
    hint = (
        "arguments are numbers, arrays, and tuples, lists, dicts and dataclasses of these; name what is "
        "none of them in `static_argnums`, mark such a field of a dataclass by "
        '`field(metadata={"static": True})`, or register a class by `ct.tree.register`'
    )
    raise _refused(f"a {type(value).__name__} is not an array", hint)


def _of_another_library(value: Any) -> np.ndarray[Any, Any]:
    """The ndarray of a tensor; what the library says against it is part of the exception."""
    try:
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    except CotanError:
        raise
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        hint = (
            "bring it to the host, in an element type that numpy has; for derivatives across "
            "libraries there are `ct.interop.torch.wrap`, `ct.interop.jax.wrap` and `ct.to_jax`"
        )
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        raise _refused(f"a {name} that numpy cannot take: {error}", hint) from error


def to_numpy(value: Any) -> np.ndarray[Any, Any]:
    """A contiguous array of one of our element types in the machine's byte order.

    float16 and bfloat16 become float32, wider floats float64, all integers int64.
    """
    array = _as_ndarray(value)
    dtype = array.dtype
    if dtype.newbyteorder("=") in _OURS:
        wanted = dtype.newbyteorder("=")
    elif dtype.kind == "f":
        wanted = np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
    elif dtype.kind in "iu":
        wanted = np.dtype(np.int64)
        if dtype.kind == "u" and dtype.itemsize == 8 and (array > np.iinfo(np.int64).max).any():
            raise _refused("integers that are more than an int64 holds", "convert them to float64")
    elif dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        wanted = np.dtype(np.float32)
    elif dtype.kind == "c":
        raise _refused("complex numbers", "pass them as pairs of reals, `ct.Complex(x)`")
    elif dtype.kind in "OUSV":
        hint = (
            "arrays hold numbers and truth values; name other arguments in `static_argnums`, and "
            "give rows of equal length"
        )
        raise _refused(f"a {type(value).__name__} of {dtype} is not an array of numbers", hint)
    else:
        raise _refused(f"an array of {dtype}", "convert it to float64 or int64")
    return np.require(array, dtype=wanted, requirements=["C", "A"])


def mask_positions(entry: Any) -> tuple[np.ndarray[Any, Any], ...] | None:
    """The positions of a mask whose values are known; None for any other entry of an index."""
    if isinstance(entry, (bool, np.bool_)):
        raise make("IndexTypeError", "index", "a truth value as an index", "write `ct.where`")
    if isinstance(entry, str):
        hint = "arrays have no names inside: arrays with names are a dict of arrays"
        raise make("IndexTypeError", "index", f"the text {entry!r} as an index", hint)
    if isinstance(entry, (list, np.ndarray)):
        array = np.asarray(entry)
        if array.dtype == np.bool_ and array.ndim > 0:
            return array.nonzero()
    return None

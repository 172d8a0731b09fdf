"""Makes exceptions of the errors of the library: with the names of Python, and the user's line."""

from __future__ import annotations

import dis
import os
import sys
from types import FrameType

from . import errors

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

# What the hints of the library call by the names of Rust.
_NAMES = [
    ("choose other arguments by `wrt`", "choose other arguments by `argnums`, and write 3.0 for 3"),
    ("choose another by `wrt`", "choose another by `argnums`"),
    ("name it once in `wrt`", "name it once in `argnums`"),
    ("`select` chooses", "`ct.where` chooses"),
    ("`for_loop`", "`ct.fori_loop`"),
    ("`take_along` it", "`take_along_axis` it"),
    ("`all()` or `any()`", "`x.all()` or `x.any()`"),
    ("; to call one function inside another, call it directly or by `apply`", ""),
    ("`concat` joins", "`concatenate` joins"),
    (
        "or ask for a Jacobian or a vector-Jacobian product",
        "or take a Jacobian, `ct.jacrev`, or products with it, `ct.vjp`",
    ),
    ("give one closure for each", "give one function for each"),
    ("closures are those of `build`", "functions are those of `build`"),
    ("of a closure that has ended", "of a function that has ended"),
    ("give it as the result of the closure", "return it from the function"),
]


# Operations that have another name in Python; reductions are called by more than one in Rust.
_OPERATIONS = {"concat": "concatenate", "slice_set": "at", "std_dev": "std"}


def _operation(op: str) -> str:
    if op != "take_along_axis":
        op = op.removesuffix("_axis").removesuffix("_keep")
    return _OPERATIONS.get(op, op)


_STORES = {dis.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in dis.opmap}


def _user_frame() -> FrameType | None:
    """The innermost one that is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_foreign(frame):
        frame = frame.f_back
    return frame


def _is_foreign(frame: FrameType) -> bool:
    """Whether a frame is of this package, or of numpy, which called it."""
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("numpy", "scipy"):
        return True
    return os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE)


def _is_stored(frame: FrameType | None) -> bool:
    """Whether the user is at ``a[index] = x``, which asks ``x`` for its value if ``a`` is of numpy."""
    return frame is not None and frame.f_code.co_code[frame.f_lasti] in _STORES


def _is_read(frame: FrameType | None) -> bool:
    """Whether the user is at ``a[index]``, where ``a`` is not a traced array."""
    if frame is None:
        return False
    op, number = frame.f_code.co_code[frame.f_lasti : frame.f_lasti + 2]
    name = dis.opname[op]
    # From Python 3.14 on it is one of the binary operations, the last one.
    return name == "BINARY_SUBSCR" or (name == "BINARY_OP" and number == _SUBSCRIPT)


_SUBSCRIPT = 26


# What to do about what the library leaves without a hint, by a part of its message.
_HINTS = [
    ("a square matrix is needed", "the last two sizes are equal; `ct.linalg.lstsq` solves others"),
    ("the result has the letter", "each letter of the result stands in an operand"),
    ("is named twice", "name each axis once"),
    (
        "is outside axis",
        "indices that are known are checked: they count from 0, or from -1 at the end",
    ),
    (
        "indices for an array with",
        "there is at most one index for each axis; `...` stands for others",
    ),
    ("is outside of an axis", "positions count from 0, or from -1 at the end"),
    ("a cotangent", "a cotangent has the shape of what it belongs to"),
    ("a tangent", "a tangent has the shape of what it belongs to"),
    (
        "too many elements",
        "write it as a sum over parts: `ct.build` and `ct.fold` store none of them",
    ),
    ("no memory", "work on parts, `ct.fold`, or keep less for the gradient, `ct.checkpoint`"),
    ("there are no arrays", "give a list of at least one array"),
]


def _in_python(text: str) -> str:
    for rust, python in _NAMES:
        text = text.replace(rust, python)
    return text


def make(name: str, op: str, message: str, hint: str | None) -> errors.CotanError:
    """The exception of the class with this name."""
    if name == "InternalError":
        hint = "this is a fault of cotan: please report it, with the program if possible"
    if name == "ArrayTypeError" and "there is no position" in message:
        name = "OutOfRangeError"
    if name == "ScopeError" and message == "an array of another function":
        hint = "return arrays from the function they are traced in; outside it they have no value"
    if hint is None:
        hint = next((own for part, own in _HINTS if part in message), None)
    frame = _user_frame()
    if name == "ConcreteValueError" and _is_stored(frame):
        message = "an array of numpy cannot hold a traced value"
        hint = (
            "arrays do not change: write a = ct.numpy.asarray(a).at[index].set(x), or stack parts"
        )
    elif name == "ConcreteValueError" and op in ("array", "index") and _is_read(frame):
        message = "a traced index into something that is not a traced array"
        hint = "write ct.numpy.asarray(a)[i] inside the function, or pass `a` as an argument"
    place = None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    made: errors.CotanError = getattr(errors, name)(
        _operation(op), _in_python(message), None if hint is None else _in_python(hint), place
    )
    return made


def at_part(what: str, part: str, error: BaseException) -> BaseException:
    """The exception with the part of the arguments or results that it is about."""
    if not isinstance(error, errors.DataError):
        return error
    hint = error.hint
    if what == "result":
        hint = (
            "a function returns numbers, arrays, and tuples, lists, dicts and dataclasses of these"
        )
    op = f"{what} `{part}`" if part else what
    return type(error)(op, error.message, hint, error.location)

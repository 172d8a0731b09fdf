"""Makes exceptions of the errors of the library: with the names of Python, and the user's line."""

from __future__ import annotations

import os
import sys

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
    ("closures are those of `build`", "functions are those of `build`"),
    ("of a closure that has ended", "of a function that has ended"),
    ("give it as the result of the closure", "return it from the function"),
]


def user_line() -> str | None:
    """The innermost line that is not of this package."""
    frame = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


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
    made: errors.CotanError = getattr(errors, name)(
        op, _in_python(message), None if hint is None else _in_python(hint), user_line()
    )
    return made

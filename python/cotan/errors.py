"""What can go wrong, as exceptions.

Every exception says the operation, what is wrong, the line of your code, and what to do:

>>> import cotan as ct, numpy as np
>>> ct.jit(lambda a, b: a + b)(np.ones(2), np.ones(3))
Traceback (most recent call last):
    ...
cotan.errors.ArrayTypeError: add: shapes that do not fit: [2]f64 and [3]f64
  at <doctest cotan.errors[1]>:1
  hint: shapes fit when, from the last axis back, sizes are equal, 1 or missing
"""

from __future__ import annotations

__all__ = [
    "ArrayTypeError",
    "ConcreteValueError",
    "CotanError",
    "DataError",
    "IndexTypeError",
    "InternalError",
    "LimitError",
    "OutOfRangeError",
    "ScopeError",
    "StoppedError",
    "TextError",
]


class CotanError(Exception):
    """An error of this package.

    Attributes:
        op: the operation that could not be done
        message: what is wrong
        hint: what to do about it, or None
        location: the line of your code, ``file:line``, or None
    """

    op: str
    message: str
    hint: str | None
    location: str | None

    def __init__(
        self,
        op: str,
        message: str = "",
        hint: str | None = None,
        location: str | None = None,
    ) -> None:
        self.op, self.message, self.hint, self.location = op, message, hint, location
        text = f"{op}: {message}" if message else op
        if location is not None:
            text += f"\n  at {location}"
        if hint is not None:
            text += f"\n  hint: {hint}"
        super().__init__(text)

    def __reduce__(self) -> tuple[type[CotanError], tuple[str, str, str | None, str | None]]:
        return type(self), (self.op, self.message, self.hint, self.location)


class ArrayTypeError(CotanError, TypeError, ValueError):
    """Shapes, element types or structures do not fit."""


class IndexTypeError(CotanError, TypeError, IndexError):
    """An index that is not made of integers, slices, ``...`` and ``None``."""


class OutOfRangeError(CotanError, IndexError):
    """An index outside of the array, or too many indices."""


class ConcreteValueError(CotanError, TypeError):
    """A value was asked for that is not known while a function is traced."""


class ScopeError(CotanError, RuntimeError):
    """A traced array was used outside of the function it belongs to."""


class LimitError(CotanError, ValueError, MemoryError):
    """A limit on elements, bytes, axes or nesting was exceeded."""


class DataError(CotanError, ValueError, TypeError):
    """A value that is no array of numbers."""


class StoppedError(CotanError, RuntimeError):
    """A call was stopped."""


class TextError(CotanError, ValueError):
    """A program of the text language that is wrong."""


class InternalError(CotanError, RuntimeError):
    """A fault of this package, not of yours."""

"""Elementwise functions."""

from __future__ import annotations

import operator
from typing import Any

from .. import _core
from .._core import lib, scalar
from .._examples import with_example
from .._function import Function
from .._operation import operation

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "digamma",
    "divide",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "gammaln",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nan_to_num",
    "negative",
    "not_equal",
    "polygamma",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]


def _unary(name: str, op: str, doc: str, kind: str = "float") -> Function:
    def f(x: Any) -> Any:
        return scalar(op, kind, [x])

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return operation("x")(f)


def _rounding(name: str, op: str, doc: str) -> Function:
    def rounded(x: Any) -> Any:
        array = _core.asarray(x)
        return scalar(op, "float", [array]) if "float" in array.dtype_name else array

    return _library(name, rounded, doc)


def _binary(name: str, op: str, doc: str, kind: str = "common") -> Function:
    def f(x: Any, y: Any) -> Any:
        return scalar(op, kind, [x, y])

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return operation("x", "y")(f)


def _operator(name: str, apply: Any, doc: str) -> Function:
    def f(x: Any, y: Any) -> Any:
        return apply(_core.asarray(x), y)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return operation("x", "y")(f)


def _library(name: str, made: Any, doc: str) -> Function:
    def f(x: Any) -> Any:
        return made(x)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = with_example(name, doc)
    return operation("x")(f)


negative = _unary("negative", "neg", "``-x``.", "number")
positive = _library("positive", _core.asarray, "``x``.")
real = _library("real", _core.asarray, "``x``: all numbers are real.")
conj = _library("conj", _core.asarray, "``x``: all numbers are real.")
imag = _library("imag", lambda x: _core.asarray(x) * 0, "Zeros: all numbers are real.")
absolute = abs = _unary("abs", "abs", "The absolute value; its derivative at 0 is 0.", "number")
fabs = absolute
sign = _unary("sign", "sign", "-1, 0 or 1.", "number")
square = _library("square", lambda x: _core.asarray(x) * x, "``x * x``.")
reciprocal = _unary("reciprocal", "recip", "``1 / x``.")
sqrt = _unary("sqrt", "sqrt", "The square root.")
cbrt = _unary("cbrt", "cbrt", "The cube root.")
exp = _unary("exp", "exp", "The exponential.")
exp2 = _unary("exp2", "exp2", "2 to the power of ``x``.")
expm1 = _unary("expm1", "expm1", "``exp(x) - 1``, precise near 0.")
log = _unary("log", "log", "The natural logarithm.")
log2 = _unary("log2", "log2", "The logarithm to base 2.")
log10 = _unary("log10", "log10", "The logarithm to base 10.")
log1p = _unary("log1p", "log1p", "``log(1 + x)``, precise near 0.")
sin = _unary("sin", "sin", "The sine.")
cos = _unary("cos", "cos", "The cosine.")
tan = _unary("tan", "tan", "The tangent.")
arcsin = asin = _unary("arcsin", "asin", "The inverse sine.")
arccos = acos = _unary("arccos", "acos", "The inverse cosine.")
arctan = atan = _unary("arctan", "atan", "The inverse tangent.")
sinh = _unary("sinh", "sinh", "The hyperbolic sine.")
cosh = _unary("cosh", "cosh", "The hyperbolic cosine.")
tanh = _unary("tanh", "tanh", "The hyperbolic tangent.")
arcsinh = asinh = _unary("arcsinh", "asinh", "The inverse hyperbolic sine.")
arccosh = acosh = _unary("arccosh", "acosh", "The inverse hyperbolic cosine.")
arctanh = atanh = _unary("arctanh", "atanh", "The inverse hyperbolic tangent.")
erf = _unary("erf", "erf", "The error function.")
erfc = _unary("erfc", "erfc", "``1 - erf(x)``, precise for large ``x``.")
gammaln = lgamma = _unary("gammaln", "lgamma", "The logarithm of the absolute gamma function.")
digamma = _unary("digamma", "digamma", "The derivative of ``gammaln``.")
floor = _rounding("floor", "floor", "Rounded down; its derivative is 0.")
ceil = _rounding("ceil", "ceil", "Rounded up; its derivative is 0.")
rint = _rounding("rint", "round", "Rounded to the nearest integer, halves to even.")
trunc = _rounding("trunc", "trunc", "Rounded towards 0; its derivative is 0.")
logical_not = _unary("logical_not", "logical_not", "Where it is false.", "bool")
invert = bitwise_not = bitwise_invert = _library(
    "invert", lambda x: ~_core.asarray(x), "Not, of truth values; ``-x - 1`` of integers."
)
isnan = _library("isnan", lib.isnan, "Where it is NaN.")
isinf = _library("isinf", lib.isinf, "Where it is infinite.")
isfinite = _library("isfinite", lib.isfinite, "Where it is neither infinite nor NaN.")
deg2rad = radians = _library(
    "deg2rad", lambda x: x * 0.017453292519943295, "From degrees to radians."
)
rad2deg = degrees = _library("rad2deg", lambda x: x * 57.29577951308232, "From radians to degrees.")

add = _operator("add", operator.add, "``x + y``.")
subtract = _operator("subtract", operator.sub, "``x - y``.")
multiply = _operator("multiply", operator.mul, "``x * y``.")
divide = true_divide = _operator("divide", operator.truediv, "``x / y``.")
floor_divide = _operator("floor_divide", operator.floordiv, "``x // y``: rounded down.")
remainder = mod = _operator("remainder", operator.mod, "``x % y``: with the sign of the divisor.")
power = pow = float_power = _operator("power", operator.pow, "``x ** y``.")
equal = _operator("equal", operator.eq, "``x == y``.")
not_equal = _operator("not_equal", operator.ne, "``x != y``.")
less = _operator("less", operator.lt, "``x < y``.")
less_equal = _operator("less_equal", operator.le, "``x <= y``.")
greater = _operator("greater", operator.gt, "``x > y``.")
greater_equal = _operator("greater_equal", operator.ge, "``x >= y``.")
bitwise_and = _operator("bitwise_and", operator.and_, "``x & y``.")
bitwise_or = _operator("bitwise_or", operator.or_, "``x | y``.")
bitwise_xor = _operator("bitwise_xor", operator.xor, "``x ^ y``.")
left_shift = bitwise_left_shift = _operator("left_shift", operator.lshift, "``x << y``.")
right_shift = bitwise_right_shift = _operator("right_shift", operator.rshift, "``x >> y``.")
logical_and = _binary("logical_and", "logical_and", "Where both are true.", "bool")
logical_or = _binary("logical_or", "logical_or", "Where one is true.", "bool")
logical_xor = _binary("logical_xor", "logical_xor", "Where one alone is true.", "bool")
minimum = fmin = _binary(
    "minimum", "min", "The smaller; of equals the derivative goes to the first.", "number"
)
maximum = fmax = _binary(
    "maximum", "max", "The larger; of equals the derivative goes to the first.", "number"
)
arctan2 = atan2 = _binary("arctan2", "atan2", "The angle of the point ``(y, x)``.", "float")


@operation("x", "y")
def hypot(x: Any, y: Any) -> Any:
    """``sqrt(x * x + y * y)`` without overflow; its derivative at the origin is 0.

    >>> hypot(3.0, 4.0)
    array(5.)
    """
    return lib.hypot(x, y)


@operation("x", "y")
def logaddexp(x: Any, y: Any) -> Any:
    """``log(exp(x) + exp(y))`` without overflow.

    >>> logaddexp(1000.0, 1000.0)
    array(1000.69314718)
    """
    return lib.logaddexp(x, y)


@operation("x")
def round(x: Any, decimals: int = 0) -> Any:
    """Rounded to so many decimals, halves to even.

    >>> round(np.array([1.25, 1.75]), 1)
    array([1.2, 1.8])
    """
    return rint(x) if decimals == 0 else rint(x * 10.0**decimals) / 10.0**decimals


@operation("x")
def signbit(x: Any) -> Any:
    """Where it is negative, or -0.

    >>> signbit(np.array([-0.0, 0.0, -1.0]))
    array([ True, False,  True])
    """
    array = _core.asarray(x)
    return (array < 0) | ((array == 0) & (1.0 / array < 0.0))


@operation("x", "y")
def copysign(x: Any, y: Any) -> Any:
    """The absolute value of ``x`` with the sign of ``y``.

    >>> copysign(np.array([1.0, 2.0]), np.array([-1.0, 3.0]))
    array([-1.,  2.])
    """
    size = absolute(x)
    return _core.select(signbit(y), -size, size)


@operation("n", "x")
def polygamma(n: Any, x: Any) -> Any:
    """The polygamma function of order ``n``.

    >>> polygamma(1, np.array([1.0]))
    array([1.64493407])
    """
    return lib.polygamma(x, n)


@operation("a", "a_min", "a_max", "min", "max")
def clip(a: Any, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None) -> Any:
    """``a`` where it lies between the bounds, else the nearer of these; None is no bound.

    >>> clip(np.array([-1.0, 0.5, 3.0]), 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    low = a_min if min is None else min
    high = a_max if max is None else max
    x = _core.asarray(a)
    if low is not None:
        x = scalar("max", "number", [x, low])
    if high is not None:
        x = scalar("min", "number", [x, high])
    return x


@operation("x", "y", "rtol", "atol")
def isclose(x: Any, y: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    """Where two arrays are equal within a tolerance.

    >>> isclose(np.array([1.0, 2.0]), np.array([1.0 + 1e-9, 2.1]))
    array([ True, False])
    """
    x, y = _core.asarray(x), _core.asarray(y)
    return (x == y) | (absolute(x - y) <= atol + rtol * absolute(y))


@operation("x", "nan", "posinf", "neginf")
def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """With numbers in the place of NaN and infinities.

    >>> nan_to_num(np.array([np.nan, 1.0]))
    array([0., 1.])
    """
    array = _core.asarray(x)
    largest = float(_largest(array.dtype_name))
    array = _core.select(lib.isnan(array), nan, array)
    array = _core.select(array == float("inf"), largest if posinf is None else posinf, array)
    return _core.select(array == -float("inf"), -largest if neginf is None else neginf, array)


def _largest(name: str) -> float:
    import numpy

    return float(numpy.finfo(name if name.startswith("float") else "float64").max)

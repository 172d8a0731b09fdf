"""Complex numbers: pairs of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import numpy as cnp
from . import tree
from ._core import Array
from ._data import to_numpy
from ._errors import make
from ._operation import a_kind


class Complex:
    """Complex numbers: an array of real and one of imaginary parts, a structure like any other.

    Made of both parts, or of an array of numpy or a number; an array of numpy of complex numbers again
    by ``np.asarray``. A derivative by complex numbers has the derivatives by both parts, so a step
    against it is one downwards. (That of JAX is the conjugate of this.)

    >>> import cotan as ct, numpy as np
    >>> z = ct.Complex(np.array([1.0 + 2.0j, 3.0]))
    >>> np.asarray(z * 1j)
    array([-2.+1.j,  0.+3.j])
    >>> ct.grad(lambda z: (abs(z) ** 2).sum())(z)
    Complex(real=array([2., 6.]), imag=array([4., 0.]))

    There are ``+ - * / @``, integer powers, ``abs``, ``conj``, ``angle``, ``exp``, ``sum``, ``mean``, and
    indices; what only moves elements applies to both parts: ``ct.tree.map(lambda x: x.T, z)``.
    """

    __slots__ = ("imag", "real")

    real: Any
    imag: Any

    def __init__(self, real: Any, imag: Any = None) -> None:
        if isinstance(real, Complex):
            real, own = real.real, real.imag
        elif isinstance(real, Array):
            own = cnp.zeros_like(real)
        else:
            given: Any = np.asarray(real)
            real, own = given.real, given.imag
        if imag is not None and not isinstance(imag, Array) and np.iscomplexobj(imag):
            raise make("DataError", "Complex", "imaginary parts that are complex numbers", None)
        own = own if imag is None else imag
        # What is not traced is of numpy, as results are.
        both = [x if isinstance(x, Array) else to_numpy(x) for x in (real, own)]
        if both[0].shape != both[1].shape:
            shapes = f"{tuple(both[0].shape)} and {tuple(both[1].shape)}"
            message = f"real and imaginary parts of shapes {shapes}"
            raise make("ArrayTypeError", "Complex", message, "both have one shape")
        self.real, self.imag = both

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of both parts."""
        return tuple(self.real.shape)

    @property
    def T(self) -> Complex:
        """With the axes in reversed order."""
        return self._both(lambda x: x.T)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def conj(self) -> Complex:
        """The conjugates."""
        return _made(self.real, -self.imag)

    conjugate = conj

    def angle(self) -> Any:
        """The arguments, in radians."""
        return cnp.arctan2(self.imag, self.real)

    def exp(self) -> Complex:
        """The exponential function."""
        length = cnp.exp(self.real)
        return _made(length * cnp.cos(self.imag), length * cnp.sin(self.imag))

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> Complex:
        """The sum along axes."""
        return self._both(lambda x: cnp.sum(x, axis, keepdims=keepdims))

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Complex:
        """The mean along axes."""
        return self._both(lambda x: cnp.mean(x, axis, keepdims=keepdims))

    def reshape(self, *shape: Any) -> Complex:
        """With other sizes."""
        return self._both(lambda x: x.reshape(*shape))

    def _both(self, f: Callable[[Any], Any]) -> Complex:
        return _made(f(self.real), f(self.imag))

    def __getitem__(self, index: Any) -> Complex:
        return self._both(lambda x: x[index])

    def __len__(self) -> int:
        return len(self.real)

    def __abs__(self) -> Any:
        return cnp.hypot(self.real, self.imag)

    def __neg__(self) -> Complex:
        return self._both(lambda x: -x)

    def __pos__(self) -> Complex:
        return self

    def __add__(self, other: Any) -> Complex:
        a, b = _parts(other)
        return _made(self.real + a, _spread(self.imag, a) if b is None else self.imag + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Complex:
        a, b = _parts(other)
        return _made(self.real - a, _spread(self.imag, a) if b is None else self.imag - b)

    def __rsub__(self, other: Any) -> Complex:
        opposite: Complex = -self
        return opposite.__add__(other)

    def __mul__(self, other: Any) -> Complex:
        a, b = _parts(other)
        if b is None:
            return _made(self.real * a, self.imag * a)
        return _made(self.real * a - self.imag * b, self.real * b + self.imag * a)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Complex:
        a, b = _parts(other)
        if b is None:
            return _made(self.real / a, self.imag / a)
        size = a * a + b * b
        product: Complex = self * _made(a, -b)
        return _made(product.real / size, product.imag / size)

    def __rtruediv__(self, other: Any) -> Complex:
        size = self.real * self.real + self.imag * self.imag
        product: Complex = self.conj() * other
        return _made(product.real / size, product.imag / size)

    def __matmul__(self, other: Any) -> Complex:
        a, b = _parts(other)
        if b is None:
            return _made(self.real @ a, self.imag @ a)
        return _made(self.real @ a - self.imag @ b, self.real @ b + self.imag @ a)

    def __rmatmul__(self, other: Any) -> Complex:
        a, b = _parts(other)
        if b is None:
            return _made(a @ self.real, a @ self.imag)
        return _made(a @ self.real - b @ self.imag, a @ self.imag + b @ self.real)

    def __pow__(self, exponent: Any) -> Complex:
        if not isinstance(exponent, int) or exponent < 0:
            hint = "exponents are integers of Python that are not negative"
            raise make("ArrayTypeError", "power", f"{a_kind(exponent)} as an exponent", hint)
        made: Complex = _made(cnp.ones_like(self.real), cnp.zeros_like(self.imag))
        base: Complex = self
        while exponent:
            made = made * base if exponent % 2 else made
            base, exponent = base * base, exponent // 2
        return made

    def __eq__(self, other: Any) -> Any:
        a, b = _parts(other)
        return (self.real == a) & (self.imag == (0.0 if b is None else b))

    def __ne__(self, other: Any) -> Any:
        a, b = _parts(other)
        return (self.real != a) | (self.imag != (0.0 if b is None else b))

    # As arrays, which are compared by elements.
    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if isinstance(self.real, Array) or isinstance(self.imag, Array):
            hint = "use the methods of `ct.Complex`, or both parts, `z.real` and `z.imag`"
            message = "the elements are not known while tracing"
            raise make("ConcreteValueError", "array", message, hint)
        both = np.asarray(np.asarray(self.real) + 1j * np.asarray(self.imag))
        return both if dtype is None else both.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        operation = _UFUNCS.get(ufunc.__name__)
        if operation is None or method != "__call__" or kwargs:
            hint = "there are + - * / @, abs, conj, angle and exp; others take both parts"
            message = f"numpy's `{ufunc.__name__}` of `ct.Complex`"
            raise make("ArrayTypeError", ufunc.__name__, message, hint)
        first, *rest = inputs
        return operation(first if isinstance(first, Complex) else Complex(first), *rest)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = func.__name__
        if getattr(func, "__module__", "") == "numpy.fft" and hasattr(cnp.fft, name):
            return getattr(cnp.fft, name)(*args, **kwargs)
        if name in ("real", "imag"):
            return getattr(args[0], name)
        if name in ("angle", "sum", "mean", "reshape"):
            return getattr(args[0], name)(*args[1:], **kwargs)
        hint = "call it with both parts, `z.real` and `z.imag`, or with `np.asarray(z)` outside"
        raise make("ArrayTypeError", name, f"numpy's `{name}` of `ct.Complex`", hint)

    def __repr__(self) -> str:
        return f"Complex(real={self.real!r}, imag={self.imag!r})"


_UFUNCS: dict[str, Callable[..., Any]] = {
    "absolute": abs,
    "add": lambda a, b: a + b,
    "conjugate": Complex.conj,
    "divide": lambda a, b: a / b,
    "exp": Complex.exp,
    "matmul": lambda a, b: a @ b,
    "multiply": lambda a, b: a * b,
    "negative": lambda a: -a,
    "positive": lambda a: a,
    "square": lambda a: a * a,
    "subtract": lambda a, b: a - b,
}


def _made(real: Any, imag: Any) -> Complex:
    """Of parts that fit, whatever they are: a structure may hold anything on the way."""
    made = object.__new__(Complex)
    made.real, made.imag = real, imag
    return made


def _parts(value: Any) -> tuple[Any, Any]:
    """Real and imaginary parts; of real numbers None for the latter."""
    return (value.real, value.imag) if is_one(value) else (value, None)


def is_one(value: Any) -> bool:
    """Whether a value is complex numbers: ours, of numpy or of Python."""
    if isinstance(value, (np.ndarray, np.generic)):
        return bool(value.dtype.kind == "c")
    return isinstance(value, (Complex, complex))


def beside(x: Any, operator: str, other: Any) -> Any:
    """What an operator of traced arrays makes of one beside complex numbers; None of anything else."""
    method = getattr(Complex(x), operator, None) if is_one(other) else None
    return None if method is None else method(other)


def _spread(x: Any, other: Any) -> Any:
    """An array in the shape that it has beside another."""
    shape = np.broadcast_shapes(tuple(x.shape), getattr(other, "shape", None) or np.shape(other))
    return x if tuple(x.shape) == shape else cnp.broadcast_to(x, shape)


tree.register(Complex, lambda z: ((z.real, z.imag), None), lambda _, parts: _made(*parts))

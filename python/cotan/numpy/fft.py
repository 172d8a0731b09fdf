"""Fourier transforms, with derivatives of all orders: any length, along any axes.

Complex numbers are :class:`cotan.Complex`, pairs of real and imaginary parts, since the element types
are real. Arguments are these, real arrays, or arrays of numpy of complex numbers.

>>> import cotan as ct, numpy as np
>>> power = lambda x: (abs(ct.numpy.fft.rfft(x)) ** 2)[1:].sum()
>>> ct.grad(power)(np.array([1.0, 0.0, 0.0, 0.0])).round(6)
array([ 4., -2.,  0., -2.])
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Array
from .._errors import make
from .._function import Function
from .._operation import axes_of, operation, row

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_NORMS = (None, "backward", "ortho", "forward")


def _given(a: Any) -> Any:
    """Numbers to transform: real arrays, or pairs."""
    from .._complex import Complex
    from ._create import asarray

    if isinstance(a, (Array, Complex)):
        return a
    if isinstance(a, (list, tuple)):
        return asarray(a)
    return Complex(a) if np.iscomplexobj(a) else a


def _pair(z: Any) -> list[Any]:
    from .._complex import Complex

    return [z.real, z.imag] if isinstance(z, Complex) else [z]


def _one_axis(name: str) -> Callable[..., Any]:
    """The function of the library with this name, of real arrays or pairs."""

    def staged(z: Any, n: int | None, axis: int, norm: str | None) -> Any:
        from .._complex import Complex

        own = {"x": z} if name == "rfft" else {"z": _pair(z)}
        sizes = None if n is None else [operator.index(n)]
        made = row(name, **own, n=sizes, axis=operator.index(axis), norm=norm)
        return Complex(*made) if isinstance(made, tuple) else made

    f = Function(staged, name=name, static_argnums=(1, 2, 3), cache_size=256)

    def call(a: Any, n: int | None, axis: int, norm: str | None) -> Any:
        if norm not in _NORMS:
            hint = "norms are 'backward', 'ortho' and 'forward'"
            raise make("ArrayTypeError", name, f"the norm {norm!r}", hint)
        return f(_given(a), n, axis, norm)

    return call


_fft, _ifft, _rfft, _irfft = (_one_axis(name) for name in ("fft", "ifft", "rfft", "irfft"))


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along an axis, cut or filled up with zeros to ``n``. The norm says
    which transform is divided by ``n``: ``backward`` the inverse, ``forward`` this one, ``ortho`` each by
    its root.

    >>> fft(np.array([1.0, 2.0, 3.0, 4.0]))
    Complex(real=array([10., -2., -2., -2.]), imag=array([ 0.,  2.,  0., -2.]))
    """
    return _fft(a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`fft`.

    >>> ifft(np.array([10.0, -2.0 + 2.0j, -2.0, -2.0 - 2.0j])).real
    array([1., 2., 3., 4.])
    """
    return _ifft(a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first ``n // 2 + 1`` numbers of the transform of real numbers; the others are the conjugates
    of these.

    >>> rfft(np.array([1.0, 2.0, 3.0, 4.0])).real
    array([10., -2., -2.])
    """
    _expect_real("rfft", a)
    return _rfft(a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`rfft`: ``n`` real numbers, ``2 * (m - 1)`` of ``m`` if it is not given.

    >>> irfft(rfft(np.array([1.0, 2.0, 3.0])), 3).round(6)
    array([1., 2., 3.])
    """
    return _irfft(a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The real transform of numbers whose other half are their conjugates.

    >>> hfft(np.array([1.0, 2.0, 3.0])).round(6)
    array([ 8., -2.,  0., -2.])
    """
    return irfft(_conj(_given(a)), n, axis, _OTHER[norm])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of :func:`hfft`.

    >>> ihfft(np.array([8.0, -2.0, 0.0, -2.0])).real
    array([1., 2., 3.])
    """
    return rfft(a, n, axis, _OTHER[norm]).conj()


_OTHER = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _conj(z: Any) -> Any:
    from .._complex import Complex

    return z.conj() if isinstance(z, Complex) else z


def _expect_real(name: str, a: Any) -> None:
    from .._complex import Complex

    if isinstance(a, Complex) or (not isinstance(a, Array) and np.iscomplexobj(a)):
        hint = f"`{name.removeprefix('r')}` is for complex numbers"
        raise make("ArrayTypeError", name, "complex numbers, where real ones are needed", hint)


def _axes(name: str, a: Any, s: Sequence[int] | None, axes: Any) -> list[tuple[int, int | None]]:
    """Each axis with its size, if one is given."""
    chosen = axes_of(axes)
    if chosen is None:
        rank = a.ndim if hasattr(a, "ndim") else np.ndim(a)
        chosen = list(range(-(rank if s is None else len(s)), 0))
    sizes: list[int | None] = [None] * len(chosen) if s is None else list(s)
    if len(sizes) != len(chosen):
        message = f"{len(sizes)} sizes for {len(chosen)} axes"
        raise make("ArrayTypeError", name, message, "`s` has one for each of `axes`")
    return list(zip(chosen, sizes, strict=True))


def _several(
    name: str, one: Callable[..., Any], a: Any, pairs: list[tuple[int, int | None]], norm: str | None
) -> Any:
    made = _given(a)
    for axis, n in reversed(pairs):
        made = one(made, n, axis, norm)
    return made


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """:func:`fft` along several axes, all if none are given; ``s`` has their sizes.

    >>> fftn(np.array([[1.0, 2.0], [3.0, 4.0]])).real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _several("fftn", _fft, a, _axes("fftn", a, s, axes), norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of :func:`fftn`.

    >>> ifftn(np.array([[10.0, -2.0], [-4.0, 0.0]])).real
    array([[1., 2.],
           [3., 4.]])
    """
    return _several("ifftn", _ifft, a, _axes("ifftn", a, s, axes), norm)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """:func:`fft` along the last two axes.

    >>> fft2(np.array([[1.0, 2.0], [3.0, 4.0]])).real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return fftn(a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of :func:`fft2`.

    >>> ifft2(np.array([[10.0, -2.0], [-4.0, 0.0]])).real
    array([[1., 2.],
           [3., 4.]])
    """
    return ifftn(a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """:func:`rfft` along the last of the axes, and :func:`fft` along the others.

    >>> rfftn(np.ones((2, 4))).real
    array([[8., 0., 0.],
           [0., 0., 0.]])
    """
    *others, (axis, n) = _axes("rfftn", a, s, axes)
    return _several("rfftn", _fft, rfft(a, n, axis, norm), others, norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of :func:`rfftn`; ``s`` has the sizes of the result.

    >>> irfftn(rfftn(np.array([[1.0, 2.0], [3.0, 4.0]])))
    array([[1., 2.],
           [3., 4.]])
    """
    *others, (axis, n) = _axes("irfftn", a, s, axes)
    made = _given(a)
    for other, size in others:
        made = _ifft(made, size, other, norm)
    return irfft(made, n, axis, norm)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """:func:`rfftn` along the last two axes.

    >>> rfft2(np.ones((2, 2))).real
    array([[4., 0.],
           [0., 0.]])
    """
    return rfftn(a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of :func:`rfft2`.

    >>> irfft2(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    return irfftn(a, s, axes, norm)


def fftfreq(n: int, d: float = 1.0) -> Any:
    """The frequencies of the numbers that :func:`fft` gives of ``n`` samples at distances ``d``.

    >>> fftfreq(4)
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return np.fft.fftfreq(n, d)


def rfftfreq(n: int, d: float = 1.0) -> Any:
    """The frequencies of the numbers that :func:`rfft` gives.

    >>> rfftfreq(4)
    array([0.  , 0.25, 0.5 ])
    """
    return np.fft.rfftfreq(n, d)


@operation("x")
def _fftshift(x: Any, axes: Any = None) -> Any:
    return row("fftshift", x=x, axes=axes_of(axes))


@operation("x")
def _ifftshift(x: Any, axes: Any = None) -> Any:
    return row("ifftshift", x=x, axes=axes_of(axes))


def _shifted(f: Callable[..., Any], x: Any, axes: Any) -> Any:
    from .._complex import Complex

    x = _given(x)
    axes = tuple(axes) if isinstance(axes, list) else axes
    return Complex(f(x.real, axes), f(x.imag, axes)) if isinstance(x, Complex) else f(x, axes)


def fftshift(x: Any, axes: Any = None) -> Any:
    """The elements with those of frequency 0 moved from the beginning to the middle of axes.

    >>> fftshift(np.array([0, 1, -2, -1]))
    array([-2, -1,  0,  1])
    """
    return _shifted(_fftshift, x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of :func:`fftshift`.

    >>> ifftshift(np.array([-2, -1, 0, 1]))
    array([ 0,  1, -2, -1])
    """
    return _shifted(_ifftshift, x, axes)

"""Functions of samples: differences and areas, convolutions, histograms, polynomials, windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._control import where
from .._core import lib
from .._errors import make
from .._operation import operation, row
from ._arrange import concatenate, flip, pad, ravel, stack
from ._create import known_by_numpy
from ._elementwise import sqrt
from ._products import matmul, outer
from ._reduce import max as largest
from ._reduce import min as smallest
from ._reduce import searchsorted, sum

__all__ = [
    "bartlett",
    "blackman",
    "convolve",
    "corrcoef",
    "correlate",
    "digitize",
    "gradient",
    "hamming",
    "hanning",
    "histogram",
    "kaiser",
    "polyadd",
    "polyder",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "trapezoid",
    "vander",
]


def _along(x: Any, axis: int, part: slice) -> Any:
    """A part of one axis."""
    return x[(slice(None),) * (axis % x.ndim) + (part,)]


@operation("f", "varargs")
def _gradient(f: Any, varargs: Any, axis: Any) -> Any:
    x = _core.asarray(f)
    axes = [k % x.ndim for k in (range(x.ndim) if axis is None else axis)]
    if len(varargs) not in (0, 1, len(axes)):
        message = f"{len(varargs)} distances for {len(axes)} axes"
        raise make("ArrayTypeError", "gradient", message, "give one for all, or one for each")
    steps = varargs if len(varargs) == len(axes) else (*varargs, 1.0)[:1] * len(axes)
    found = []
    for axis, step in zip(axes, steps, strict=True):
        if np.ndim(step) != 0 or x.shape[axis] < 2:
            message = "distances that differ" if np.ndim(step) else f"{x.shape[axis]} samples"
            hint = "distances are scalars, and an axis has at least 2 samples"
            raise make("ArrayTypeError", "gradient", message, hint)
        inner = (_along(x, axis, slice(2, None)) - _along(x, axis, slice(-2))) / (2.0 * step)
        first = (_along(x, axis, slice(1, 2)) - _along(x, axis, slice(1))) / step
        last = (_along(x, axis, slice(-1, None)) - _along(x, axis, slice(-2, -1))) / step
        found.append(concatenate([first, inner, last], axis))
    return found


def gradient(f: Any, *varargs: Any, axis: Any = None) -> Any:
    """Central differences of samples along axes, one-sided ones at the ends; a tuple if there are
    several. For derivatives of functions there is ``ct.grad``.

    >>> gradient(np.array([1.0, 4.0, 9.0, 16.0]))
    array([3., 4., 6., 7.])
    """
    found = _gradient(f, varargs, axis=(axis,) if isinstance(axis, int) else axis)
    return found[0] if len(found) == 1 else tuple(found)


@operation("y", "x", "dx")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The area below samples, by trapezoids.

    >>> trapezoid(np.array([1.0, 2.0, 3.0]), dx=0.5)
    array(2.)
    """
    values = _core.asarray(y)
    means = (_along(values, axis, slice(1, None)) + _along(values, axis, slice(-1))) / 2.0
    if x is None:
        return sum(means * dx, axis)
    places = _core.asarray(x)
    if places.ndim == 1:
        shape = [1] * values.ndim
        shape[axis] = -1
        return sum(means * (places[1:] - places[:-1]).reshape(shape), axis)
    steps = _along(places, axis, slice(1, None)) - _along(places, axis, slice(-1))
    return sum(means * steps, axis)


@operation("a", "v")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Two sequences convolved, with ``full``, ``same`` or ``valid`` overlap; for images there is
    ``cotan.nn.conv``.

    >>> convolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    x, kernel = _core.asarray(a), _core.asarray(v)
    if x.ndim != 1 or kernel.ndim != 1 or not x.size or not kernel.size:
        message = f"sequences of shapes {x.shape} and {kernel.shape}"
        raise make("ArrayTypeError", "convolve", message, "both have one axis, and elements")
    if kernel.size > x.size:
        x, kernel = kernel, x
    k = kernel.size
    if mode not in ("full", "same", "valid"):
        message = f"the mode {mode!r}"
        raise make("ArrayTypeError", "convolve", message, "modes are full, same and valid")
    # Zeros before and behind; `same` is the middle of the full result.
    before, behind = {
        "full": (k - 1, k - 1),
        "same": (k // 2, (k - 1) // 2),
        "valid": (0, 0),
    }[mode]
    padded = pad(x, (before, behind))
    return matmul(lib.sliding_window(padded, k, 1, 0), flip(kernel, 0))


@operation("a", "v")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Two sequences correlated: :func:`convolve` with the second reversed.

    >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0]))
    array([2., 3.])
    """
    return convolve(a, flip(v, 0), mode)


@operation("x")
def corrcoef(x: Any) -> Any:
    """The correlations of variables, a row for each.

    >>> corrcoef(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    from ._composed import cov

    both = cov(x)
    size = sqrt(lib.diagonal(both, 0))
    return both / outer(size, size)


@operation("x", "bins")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin that each element is in, by ascending bounds.

    >>> digitize(np.array([0.5, 1.0, 3.5]), np.array([0.0, 1.0, 2.0]))
    array([1, 2, 3])
    """
    return searchsorted(bins, x, side="left" if right else "right")


@operation("a", "edges", "limits", "weights")
def _histogram(a: Any, edges: Any, limits: Any, weights: Any, bins: int, density: bool) -> Any:
    x = ravel(_core.asarray(a))
    x = x if x.dtype_name.startswith("float") else x.cast_to("float64")
    if edges is None:
        low, high = (smallest(x), largest(x)) if limits is None else limits
        low, high = _core.asarray(low), _core.asarray(high)
        # As numpy has it where all elements are equal.
        low, high = where(low == high, low - 0.5, low), where(low == high, high + 0.5, high)
        bounds = low + (high - low) * (np.arange(bins + 1) / bins)
    else:
        bounds = _core.asarray(edges)
        bins = bounds.size - 1
    place = searchsorted(bounds, x, side="right") - 1
    # The last bin has its upper bound; what is outside is in none.
    place = where(x == bounds[-1], bins - 1, place)
    place = where(x > bounds[-1], -1, place)
    each = np.ones(x.size, np.int64) if weights is None else ravel(weights)
    counts = lib.segment_sum(each, place, bins)
    if density:
        counts = counts / (sum(counts) * (bounds[1:] - bounds[:-1]))
    return counts, bounds


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002
    weights: Any = None,
    density: bool = False,
) -> tuple[Any, Any]:
    """How many elements lie in each bin, and the bounds of the bins: so many, or with these bounds.

    >>> histogram(np.array([0.1, 0.2, 0.9]), bins=2, range=(0.0, 1.0))[0]
    array([2, 1])
    """
    many = isinstance(bins, int)
    edges, count = (None, bins) if many else (bins, 0)
    made: tuple[Any, Any] = _histogram(a, edges, range, weights, bins=count, density=density)
    return made


def _aligned(p: Any, q: Any) -> tuple[Any, Any]:
    a, b = _core.asarray(p), _core.asarray(q)
    size = max(a.size, b.size)
    return pad(a, (size - a.size, 0)), pad(b, (size - b.size, 0))


@operation("a1", "a2")
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials, by coefficients from the highest power down.

    >>> polyadd(np.array([1.0, 2.0]), np.array([1.0]))
    array([1., 3.])
    """
    a, b = _aligned(a1, a2)
    return a + b


@operation("a1", "a2")
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> polysub(np.array([1.0, 2.0]), np.array([1.0]))
    array([1., 1.])
    """
    a, b = _aligned(a1, a2)
    return a - b


@operation("a1", "a2")
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials.

    >>> polymul(np.array([1.0, 1.0]), np.array([1.0, -1.0]))
    array([ 1.,  0., -1.])
    """
    return convolve(a1, a2)


@operation("p")
def polyder(p: Any, m: int = 1) -> Any:
    """The derivative of a polynomial, ``m`` times.

    >>> polyder(np.array([1.0, 2.0, 3.0]))
    array([2., 2.])
    """
    x = _core.asarray(p)
    for _ in range(m):
        x = x[:-1] * np.arange(x.size - 1, 0, -1)
    return x


@operation("p")
def polyint(p: Any, m: int = 1) -> Any:
    """The integral of a polynomial, ``m`` times, 0 at 0.

    >>> polyint(np.array([2.0, 2.0]))
    array([1., 2., 0.])
    """
    x = _core.asarray(p)
    for _ in range(m):
        x = pad(x / np.arange(x.size, 0, -1), (0, 1))
    return x


@operation("x")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each element, a row for each, from the highest down.

    >>> vander(np.array([2.0, 3.0]), 3)
    array([[4., 2., 1.],
           [9., 3., 1.]])
    """
    values = _core.asarray(x)
    count = values.size if N is None else N
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return stack([values**n for n in powers], 1)


bartlett = known_by_numpy("bartlett", "The triangular window of so many samples.")
blackman = known_by_numpy("blackman", "The window of Blackman.")
hamming = known_by_numpy("hamming", "The window of Hamming.")
hanning = known_by_numpy("hanning", "The window of von Hann.")
kaiser = known_by_numpy("kaiser", "The window of Kaiser.")


@operation("x", "y", "w")
def polyfit(x: Any, y: Any, deg: int, w: Any = None) -> Any:
    """The polynomial of a degree with the least sum of squared differences at points, each with its
    weight; the highest power first.

    >>> polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1).round(6)
    array([2., 1.])
    """
    powers = vander(x, deg + 1)
    sides = _core.asarray(y)
    if w is not None:
        weights = _core.asarray(w)
        powers = powers * weights[:, None]
        sides = sides * (weights if sides.ndim == 1 else weights[:, None])
    # Columns of one length, as numpy has them: powers differ much in size.
    lengths = lib.norm(powers, [0], False, 2.0)
    solution = row("lstsq", a=powers / lengths, b=sides)
    return solution / (lengths if sides.ndim == 1 else lengths[:, None])

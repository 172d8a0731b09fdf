"""Random numbers by keys: the same key gives the same numbers, on every machine and thread, inside of
traced functions and outside.

>>> import cotan as ct
>>> key, other = ct.random.split(ct.random.key(0))
>>> ct.random.normal(key, (2, 3)).shape
(2, 3)

A key is an int64 array of two elements; pass it to a traced function as an argument. A key that is
part of the function gives the same numbers in every call.

>>> @ct.jit
... def dropout(key, x):
...     return ct.where(ct.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0)
>>> dropout(key, np.ones(3)).shape
(3,)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core, _philox
from . import numpy as cnp
from ._control import fori_loop, while_loop
from ._core import Array, lib
from ._errors import make
from ._operation import operation, shape_of
from ._philox import expect_key

__all__ = [
    "PRNGKey",
    "bernoulli",
    "beta",
    "categorical",
    "cauchy",
    "choice",
    "dirichlet",
    "exponential",
    "fold_in",
    "gamma",
    "gumbel",
    "key",
    "laplace",
    "logistic",
    "lognormal",
    "multivariate_normal",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
]

Shape = int | Sequence[int]

# How often a draw by rejection is tried. Every try succeeds with a probability above one half, so the
# last is never reached.
_ATTEMPTS = 120


def key(seed: int) -> np.ndarray[Any, Any]:
    """The key of a seed, an int64 array of two elements.

    >>> key(7)
    array([7, 0])
    """
    return np.array([seed % (1 << 64), 0], np.uint64).view(np.int64)


PRNGKey = key


@operation("key")
def split(key: Any, num: int = 2) -> Any:
    """Keys that have nothing to do with each other, nor with the one they are made of: an array with
    one in each row.

    >>> split(key(0), 3).shape
    (3, 2)
    """
    return _philox.child(expect_key(key), _philox.SPLIT, lib.iota(num))


@operation("key", "data")
def fold_in(key: Any, data: Any) -> Any:
    """The key with this number: of a step, a layer, an epoch.

    >>> fold_in(key(0), 7).shape
    (2,)
    """
    number = _core.asarray(data)
    low = _philox.child(expect_key(key), _philox.FOLD, number & 0xFFFF_FFFF)
    return _philox.child(low, _philox.FOLD, _philox.shifted(number, 32))


def _shaped(values: Array, shape: Any, dtype: Any) -> Array:
    """The numbers in a shape and in a float type."""
    made: Array = lib.reshape(values, shape_of(shape))
    return made.cast_to(_float_name(dtype))


def _float_name(dtype: Any) -> str:
    name: str = np.dtype(dtype).name
    if name in ("float32", "float64"):
        return name
    raise make("ArrayTypeError", "random", f"random numbers of {name}", "float32 and float64 are")


def _refused(name: str, message: str, hint: str) -> Exception:
    return make("ArrayTypeError", name, message, hint)


def uniform(
    key: Any, shape: Shape = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Uniform from ``minval`` to before ``maxval``, which may be traced.

    >>> x = uniform(key(3), (1000,))
    >>> bool((0 <= x).all() and (x < 1).all() and abs(x.mean() - 0.5) < 0.05)
    True
    """
    if isinstance(minval, (int, float)) and isinstance(maxval, (int, float)):
        if not (minval < maxval and math.isfinite(maxval - minval)):
            message = f"no numbers lie from {minval} to {maxval}"
            raise _refused("uniform", message, "minval must be below maxval, both finite")
    return _uniform(key, shape, dtype, minval, maxval)


@operation("key", "minval", "maxval")
def _uniform(key: Any, shape: Any, dtype: Any, minval: Any, maxval: Any) -> Any:
    name = _float_name(dtype)
    digits = 24 if name == "float32" else 53
    share = _philox.unit(_philox.bits(expect_key(key), math.prod(shape_of(shape))), digits)
    low, high = (_core.asarray(x).cast_to("float64") for x in (minval, maxval))
    drawn = (low + (high - low) * lib.reshape(share, shape_of(shape))).cast_to(name)
    # Rounding may have reached the bound.
    return cnp.where(drawn < high.cast_to(name), drawn, low.cast_to(name))


def _normal_pair(both: tuple[Array, Array]) -> tuple[Array, Array]:
    """The method of Box and Muller."""
    radius = cnp.sqrt(-2.0 * cnp.log(_philox.positive_unit(both[0])))
    angle = math.tau * _philox.unit(both[1])
    return radius * cnp.cos(angle), radius * cnp.sin(angle)


def _normals(key: Array, attempt: Any, count: int) -> Array:
    pairs = _philox.pair(key, attempt, lib.iota((count + 1) // 2))
    return _philox.by_twos(_normal_pair(pairs), count)


@operation("key")
def normal(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Normal, with mean 0 and variance 1.

    >>> normal(key(0), (2, 3)).shape
    (2, 3)
    """
    return _shaped(_normals(expect_key(key), 0, math.prod(shape_of(shape))), shape, dtype)


def _until_accepted(count: int, draw: Callable[[Any], tuple[Array, Array]]) -> Array:
    """For each element the first draw that is accepted: ``draw(attempt)`` gives values, and where."""

    def again(state: Any) -> Any:
        attempt, _, accepted = state
        return (attempt < _ATTEMPTS) & ~cnp.all(accepted)

    def step(state: Any) -> Any:
        attempt, values, accepted = state
        drawn, good = draw(attempt)
        return attempt + 1, cnp.where(accepted, values, drawn), accepted | good

    values, accepted = draw(cnp.asarray(0))
    return while_loop(again, step, (cnp.asarray(1), values, accepted))[1]  # type: ignore[no-any-return]


@operation("key")
def truncated_normal(key: Any, shape: Shape = (), bound: float = 2.0, dtype: Any = float) -> Any:
    """Normal, between ``-bound`` and ``bound``, which is 1 at least.

    >>> bool((abs(truncated_normal(key(0), 100, 1.5)) <= 1.5).all())
    True
    """
    if not bound >= 1.0:
        hint = "numbers beyond the bound are drawn again: it must be 1 at least"
        raise _refused("truncated_normal", f"a bound of {bound}", hint)
    own, count = expect_key(key), math.prod(shape_of(shape))

    def draw(attempt: Any) -> tuple[Array, Array]:
        x = _normals(own, attempt, count)
        return x, abs(x) <= bound

    return _shaped(_until_accepted(count, draw), shape, dtype)


@operation("key")
def exponential(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Exponential, with mean 1.

    >>> bool((exponential(key(0), 100) > 0).all())
    True
    """
    drawn = _philox.bits(expect_key(key), math.prod(shape_of(shape)))
    return _shaped(-cnp.log(_philox.positive_unit(drawn)), shape, dtype)


def _open_units(key: Any, shape: Shape) -> Array:
    """Uniform numbers above 0 and below 1."""
    drawn = _philox.bits(expect_key(key), math.prod(shape_of(shape)))
    # The next number below 1 in place of 1.
    made: Array = cnp.minimum(_philox.positive_unit(drawn), 1.0 - 2.0**-53)
    return made


@operation("key")
def gumbel(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Of Gumbel's distribution: ``-log`` of exponential numbers.

    >>> gumbel(key(0), 3).shape
    (3,)
    """
    return _shaped(-cnp.log(-cnp.log(_open_units(key, shape))), shape, dtype)


@operation("key")
def logistic(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Of the logistic distribution.

    >>> logistic(key(0), 3).shape
    (3,)
    """
    u = _open_units(key, shape)
    return _shaped(cnp.log(u) - cnp.log1p(-u), shape, dtype)


@operation("key")
def laplace(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Of Laplace's distribution, with scale 1.

    >>> laplace(key(0), 3).shape
    (3,)
    """
    u = 2.0 * _open_units(key, shape) - 1.0
    return _shaped(-cnp.sign(u) * cnp.log1p(-abs(u)), shape, dtype)


@operation("key")
def cauchy(key: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Of Cauchy's distribution, with scale 1.

    >>> cauchy(key(0), 3).shape
    (3,)
    """
    return _shaped(cnp.tan(math.pi * (_open_units(key, shape) - 0.5)), shape, dtype)


@operation("key")
def rademacher(key: Any, shape: Shape = (), dtype: Any = int) -> Any:
    """-1 or 1, each as often.

    >>> bool((abs(rademacher(key(0), 100)) == 1).all())
    True
    """
    signs = cnp.where(bernoulli(key, 0.5, shape), 1, -1)
    return signs.astype(dtype)


@operation("key", "sigma")
def lognormal(key: Any, sigma: Any = 1.0, shape: Shape = (), dtype: Any = float) -> Any:
    """``exp(sigma * x)`` of normal ``x``.

    >>> bool((lognormal(key(0), 1.0, 100) > 0).all())
    True
    """
    return cnp.exp(sigma * normal(key, shape, dtype))


@operation("key", "mean", "cov")
def multivariate_normal(
    key: Any, mean: Any, cov: Any, shape: Shape = (), dtype: Any = float
) -> Any:
    """Normal vectors with this mean and covariance, whose derivatives pass through both.

    >>> x = multivariate_normal(key(0), np.zeros(2), np.array([[2.0, 1.0], [1.0, 2.0]]), (10000,))
    >>> cnp.cov(x.T).round(0)
    array([[2., 1.],
           [1., 2.]])
    """
    center = _core.asarray(mean)
    drawn = normal(key, (*shape_of(shape), center.shape[-1]), dtype)
    return center + drawn @ cnp.matrix_transpose(lib.cholesky(cov))


@operation("key")
def beta(key: Any, a: float, b: float, shape: Shape = (), dtype: Any = float) -> Any:
    """Of the beta distribution; its two shapes are numbers that are known.

    >>> beta(key(0), 2.0, 3.0, 4).shape
    (4,)
    """
    first, second = split(key)
    x, y = gamma(first, a, shape, dtype), gamma(second, b, shape, dtype)
    return x / (x + y)


@operation("key")
def dirichlet(key: Any, alpha: Any, shape: Shape = (), dtype: Any = float) -> Any:
    """Vectors of Dirichlet's distribution, by a list of numbers that are known.

    >>> round(float(dirichlet(key(0), (1.0, 2.0, 3.0)).sum()), 6)
    1.0
    """
    keys = split(key, len(alpha))
    parts = [gamma(keys[n], float(a), shape, dtype) for n, a in enumerate(alpha)]
    drawn = cnp.stack(parts, axis=-1)
    return drawn / drawn.sum(axis=-1, keepdims=True)


@operation("key")
def gamma(key: Any, a: float, shape: Shape = (), dtype: Any = float) -> Any:
    """Gamma, with shape ``a``, a number that is known, and scale 1: the method of Marsaglia and Tsang
    (*A Simple Method for Generating Gamma Variables*, 2000).

    >>> bool((gamma(key(0), 2.0, 100) > 0).all())
    True
    """
    if not (a > 0.0 and math.isfinite(a)):
        raise _refused("gamma", f"a shape of {a}", "it must be above 0, and finite")
    own, count = expect_key(key), math.prod(shape_of(shape))
    # Below 1: a number of shape a + 1, times u^(1 / a).
    d = (a + 1.0 if a < 1.0 else a) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    index = lib.iota(count)

    def draw(attempt: Any) -> tuple[Array, Array]:
        x = _normal_pair(_philox.pair(own, 2 * attempt, index))[0]
        u = _philox.positive_unit(_philox.pair(own, 2 * attempt + 1, index)[0])
        cube = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x)
        inside = cube > 0.0
        log = cnp.log(cnp.where(inside, cube, 1.0))
        return d * cube, inside & (cnp.log(u) < 0.5 * x * x + d * (1.0 - cube + log))

    drawn = _until_accepted(count, draw)
    if a < 1.0:
        u = _philox.positive_unit(_philox.pair(own, 2 * _ATTEMPTS, index)[0])
        drawn = drawn * u ** (1.0 / a)
    return _shaped(drawn, shape, dtype)


def _below(key: Array, n: Any, count: int) -> Array:
    """Numbers below ``n``, each as likely as the others: the method of Lemire (*Fast Random Integer
    Generation in an Interval*, 2019), which draws again where a product would favour some."""
    n = _core.asarray(n)
    # 2^64 modulo n, without numbers of more than 63 bits.
    threshold = (2 * (((1 << 63) - 1) % n) + 2) % n
    index = lib.iota(count)

    def draw(attempt: Any) -> tuple[Array, Array]:
        first, second = _philox.pair(key, attempt, index)
        low, high = _philox.high_product(first, n)
        other_low, other_high = _philox.high_product(second, n)
        good, other_good = _philox.at_least(low, threshold), _philox.at_least(other_low, threshold)
        return cnp.where(good, high, other_high), good | other_good

    return _until_accepted(count, draw)


def randint(key: Any, shape: Shape, minval: Any, maxval: Any) -> Any:
    """Integers from ``minval`` to before ``maxval``, fewer than 2^62.

    >>> x = randint(key(1), (100,), 1, 7)
    >>> bool((1 <= x).all() and (x < 7).all())
    True
    """
    if isinstance(minval, int) and isinstance(maxval, int):
        if not 0 < maxval - minval < 1 << 62:
            message = f"integers from {minval} to before {maxval}"
            raise _refused("randint", message, "maxval must be above minval, by less than 2^62")
    return _randint(key, shape, minval, maxval)


@operation("key", "minval", "maxval")
def _randint(key: Any, shape: Any, minval: Any, maxval: Any) -> Any:
    low, high = _core.asarray(minval), _core.asarray(maxval)
    if low.shape or high.shape or "float" in low.dtype_name + high.dtype_name:
        raise _refused("randint", "bounds that are not integers", "map over arrays by `ct.vmap`")
    drawn = _below(expect_key(key), high - low, math.prod(shape_of(shape)))
    return lib.reshape(low + drawn, shape_of(shape))


@operation("key", "p")
def bernoulli(key: Any, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """True with probability ``p``, in the shape of ``p`` by default.

    >>> bernoulli(key(1), np.array([0.0, 1.0]))
    array([False,  True])
    """
    sizes = list(_core.asarray(p).shape) if shape is None else shape_of(shape)
    share = _philox.unit(_philox.bits(expect_key(key), math.prod(sizes)))
    return lib.reshape(share, sizes) < _core.asarray(p).cast_to("float64")


@operation("key", "logits")
def categorical(key: Any, logits: Any, axis: int = -1, shape: Shape | None = None) -> Any:
    """Positions along an axis, with probabilities in proportion to ``exp(logits)``; a shape, if given,
    ends in that of the logits without the axis.

    >>> categorical(key(0), np.array([-np.inf, 0.0]), shape=3)
    array([1, 1, 1])
    """
    logits = cnp.moveaxis(_core.asarray(logits).cast_to("float64"), axis, -1)
    sizes = list(logits.shape[:-1]) if shape is None else shape_of(shape)
    weights = cnp.exp(logits - cnp.max(logits, axis=-1, keepdims=True))
    return _positions(expect_key(key), weights, sizes)


def _positions(key: Array, weights: Array, sizes: list[int]) -> Array:
    """Positions along the last axis of weights."""
    share = lib.reshape(_philox.unit(_philox.bits(key, math.prod(sizes))), sizes)
    sums = cnp.cumsum(weights, axis=-1)
    passed = cnp.count_nonzero(sums <= (share * sums[..., -1])[..., None], axis=-1)
    # The last that can be drawn, should rounding reach the total.
    last = weights.shape[-1] - 1 - cnp.argmax(cnp.flip(weights > 0.0, -1), axis=-1)
    return cnp.minimum(passed, last)  # type: ignore[no-any-return]


def permutation(key: Any, x: Any) -> Any:
    """The numbers from 0 to before ``x`` in random order, or the parts of an array along its first axis.

    >>> sorted(permutation(key(1), 4).tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, (int, np.integer)):
        return _order(key, int(x))
    return cnp.take(x, _order(key, len(x)), axis=0)


@operation("key")
def _order(key: Any, n: int) -> Any:
    """The shuffle of Fisher and Yates."""
    others = _below(expect_key(key), lib.iota(n) + 1, n)

    def swap(k: Any, order: Array) -> Array:
        place = n - 1 - k
        other = others[place]
        here, there = order[place], order[other]
        return order.at[place].set(there).at[other].set(here)

    return fori_loop(0, max(n - 1, 0), swap, lib.iota(n))


def choice(key: Any, a: Any, shape: Shape = (), replace: bool = True, p: Any = None) -> Any:
    """Elements along the first axis of ``a``, or numbers below it: with replacement by the
    probabilities ``p``, or all alike; or without replacement, all alike.

    >>> choice(key(0), np.array([3.0, 5.0]), (3,), p=np.array([0.0, 1.0]))
    array([5., 5., 5.])
    """
    count = int(a) if isinstance(a, (int, np.integer)) else len(a)
    wanted = math.prod(shape_of(shape))
    if not replace:
        if p is not None or wanted > count:
            message = "a choice without replacement " + (
                "by probabilities" if p is not None else f"of {wanted} among {count}"
            )
            raise _refused("choice", message, "write `replace=True`")
        at = cnp.reshape(_order(key, count)[:wanted], shape)
    elif p is None:
        at = randint(key, shape, 0, count)
    else:
        at = _chosen(key, p, shape)
    return at if isinstance(a, (int, np.integer)) else cnp.take(a, at, axis=0)


@operation("key", "p")
def _chosen(key: Any, p: Any, shape: Any) -> Any:
    weights = _core.asarray(p).cast_to("float64")
    return _positions(expect_key(key), weights, shape_of(shape))

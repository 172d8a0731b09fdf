"""Random numbers by keys: the same key gives the same numbers, on every machine and thread.

>>> import cotan as ct
>>> key, other = ct.random.split(ct.random.key(0))
>>> ct.random.normal(key, (2, 3)).shape
(2, 3)

Random numbers are made outside of traced functions, and passed to them as arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._core import Key, is_tracing
from ._errors import make
from ._operation import sizes_of

__all__ = [
    "Key",
    "bernoulli",
    "categorical",
    "exponential",
    "fold_in",
    "gamma",
    "key",
    "normal",
    "permutation",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
]

Shape = int | Sequence[int]


def _outside(name: str) -> None:
    if is_tracing():
        message = "random numbers inside a traced function would be the same in every call"
        raise make("ScopeError", name, message, "draw them outside, and pass them as an argument")


def _single(dtype: Any) -> bool:
    return bool(np.dtype(dtype) == np.float32)


def key(seed: int) -> Key:
    """The key of a seed."""
    return Key(seed % (1 << 64))


def split(key: Key, num: int = 2) -> list[Key]:
    """Keys that have nothing to do with each other, nor with the one they are made of."""
    return key.split(num)


def fold_in(key: Key, data: int) -> Key:
    """The key with this number."""
    return key.fold_in(data)


def uniform(
    key: Key, shape: Shape = (), dtype: Any = float, minval: float = 0.0, maxval: float = 1.0
) -> Any:
    """Uniform on an interval.

    >>> x = uniform(key(3), (1000,))
    >>> bool((0 <= x).all() and (x < 1).all() and abs(x.mean() - 0.5) < 0.05)
    True
    """
    _outside("uniform")
    return key.uniform(sizes_of(shape), minval, maxval, _single(dtype))


def normal(key: Key, shape: Shape = (), dtype: Any = float) -> Any:
    """Normal, with mean 0 and variance 1."""
    _outside("normal")
    return key.normal(sizes_of(shape), _single(dtype))


def truncated_normal(key: Key, shape: Shape = (), bound: float = 2.0, dtype: Any = float) -> Any:
    """Normal, between ``-bound`` and ``bound``."""
    _outside("truncated_normal")
    return key.truncated_normal(sizes_of(shape), bound, _single(dtype))


def exponential(key: Key, shape: Shape = (), dtype: Any = float) -> Any:
    """Exponential, with mean 1."""
    _outside("exponential")
    return key.exponential(sizes_of(shape), _single(dtype))


def gamma(key: Key, a: float, shape: Shape = (), dtype: Any = float) -> Any:
    """Gamma, with shape ``a`` and scale 1."""
    _outside("gamma")
    return key.gamma(sizes_of(shape), a, _single(dtype))


def randint(key: Key, shape: Shape, minval: int, maxval: int) -> Any:
    """Integers from ``minval`` to before ``maxval``."""
    _outside("randint")
    return key.integers(sizes_of(shape), minval, maxval)


def bernoulli(key: Key, p: float = 0.5, shape: Shape = ()) -> Any:
    """True with probability ``p``."""
    _outside("bernoulli")
    return key.bernoulli(sizes_of(shape), p)


def categorical(key: Key, weights: Sequence[float], shape: Shape = ()) -> Any:
    """Positions, with probabilities in proportion to weights."""
    _outside("categorical")
    return key.categorical(sizes_of(shape), list(map(float, weights)))


def permutation(key: Key, n: int) -> Any:
    """The numbers from 0 to before ``n`` in random order.

    >>> sorted(permutation(key(1), 4).tolist())
    [0, 1, 2, 3]
    """
    _outside("permutation")
    return key.permutation(n)

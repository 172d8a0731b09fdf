"""Random bits inside traced functions: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, *Parallel Random
Numbers: As Easy as 1, 2, 3*, 2011), of which every block follows from a key and a number alone.

Keys and blocks are those of the library in Rust, so the same key gives the same numbers in both. Words
of 32 bits are kept in int64, whose products wrap.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Array, lib, scalar
from ._errors import make

_MASK = 0xFFFF_FFFF
_MULTIPLIERS = (0xD251_1F53, 0xCD9E_8D57)
# The golden ratio and the square root of 3, less 1, as fractions of 2^32.
_WEYL = (0x9E37_79B9, 0xBB67_AE85)
_ROUNDS = 10

# What a block is for: the blocks of different purposes are different ones.
DRAW, SPLIT, FOLD = 0, 1, 2


def shifted(x: Any, bits: int) -> Array:
    """``x >> bits`` of a number without sign."""
    return scalar("shift_right_zero", "int", [x, bits])


def _halves(x: Array) -> tuple[Array, Array]:
    return x & _MASK, shifted(x, 32)


def _joined(low: Array, high: Array) -> Array:
    return low | (high << 32)


def expect_key(key: Any) -> Array:
    """A key as a traced array."""
    array = _core.asarray(key)
    if array.dtype_name == "int64" and array.shape == (2,):
        return array
    message = f"an array of {array.dtype_name} with the shape {array.shape} is not a key"
    hint = (
        "ct.random.key(seed) makes one, `split` more of it; for many keys at once write `ct.vmap`"
    )
    raise make("ArrayTypeError", "random", message, hint)


def block(key: Array, purpose: int, attempt: Any, index: Any) -> tuple[Array, ...]:
    """The four words of a key for an index below 2^48."""
    (a, high), (c, d) = _halves(_core.asarray(index)), _halves(key[1])
    b = (high & 0xFFFF) + (_core.asarray(attempt) << 16) + (purpose << 24)
    left, right = _halves(key[0])
    for _ in range(_ROUNDS):
        low0, high0 = _halves(a * _MULTIPLIERS[0])
        low1, high1 = _halves(c * _MULTIPLIERS[1])
        a, b, c, d = high1 ^ b ^ left, low1, high0 ^ d ^ right, low0
        left, right = (left + _WEYL[0]) & _MASK, (right + _WEYL[1]) & _MASK
    return a, b, c, d


def child(key: Array, purpose: int, index: Any) -> Array:
    """The key, or keys, of a number: an array whose last axis has size 2."""
    a, b, c, d = block(key, purpose, 0, index)
    made: Array = lib.stack([_joined(a, b), _joined(c, d)], -1)
    return made


def pair(key: Array, attempt: Any, index: Any) -> tuple[Array, Array]:
    """Two random numbers of 64 bits for each index."""
    a, b, c, d = block(key, DRAW, attempt, index)
    return _joined(b, a), _joined(d, c)


def by_twos(both: tuple[Array, Array], count: int) -> Array:
    """The first ``count`` of the numbers that come in pairs."""
    first, second = both
    made: Array = lib.reshape(lib.stack([first, second], -1), [2 * first.size])
    return made[:count]


def bits(key: Array, count: int) -> Array:
    """64 random bits for each of so many elements; two of them share a block."""
    return by_twos(pair(key, 0, lib.iota((count + 1) // 2)), count)


def unit(x: Array, digits: int = 53) -> Array:
    """From 0 to before 1, with so many binary digits."""
    return shifted(x, 64 - digits).cast_to("float64") * 2.0**-digits


def positive_unit(x: Array) -> Array:
    """From above 0 to 1."""
    return (shifted(x, 11) + 1).cast_to("float64") * 2.0**-53


def high_product(x: Array, n: Array) -> tuple[Array, Array]:
    """The product of two numbers of 64 bits without sign: its low and its high half."""
    (x_low, x_high), (n_low, n_high) = _halves(x), _halves(n)
    low, cross, other = x_low * n_low, x_high * n_low, x_low * n_high
    carried = shifted(low, 32) + (cross & _MASK) + (other & _MASK)
    high = x_high * n_high + shifted(cross, 32) + shifted(other, 32) + shifted(carried, 32)
    return x * n, high


def at_least(x: Array, bound: Array) -> Array:
    """``x >= bound`` of numbers without sign."""
    lowest = -(1 << 63)
    return (x ^ lowest) >= (bound ^ lowest)

"""64-bit numbers, for bounds above 2^31, on NumPy's or CuPy's arrays."""

from types import ModuleType
from typing import Any

from sketchbench.kernels import Array

_LOW = 2**32 - 1


def times_wide(words: Array, bound: int) -> Array:
    """⌊word bound / 2^64⌋ for 64-bit words, uint64: int64. It is exact, by halves of words."""
    kind = words.dtype.type
    half, low, upper, lower = kind(32), kind(_LOW), kind(bound >> 32), kind(bound & _LOW)
    middle = (words >> half) * lower + ((words & low) * lower >> half)
    carry = ((words & low) * upper + (middle & low)) >> half
    return ((words >> half) * upper + (middle >> half) + carry).astype("int64")


def distinct_wide(xp: ModuleType, words: Array, b: int) -> Any:
    """`Kernels.distinct` for b > 2^31 and 64-bit words, uint64 (T, s, d): int64 (T, s, d)."""
    s = words.shape[-2]
    sample = xp.empty(words.shape, dtype="int64")
    for r in range(s):
        last = b - s + r
        draw = times_wide(words[..., r, :], last + 1)
        repeated = (sample[..., :r, :] == draw[..., None, :]).any(axis=-2)
        sample[..., r, :] = xp.where(repeated, last, draw)
    return sample

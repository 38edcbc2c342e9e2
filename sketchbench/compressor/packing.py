"""Small integers, packed several to a byte."""

import functools
import math
from typing import Any

import numpy as np

from sketchbench.kernels import Array

DIGITS = {2: 8, 3: 5}  # digits in a byte, by base


def packed_nbytes(count: int, base: int) -> int:
    """Bytes of `count` packed digits."""
    return math.ceil(count / DIGITS[base])


def pack(xp: Any, digits: Array, base: int) -> Array:
    """Pack digits of base 2 or 3, uint8 (..., n), into bytes (..., ⌈n/8⌉ or ⌈n/5⌉), the first digit lowest."""
    places = DIGITS[base]
    shape = (*digits.shape[:-1], packed_nbytes(digits.shape[-1], base))
    out = xp.zeros(shape, dtype="uint8")
    for place in range(places):
        part = digits[..., place::places]
        out[..., : part.shape[-1]] += part * xp.uint8(base**place)
    return out


def unpack(xp: Any, sent: Array, base: int, count: int) -> Array:
    """Unpack bytes (..., m) into their first `count` digits, uint8 (..., count)."""
    digits = xp.asarray(_table(base))[sent]
    return digits.reshape(*sent.shape[:-1], -1)[..., :count]


@functools.cache
def _table(base: int) -> Any:
    """The digits of each of the 256 bytes, uint8 (256, digits)."""
    values = np.arange(256)[:, None] // base ** np.arange(DIGITS[base])
    return (values % base).astype(np.uint8)


def to_bits(xp: Any, numbers: Array, width: int) -> Array:
    """The bits of numbers below 2^width, the lowest first: from uint16 (..., n) to uint8 (..., n * width)."""
    places = xp.arange(width, dtype="uint16")
    return (numbers[..., None] >> places & xp.uint16(1)).astype("uint8").reshape(*numbers.shape[:-1], -1)


def from_bits(xp: Any, bits: Array, width: int) -> Array:
    """The numbers of these bits, as `to_bits` orders them: from uint8 (..., n * width) to uint16 (..., n)."""
    weights = xp.left_shift(xp.uint16(1), xp.arange(width, dtype="uint16"))
    return (bits.reshape(*bits.shape[:-1], -1, width) * weights).sum(axis=-1, dtype="uint16")

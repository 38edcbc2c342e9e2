"""Small integers, packed several to a byte."""

import math
from typing import Any

import numpy as np

from sketchbench.kernels import Array

DIGITS = {2: 8, 3: 5}  # digits in a byte, by base
TERNARY = (np.arange(3**5)[:, None] // 3 ** np.arange(5) % 3).astype(np.uint8)  # the digits of each byte


def packed_nbytes(count: int, base: int) -> int:
    """Bytes of `count` packed digits; ValueError for a base other than 2 or 3."""
    return math.ceil(count / _digits(base))


def pack(xp: Any, digits: Array, base: int) -> Array:
    """Pack digits of base 2 or 3, uint8 (..., n), into bytes (..., ⌈n/8⌉ or ⌈n/5⌉), the first digit lowest.

    Raises TypeError for digits of another type, and ValueError for another base, or a digit that is not below it.
    """
    places = _digits(base)
    _check("digit", digits, "uint8", base, "the base, ")
    count = packed_nbytes(digits.shape[-1], base)
    whole = digits
    if count * places > digits.shape[-1]:
        whole = xp.zeros((*digits.shape[:-1], count * places), dtype="uint8")
        whole[..., : digits.shape[-1]] = digits
    if base == 2:
        return xp.packbits(whole, bitorder="little").reshape(*digits.shape[:-1], count)
    out = whole[..., places - 1 :: places].copy()
    for place in reversed(range(places - 1)):
        out *= xp.uint8(base)
        out += whole[..., place::places]
    return out


def unpack(xp: Any, sent: Array, base: int, count: int) -> Array:
    """Unpack bytes (..., m) into their first `count` digits, uint8 (..., count).

    Raises TypeError for anything but bytes, and ValueError for another base, a byte without digits of the base, or too
    few digits.
    """
    places = _digits(base)
    _check("byte", sent, "uint8", base**places, "")
    if not 0 <= count <= places * sent.shape[-1]:
        raise ValueError(
            f"count={count} must be from 0 to {places * sent.shape[-1]}, the digits of {sent.shape[-1]} bytes"
        )
    if base == 2:
        return xp.unpackbits(sent, bitorder="little").reshape(*sent.shape[:-1], -1)[..., :count]
    digits = xp.take(xp.asarray(TERNARY), sent, axis=0)
    return digits.reshape(*sent.shape[:-1], -1)[..., :count]


def to_bits(xp: Any, numbers: Array, width: int) -> Array:
    """Return the bits of numbers below 2^width, the lowest first: from uint16 (..., n) to uint8 (..., n * width).

    Raises TypeError for another type, and ValueError for a width outside 1 to 16, or a number with more bits.
    """
    _check_width(width)
    _check("number", numbers, "uint16", 2**width, "")
    bits = xp.empty((*numbers.shape, width), dtype="uint8")
    for place in range(width):  # a whole array at a time: short rows would take longer
        bits[..., place] = numbers >> xp.uint16(place) & xp.uint16(1)
    return bits.reshape(*numbers.shape[:-1], -1)


def from_bits(xp: Any, bits: Array, width: int) -> Array:
    """Return the numbers of these bits, as `to_bits` orders them: from uint8 (..., n * width) to uint16 (..., n).

    Raises TypeError for another type, and ValueError for a width outside 1 to 16, a bit above 1, or part of a number.
    """
    _check_width(width)
    _check("bit", bits, "uint8", 2, "")
    if bits.shape[-1] % width:
        raise ValueError(f"{bits.shape[-1]} bits must be a multiple of width={width}")
    rows = bits.reshape(*bits.shape[:-1], -1, width)
    numbers = rows[..., width - 1].astype("uint16")
    for place in reversed(range(width - 1)):
        numbers <<= xp.uint16(1)
        numbers |= rows[..., place]
    return numbers


def _digits(base: int) -> int:
    """Digits in a byte."""
    if base not in DIGITS:
        raise ValueError(f"base={base} must be 2 or 3")
    return DIGITS[base]


def _check_width(width: int) -> None:
    if not 1 <= width <= 16:
        raise ValueError(f"width={width} must be from 1 to 16")


def _check(name: str, numbers: Array, dtype: str, bound: int, what: str) -> None:
    """Raise TypeError for numbers of another type, and ValueError for one that is not below the bound."""
    if numbers.dtype != dtype:
        raise TypeError(f"{name}s of dtype {numbers.dtype} must be {dtype}")
    if numbers.size and bound <= np.iinfo(dtype).max and int(numbers.max()) >= bound:
        raise ValueError(f"{name} {int(numbers.max())} must be below {what}{bound}")

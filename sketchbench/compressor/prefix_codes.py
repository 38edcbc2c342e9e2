"""Codes of variable length: Elias' gamma code of integers (1975), and Rice's code of ascending places (1971).

A code word is a number in unary, and as many low bits as it says or as are fixed. All unary parts come first, then all
low bits, and then signs, so that whole arrays are coded and decoded at once; the bits are as many as side by side.
"""

from typing import Any

from sketchbench.kernels import Array


def gamma_lengths(xp: Any, magnitudes: Array) -> Array:
    """The bits of each signed integer, from its magnitude L: 2⌊log₂(L + 1)⌋ + 1, and 1 for the sign if L > 0."""
    return 2 * _exponents(xp, magnitudes + 1) + 1 + (magnitudes > 0)


def encode_gamma(xp: Any, levels: Array) -> Array:
    """The bits, uint8, of signed integers (d,): Elias' gamma code of each magnitude plus 1, and signs of others
    than 0."""
    numbers = abs(levels.astype("int64")) + 1
    exponents = _exponents(xp, numbers)
    owners, places = _low_places(xp, exponents)
    low = (numbers[owners] >> places & 1).astype("uint8")
    return xp.concatenate([_unary(xp, exponents), low, (levels[levels != 0] < 0).astype("uint8")])


def decode_gamma(xp: Any, bits: Array, count: int) -> Array:
    """The `count` integers, int64, whose bits come first."""
    exponents, first = _from_unary(xp, bits, count)
    owners, places = _low_places(xp, exponents)
    last = first + len(owners)
    if last > len(bits):
        raise ValueError(f"{len(bits)} bits should be at least {last} by their unary part: invalid code")
    low = bits[first:last].astype("int64") << places
    levels = (1 << exponents) + _sums(xp, low, exponents) - 1
    nonzero = xp.flatnonzero(levels)
    if last + len(nonzero) > len(bits):
        raise ValueError(f"{len(bits)} bits should be {last + len(nonzero)} with {len(nonzero)} signs: invalid code")
    levels[nonzero] *= 1 - 2 * bits[last : last + len(nonzero)].astype("int64")
    return levels


def rice_bits(count: int, d: int, width: int) -> int:
    """The most bits of `count` ascending places of d, with so many low bits of each gap."""
    return count * (1 + width) + (d - count >> width)


def encode_rice(xp: Any, places: Array, width: int) -> Array:
    """The bits, uint8, of ascending places (k,): of each the gap to the one before, the low bits apart."""
    gaps = xp.diff(places.astype("int64"), prepend=-1) - 1
    low = gaps[:, None] >> xp.arange(width) & 1
    return xp.concatenate([_unary(xp, gaps >> width), low.ravel().astype("uint8")])


def decode_rice(xp: Any, bits: Array, count: int, width: int) -> Array:
    """The `count` places, int64, whose bits come first."""
    high, first = _from_unary(xp, bits, count)
    if first + count * width > len(bits):
        raise ValueError(
            f"{len(bits)} bits should be at least {first + count * width} by their unary part: invalid code"
        )
    low = bits[first : first + count * width].reshape(count, width).astype("int64") << xp.arange(width)
    return xp.cumsum((high << width) + low.sum(axis=1) + 1) - 1


def _exponents(xp: Any, numbers: Array) -> Array:
    """⌊log₂ n⌋ of integers below 2^53."""
    return xp.frexp(numbers.astype("float64"))[1].astype("int64") - 1


def _unary(xp: Any, numbers: Array) -> Array:
    """Encode each number n as n zeros and a one."""
    ends = xp.cumsum(numbers + 1) - 1
    bits = xp.zeros(int(ends[-1]) + 1, dtype="uint8")
    bits[ends] = 1
    return bits


def _from_unary(xp: Any, bits: Array, count: int) -> tuple[Array, int]:
    """The first `count` numbers in unary, and the number of their bits; ValueError where there are fewer."""
    ends = xp.flatnonzero(bits)[:count]
    if len(ends) < count:
        raise ValueError(f"invalid code: {len(ends)} numbers in {len(bits)} bits, expected {count}")
    return xp.diff(ends, prepend=-1) - 1, int(ends[-1]) + 1


def _low_places(xp: Any, exponents: Array) -> tuple[Array, Array]:
    """The number that each low bit belongs to, and its place there."""
    ends, having = xp.cumsum(exponents), xp.flatnonzero(exponents)
    starts, owners = ends - exponents, xp.zeros(int(ends[-1]), dtype="int64")
    owners[starts[having]] = xp.diff(having, prepend=0)
    owners = xp.cumsum(owners)
    return owners, xp.arange(len(owners)) - starts[owners]


def _sums(xp: Any, low: Array, exponents: Array) -> Array:
    """The sums of consecutive parts with these lengths."""
    ends = xp.cumsum(exponents)
    total = xp.concatenate([xp.zeros(1, dtype="int64"), xp.cumsum(low)])
    return total[ends] - total[ends - exponents]

"""Buckets and signs of hashing sketches: fully independent, or by the paper's hash functions."""

from typing import Literal, get_args

from sketchbench.base.parameters import choose
from sketchbench.kernels import PRIME, Array
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws
from sketchbench.sketch.sizes import require

Hashing = Literal["full", "polynomial", "logarithmic", "rows"]


def check_hashing(hashing: str, points: int, bound: int = 1) -> None:
    """Raise ValueError unless `hashing` is a `Hashing`; SizeError if its hash functions, other than `full`, have no
    values at so many points, or fewer than `bound`."""
    choose("hashing", hashing, get_args(Hashing))
    require(
        hashing == "full" or max(points, bound) <= PRIME,
        f"hashing={hashing} has hash functions from {PRIME} points to as many, not from {points} to {bound}; "
        "set hashing=full, or lower d or b",
    )


def logarithm(points: int) -> int:
    """⌈log₂ points⌉, but at least 4: the independence of `logarithmic` hashing (song2023, footnote to D.6)."""
    return max(4, (points - 1).bit_length())


def buckets(draws: Draws, hashing: Hashing, points: int, bound: int, blocks: int = 1) -> Array:
    """A bucket below `bound` for each of `points` items, `blocks` equal blocks one after another: int32 (T, points).
    Independent for `full`; 2-wise independent for `polynomial` (song2023 Definition D.5); `logarithm(points)`-wise for
    `logarithmic`; 2-wise within a block, and independent from block to block, for `rows`."""
    if hashing == "full":
        return draws.integers(BUCKETS, points, bound)
    functions = blocks if hashing == "rows" else 1
    independence = logarithm(points) if hashing == "logarithmic" else 2
    polynomials = draws.polynomials(BUCKETS, functions, independence)
    return draws.hash_integers(polynomials, points // functions, bound).reshape(-1, points)


def signs(draws: Draws, hashing: Hashing, points: int, blocks: int = 1) -> Array:
    """A sign for each of `points` items, int8 (T, points); as `buckets`, with 4-wise instead of 2-wise."""
    if hashing == "full":
        return draws.signs(SIGNS, points)
    functions = blocks if hashing == "rows" else 1
    independence = logarithm(points) if hashing == "logarithmic" else 4
    return draws.hash_signs(draws.polynomials(SIGNS, functions, independence), points // functions).reshape(-1, points)

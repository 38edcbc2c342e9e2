"""Buckets and signs of hashing sketches: fully independent, or by the hash functions of the paper."""

from typing import Literal, get_args

from sketchbench.kernels import PRIME, Array
from sketchbench.parameters import choose
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws
from sketchbench.sketch.sizes import require

Hashing = Literal["full", "polynomial", "logarithmic"]


def check_hashing(hashing: str, points: int, bound: int = 1) -> None:
    """Raise ValueError unless `hashing` is `full`, `polynomial` or `logarithmic`, and SizeError where hash functions of
    the last two have no values at so many points, or fewer than `bound`."""
    choose("hashing", hashing, get_args(Hashing))
    require(
        hashing == "full" or max(points, bound) <= PRIME,
        f"hashing={hashing} has hash functions from {PRIME} points to as many, not from {points} to {bound}; "
        "set hashing=full, or lower d or b",
    )


def logarithm(points: int) -> int:
    """⌈log₂ points⌉, but at least 4: the independence of `logarithmic` hashing (song2023, footnote to D.6)."""
    return max(4, (points - 1).bit_length())


def buckets(draws: Draws, hashing: Hashing, points: int, bound: int) -> Array:
    """A bucket below `bound` for each of `points` items, int32 (T, points).

    Independent for `full`; 2-wise independent for `polynomial` (song2023 Definition D.5); `logarithm(points)`-wise for
    `logarithmic`.
    """
    if hashing == "full":
        return draws.integers(BUCKETS, points, bound)
    independence = 2 if hashing == "polynomial" else logarithm(points)
    return draws.hash_integers(draws.polynomials(BUCKETS, 1, independence), points, bound)[:, 0]


def signs(draws: Draws, hashing: Hashing, points: int) -> Array:
    """A sign for each of `points` items, int8 (T, points).

    Independent for `full`; 4-wise independent for `polynomial` (song2023 Definition D.5); `logarithm(points)`-wise for
    `logarithmic`.
    """
    if hashing == "full":
        return draws.signs(SIGNS, points)
    independence = 4 if hashing == "polynomial" else logarithm(points)
    return draws.hash_signs(draws.polynomials(SIGNS, 1, independence), points)[:, 0]

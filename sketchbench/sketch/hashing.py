"""How a hashing sketch gets its buckets and signs: full randomness, or the paper's hash functions."""

from typing import Literal, get_args

from sketchbench.kernels import Array
from sketchbench.parameters import choose
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws

Hashing = Literal["full", "polynomial", "logarithmic"]


def check_hashing(hashing: str) -> None:
    """Raise ValueError for an unknown way of hashing."""
    choose("hashing", hashing, get_args(Hashing))


def logarithm(points: int) -> int:
    """⌈log₂ points⌉, but at least 4: the independence of `logarithmic` hashing (song2023, footnote to D.6)."""
    return max(4, (points - 1).bit_length())


def buckets(draws: Draws, hashing: Hashing, points: int, bound: int) -> Array:
    """Buckets of `points` items, int32 (T, points): independent, 2-wise (song2023 D.5), or `logarithm(points)`-wise."""
    if hashing == "full":
        return draws.integers(BUCKETS, points, bound)
    independence = 2 if hashing == "polynomial" else logarithm(points)
    return draws.hash_integers(draws.polynomials(BUCKETS, 1, independence), points, bound)[:, 0]


def signs(draws: Draws, hashing: Hashing, points: int) -> Array:
    """Signs of `points` items, int8 (T, points): independent, 4-wise (song2023 D.5), or `logarithm(points)`-wise."""
    if hashing == "full":
        return draws.signs(SIGNS, points)
    independence = 4 if hashing == "polynomial" else logarithm(points)
    return draws.hash_signs(draws.polynomials(SIGNS, 1, independence), points)[:, 0]

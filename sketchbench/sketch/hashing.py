"""How a hashing sketch gets its buckets and signs: full randomness, or the paper's hash functions."""

from typing import Literal, get_args

from sketchbench.kernels import Array
from sketchbench.parameters import choose
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws

Hashing = Literal["full", "polynomial"]


def check_hashing(hashing: str) -> None:
    """Raise ValueError for an unknown way of hashing."""
    choose("hashing", hashing, get_args(Hashing))


def buckets(draws: Draws, hashing: Hashing, points: int, bound: int) -> Array:
    """Buckets of `points` items, int32 (T, points): independent, or 2-wise (song2023 D.5)."""
    if hashing == "full":
        return draws.integers(BUCKETS, points, bound)
    return draws.hash_integers(draws.polynomials(BUCKETS, 1, 2), points, bound)[:, 0]


def signs(draws: Draws, hashing: Hashing, points: int) -> Array:
    """Signs of `points` items, int8 (T, points): independent, or 4-wise (song2023 D.5)."""
    if hashing == "full":
        return draws.signs(SIGNS, points)
    return draws.hash_signs(draws.polynomials(SIGNS, 1, 4), points)[:, 0]

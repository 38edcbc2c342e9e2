"""Exact tails of sketches whose hash functions are as independent as song2023 Definitions D.4, D.5 and D.7 ask, and no
more: over the field of n = 2^m elements, buckets are the last bits of a line a + cx (2-wise independent), and signs are
parities of the bits of (1, x, x³) under two masks (4-wise independent, the dual of a BCH code)."""

import math

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count, checked

Numbers = NDArray[np.float64]
MODULI = {1: 0b11, 2: 0b111, 3: 0b1011, 4: 0b10011}  # irreducible polynomials, by degree m


@checked
def product(x: int, y: int, m: Count) -> int:
    """The product of two elements of the field of 2^m elements, m <= 4."""
    found = 0
    for bit in range(m):
        found ^= (x << bit) if y >> bit & 1 else 0
    for bit in reversed(range(m, 2 * m - 1)):
        found ^= (MODULI[m] << (bit - m)) if found >> bit & 1 else 0
    return found


@checked
def all_signs(m: Count) -> Numbers:
    """All sign functions, (2 n², n): each is equally likely."""
    n = 2**m
    cubes = [product(x, product(x, x, m), m) for x in range(n)]
    odd = np.array(
        [
            [(one + (x & first).bit_count() + (cube & third).bit_count()) % 2 for x, cube in enumerate(cubes)]
            for one in (0, 1)
            for first in range(n)
            for third in range(n)
        ]
    )
    return np.asarray(1.0 - 2 * odd)


@checked
def all_buckets(m: Count, buckets: Count) -> NDArray[np.int64]:
    """All bucket functions, (n², n), for a power of 2 of buckets, at most n: each is equally likely."""
    n = 2**m
    if n % buckets:
        raise ValueError(f"buckets={buckets} must be a power of 2, and at most {n}")
    return np.array([[(product(c, x, m) ^ a) % buckets for x in range(n)] for c in range(n) for a in range(n)])


@checked
def count_sketch_errors(m: Count, buckets: Count, vector: Numbers) -> Numbers:
    """|‖Rg‖² - ‖g‖²| for g = `vector` (n,), in all 2n⁴ draws of a CountSketch with these functions: each is equally
    likely."""
    signed = all_signs(m) * vector
    sketches = (signed @ np.eye(buckets)[rows] for rows in all_buckets(m, buckets))
    return np.concatenate([abs((sketch**2).sum(axis=1) - vector @ vector) for sketch in sketches])


@checked
def constant_row(n: Count, b: Count) -> float:
    """The probability that some of the b rows of an AMS sketch of n columns is constant: both masks are 0. Then flat
    g = h errs by n/b - 1 at least."""
    return -math.expm1(b * math.log1p(-(n**-2)))


@checked
def alike(n: Count, s: Count) -> float:
    """The probability that a sparse embedding of s blocks has n equal columns: signs and rows of the ns pairs of column
    and block are constant in each block. Then flat g = h errs by n - 1."""
    return float(n * s) ** -3

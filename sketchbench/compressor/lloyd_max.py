"""The quantiser of normal numbers with the least squared error for its number of levels (Lloyd 1982, Max 1960)."""

import functools
import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MOST_BITS = 8
_CELLS = 2**14  # of a table, over which levels are looked up; 8 bits lose 0.05 % by them
_PASSES, _STEPS = 100, 6  # of Lloyd's algorithm, which is slow, and of Newton's method, which needs a good start


@functools.cache
def levels(bits: int) -> NDArray[np.float64]:
    """The 2^bits levels, ascending; 0 bits: the level 0. ValueError for more than 8 bits, or fewer than 0.

    Every level is the mean of the normal numbers next to it. A few passes of Lloyd's algorithm start from the best
    levels in the limit of many bits (Panter & Dite 1951); then Newton's method follows.
    """
    if not 0 <= bits <= MOST_BITS:
        raise ValueError(f"bits={bits} must be from 0 to {MOST_BITS}")
    count = 2**bits
    found = np.array([3**0.5 * NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)])
    for _ in range(_PASSES):
        edges, mass = _cells(found)
        found = -np.diff(_density(edges)) / mass
    for _ in range(_STEPS):
        edges, mass = _cells(found)
        density, inner = _density(edges), np.where(np.isfinite(edges), edges, 0)
        off = found * mass + np.diff(density)  # 0 where a level is the mean of its numbers
        slopes = np.diag(mass + (found * np.diff(density) - np.diff(inner * density)) / 2)
        above, below = (found - inner[1:]) * density[1:] / 2, (inner[:-1] - found) * density[:-1] / 2
        found = found - np.linalg.solve(slopes + np.diag(above[:-1], 1) + np.diag(below[1:], -1), off)
    symmetric: NDArray[np.float64] = (found - found[::-1]) / 2
    return symmetric


@functools.cache
def distortion(bits: int) -> float:
    """E(z - level(z))² of a standard normal z: 1 - E level(z)², as levels are means. 1, 0.3634, 0.1175, 0.0345, ..."""
    found = levels(bits)
    return float(1 - (_cells(found)[1] * found**2).sum())


@functools.cache
def table(bits: int) -> tuple[float, NDArray[np.uint8]]:
    """The numbers of the levels nearest to the middles of cells, uint8 (cells,), and how many cells a unit has.

    Cell i has the numbers from i - cells/2 on, times its width, and the outermost cells all numbers beyond. A border
    between two cells is at 0, so that a level never has the wrong sign.
    """
    found = levels(bits)
    unit = _CELLS / (2.2 * float(found[-1])) if bits else 1.0
    middles = (np.arange(_CELLS) - _CELLS / 2 + 0.5) / unit
    return unit, np.searchsorted((found[1:] + found[:-1]) / 2, middles).astype(np.uint8)


def _cells(levels: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The edges of the cells of numbers that are nearest to the levels, and their probabilities."""
    edges = np.concatenate([[-np.inf], (levels[1:] + levels[:-1]) / 2, [np.inf]])
    return edges, np.diff([math.erfc(-one / math.sqrt(2)) / 2 for one in edges])


def _density(z: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))

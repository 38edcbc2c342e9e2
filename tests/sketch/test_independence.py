"""Are full and polynomial hashes as independent as they claim? Chi-square, error rate 1e-6 each.

Operators are drawn apart, so the counts over operators are multinomial. With 20,000 of them and at
most 36 cells, a dependence that moves a fifth of the mass of a quarter of the cells is missed with
probability below 1e-6; the controls are dependent, and must be rejected.
"""

import itertools
from typing import Any

import numpy as np
import pytest
from drawn import draws, stack
from numpy.typing import NDArray
from scipy.stats import chi2

from sketchbench.sketch import AMS, BlockSparseEmbedding, CountSketch, SparseEmbedding
from sketchbench.sketch.control import EqualSigns, TiedSigns
from sketchbench.sketch.hashing import Hashing

pytestmark = pytest.mark.statistical
ERROR = 1e-6
TRIALS = 20_000
HASHINGS = pytest.mark.parametrize("hashing", ["full", "polynomial"])


def independent(values: NDArray[Any], levels: int) -> bool:
    """Are the columns of values (T, k), each in range(levels), jointly uniform?"""
    cells = levels ** values.shape[1]
    codes = values @ levels ** np.arange(values.shape[1])
    expected = len(values) / cells
    statistic = ((np.bincount(codes, minlength=cells) - expected) ** 2 / expected).sum()
    return bool(statistic < chi2.isf(ERROR, cells - 1))


def buckets_and_signs(R: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Of operators with one nonzero per column: its row, and 1 for a plus, each (T, d)."""
    return np.argmax(R != 0, axis=1), (R.sum(axis=1) > 0).astype(int)


@HASHINGS
def test_buckets_are_pairwise_independent(hashing: Hashing) -> None:
    rows, _ = buckets_and_signs(stack(CountSketch(5, 6, hashing), TRIALS))
    for pair in itertools.combinations(range(5), 2):
        assert independent(rows[:, pair], 6), f"buckets of columns {pair}"


@HASHINGS
def test_signs_are_4_wise_independent(hashing: Hashing) -> None:
    _, signs = buckets_and_signs(stack(CountSketch(6, 2, hashing), TRIALS))
    for four in itertools.combinations(range(6), 4):
        assert independent(signs[:, four], 2), f"signs of columns {four}"


@HASHINGS
def test_signs_are_independent_of_buckets(hashing: Hashing) -> None:
    rows, signs = buckets_and_signs(stack(CountSketch(3, 2, hashing), TRIALS))
    for pair in itertools.combinations(range(3), 2):
        assert independent(np.hstack([rows[:, pair], signs[:, pair]]), 2)


@HASHINGS
def test_ams_signs(hashing: Hashing) -> None:
    """4-wise independent within a row, and rows independent of one another."""
    signs = (stack(AMS(5, 2, hashing), TRIALS) > 0).astype(int)
    for four in itertools.combinations(range(5), 4):
        assert independent(signs[:, 0, four], 2)
    assert independent(signs[:, :, 1:4].reshape(TRIALS, 6), 2)


@HASHINGS
def test_block_sparse_signs_and_places(hashing: Hashing) -> None:
    """Over blocks and columns together."""
    R = stack(BlockSparseEmbedding(3, 6, 2, hashing), TRIALS).reshape(TRIALS, 2, 3, 3)
    places = np.argmax(R != 0, axis=2).reshape(TRIALS, 6)
    signs = (R.sum(axis=2) > 0).astype(int).reshape(TRIALS, 6)
    for pair in itertools.combinations(range(6), 2):
        assert independent(places[:, pair], 3)
    for four in itertools.combinations(range(6), 4):
        assert independent(signs[:, four], 2)


def test_sparse_embedding_columns() -> None:
    """Every pair of rows in a column as often, and columns independent of one another."""
    R = stack(SparseEmbedding(2, 4, 2), TRIALS) != 0
    codes = np.tensordot(2 ** np.arange(4), R, axes=(0, 1))
    kinds, place = np.unique(codes, return_inverse=True)
    assert len(kinds) == 6
    assert independent(place.reshape(TRIALS, 2), 6)


def test_control_equal_signs_is_rejected() -> None:
    _, signs = buckets_and_signs(stack(EqualSigns(4, 2), TRIALS))
    assert independent(signs[:, :1], 2)
    assert not independent(signs[:, :2], 2)


def test_control_tied_signs_is_rejected() -> None:
    rows, signs = buckets_and_signs(stack(TiedSigns(4, 2), TRIALS))
    assert independent(signs, 2)
    assert not independent(np.hstack([rows[:, :1], signs[:, :1]]), 2)


@pytest.mark.parametrize("independence", [1, 2])
def test_lower_degrees_are_rejected(independence: int) -> None:
    """k coefficients give k-wise independent signs; for k < 3 it shows that it is not 4-wise."""
    bits = draws(TRIALS)
    signs = bits.hash_signs(bits.polynomials(1, 1, independence), 8)[:, 0] > 0
    values = signs.astype(int)[:, :4]
    assert independent(values[:, :independence], 2)
    assert not independent(values[:, :4], 2)

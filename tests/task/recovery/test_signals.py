"""The signals that recoveries are tried on."""

import re
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.task.recovery.signals import Kind, draw, draw_sparse, relative_error

KINDS = get_args(Kind)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32), first=st.integers(0, 9), count=st.integers(0, 6))
def test_a_signal_does_not_depend_on_its_neighbours(kind: str, seed: int, first: int, count: int) -> None:
    whole = draw(kind, 30, 4, 15, seed)
    np.testing.assert_array_equal(draw(kind, 30, 4, count, seed, first), whole[first : first + count])


@pytest.mark.parametrize("kind", KINDS)
def test_everything_else_counts(kind: str) -> None:
    """Seed and size, and the number of nonzeros where there are some: no two signals alike."""
    signals = draw(kind, 50, 5, 4, 1).tolist() + draw(kind, 50, 5, 4, 2).tolist()
    assert len(set(map(tuple, signals))) == 8
    assert draw(kind, 51, 5, 4, 1)[0, :50].tolist() not in signals
    other = draw(kind, 50, 6, 4, 1).tolist()
    assert [row in signals for row in other] == [kind == "heavy_tail"] * 4


@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(0, 1))
def test_sparse_signals(seed: int, d: int, share: float) -> None:
    """k nonzeros without noise; with noise, the same places and values underneath."""
    k = max(1, round(share * d))
    x = draw_sparse(d, k, 3, seed)
    assert ((x != 0).sum(axis=1) == k).all()
    noisy = draw_sparse(d, k, 3, seed, noise=1e-6)
    assert (noisy != x).all()
    np.testing.assert_allclose(noisy, x, atol=1e-5)
    np.testing.assert_array_equal(draw("sparse", d, k, 3, seed), draw_sparse(d, k, 3, seed, noise=0.05))


@pytest.mark.statistical
def test_distributions() -> None:
    """Kolmogorov-Smirnov at 1e-6 on 20,000 values, fixed seed; places by chi-square over 40 cells."""
    x = draw_sparse(40, 5, 4000, 7)
    assert stats.kstest(x[x != 0], "norm").pvalue > 1e-6
    expected = 4000 * 5 / 40
    spread = (((x != 0).sum(axis=0) - expected) ** 2 / expected).sum() / (1 - 5 / 40)
    assert spread < stats.chi2.isf(1e-6, 39)
    noise = draw_sparse(40, 5, 500, 7, noise=0.3) - x[:500]
    assert stats.kstest(noise.ravel() / 0.3, "norm").pvalue > 1e-6
    tails = draw("heavy_tail", 40, 5, 500, 7)
    assert stats.kstest(tails.ravel(), "t", args=(2,)).pvalue > 1e-6


@pytest.mark.parametrize("k", [0, -1, 9])
def test_impossible_numbers_of_nonzeros(k: int) -> None:
    with pytest.raises(ValueError, match=f"nonzeros k={k} must satisfy 1 <= k <= d=8"):
        draw_sparse(8, k, 2, 0)
    with pytest.raises(ValueError, match=f"nonzeros k={k} must satisfy 1 <= k <= d=8"):
        draw("sparse", 8, k, 2, 0)


@pytest.mark.parametrize("noise", [-0.1, float("nan")])
def test_negative_noise(noise: float) -> None:
    with pytest.raises(ValueError, match=re.escape(f"noise={noise} must be >= 0")):
        draw_sparse(8, 2, 2, 0, noise=noise)


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="signals=dense is unknown; choose one of sparse, heavy_tail"):
        draw("dense", 8, 2, 1, 0)


def test_relative_error() -> None:
    x = np.array([[3.0, 4.0], [0.0, 2.0]])
    estimate = np.array([[0.0, 4.0], [0.0, 2.0]])
    assert relative_error(x, estimate).tolist() == [9 / 25, 0]
    assert relative_error(x, 0 * x).tolist() == [1, 1]

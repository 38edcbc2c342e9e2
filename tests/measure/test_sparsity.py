"""sp and the norms of tails."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sketchbench.measure.sparsity import sparsity, tail_norms

FLOATS = st.floats(-1e6, 1e6, allow_subnormal=False)
VECTORS = arrays(np.float64, st.integers(1, 12), elements=FLOATS).filter(lambda x: x.any())


def test_values() -> None:
    assert sparsity(np.array([5.0, 0, 0, 0])) == 0.25
    assert sparsity(np.array([-2.0, 2, -2, 2])) == 1
    assert sparsity(np.array([1.0, -3])) == pytest.approx(16 / 20)
    np.testing.assert_allclose(sparsity(np.array([[[1.0, 1, 0]], [[3.0, 0, 0]]])), [[2 / 3], [1 / 3]])


@given(VECTORS)
def test_bounds(x: np.ndarray) -> None:
    """Between 1/d (one nonzero) and the share of nonzeros, at most 1."""
    d = len(x)
    assert (1 - 1e-12) / d <= sparsity(x) <= (1 + 1e-12) * np.count_nonzero(x) / d


@given(VECTORS, st.floats(1e-3, 1e3), st.randoms(use_true_random=False))
def test_invariance(x: np.ndarray, scale: float, random: st.DataObject) -> None:
    """Neither scale, nor signs, nor the order count."""
    order = list(range(len(x)))
    random.shuffle(order)  # type: ignore[attr-defined]
    for same in (scale * x, -x, abs(x), x[order]):
        assert sparsity(same) == pytest.approx(sparsity(x), rel=1e-12)


@given(VECTORS, st.integers(1, 5))
def test_padding(x: np.ndarray, zeros: int) -> None:
    longer = sparsity(np.concatenate([x, np.zeros(zeros)]))
    assert longer == pytest.approx(sparsity(x) * len(x) / (len(x) + zeros), rel=1e-12)


@given(VECTORS.filter(lambda x: len(x) > 1), st.floats(0, 1), st.data())
def test_schur_concave(x: np.ndarray, share: float, data: st.DataObject) -> None:
    """A transfer from a larger magnitude to a smaller one never lowers it."""
    i, j = data.draw(st.lists(st.integers(0, len(x) - 1), min_size=2, max_size=2, unique=True))
    y = abs(x)
    y[i], y[j] = share * y[i] + (1 - share) * y[j], (1 - share) * y[i] + share * y[j]
    assert sparsity(y) >= sparsity(x) * (1 - 1e-12)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e160, 5e-324])
def test_neither_overflow_nor_underflow(scale: float) -> None:
    with np.errstate(over="raise", invalid="raise"):
        assert sparsity(np.array([[scale, 0, 0], [scale, scale, scale]])).tolist() == [1 / 3, 1]


def test_zero_has_none() -> None:
    with np.errstate(invalid="ignore"):
        found = sparsity(np.array([[0.0, 0], [1, 1]]))
    assert np.isnan(found[0])
    assert found[1] == 1


@given(arrays(np.float64, (2, 6), elements=FLOATS), st.integers(0, 6))
def test_tails(x: np.ndarray, k: int) -> None:
    """The least that is left over all choices of k entries: brute force."""
    before = x.copy()
    tail = tail_norms(x, k)
    np.testing.assert_array_equal(x, before)
    for row, two, one in zip(x, tail.two, tail.one, strict=True):
        rests = [np.delete(row, chosen) for chosen in itertools.combinations(range(6), k)]
        assert two == pytest.approx(min(np.sqrt((rest**2).sum()) for rest in rests), rel=1e-12)
        assert one == pytest.approx(min(abs(rest).sum() for rest in rests), rel=1e-12)


@given(VECTORS, st.data())
def test_lemma_3(x: np.ndarray, data: st.DataObject) -> None:
    """‖x - x^[k]‖₂ <= ‖x‖₁/(2√k) (tang2021)."""
    k = data.draw(st.integers(1, len(x)))
    assert tail_norms(x, k).two <= abs(x).sum() / (2 * k**0.5) * (1 + 1e-12)


def test_tails_of_many() -> None:
    tail = tail_norms(np.arange(24.0).reshape(2, 3, 4), 3)
    assert tail.one.tolist() == [[0, 4, 8], [12, 16, 20]]
    assert tail.two.tolist() == tail.one.tolist()


@pytest.mark.parametrize("k", [-1, 4])
def test_tails_need_a_number_that_fits(k: int) -> None:
    with pytest.raises(ValueError, match=f"k={k} must satisfy 0 <= k <= d=3"):
        tail_norms(np.ones(3), k)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_tails_neither_overflow_nor_underflow(scale: float) -> None:
    with np.errstate(over="ignore", under="ignore"):
        tail = tail_norms(np.full(5, scale), 1)
    assert tail.one / scale == pytest.approx(4, rel=1e-12)
    assert tail.two / scale == pytest.approx(2, rel=1e-12)

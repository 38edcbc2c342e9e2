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


@given(arrays(np.float64, (2, 6), elements=st.integers(-99, 99)).filter(lambda x: x.any(axis=1).all()))
def test_it_is_its_formula(x: np.ndarray) -> None:
    """‖x‖₁²/(d ‖x‖₂²), for each of several vectors."""
    expected = [np.abs(row).sum() ** 2 / (6 * row @ row) for row in x]
    np.testing.assert_allclose(sparsity(x), expected, rtol=1e-9)


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


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_tails_neither_overflow_nor_underflow(scale: float) -> None:
    with np.errstate(over="ignore", under="ignore"):
        tail = tail_norms(np.full(5, scale), 1)
    assert tail.one / scale == pytest.approx(4, rel=1e-12)
    assert tail.two / scale == pytest.approx(2, rel=1e-12)

"""Summaries of trials against SciPy."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.measure.summary import summarize


@given(st.integers(0, 2**32), st.integers(2, 500), st.floats(-100, 100), st.floats(1e-3, 1e3))
def test_summary_equals_scipy(seed: int, trials: int, shift: float, scale: float) -> None:
    values = shift + scale * np.random.default_rng(seed).exponential(size=trials)
    summary = summarize(values)
    assert summary["trials"] == trials
    assert summary["mean"] == pytest.approx(np.mean(values), rel=1e-12)
    assert summary["sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-9)
    assert summary["skewness"] == pytest.approx(stats.skew(values), rel=1e-6, abs=1e-9)
    assert (summary["minimum"], summary["maximum"]) == (values.min(), values.max())


@pytest.mark.parametrize("value", [0.0, 1.0, -3e7, 0.1])
def test_what_never_varies(value: float) -> None:
    summary = summarize(np.full(1000, value))
    assert summary["mean"] == pytest.approx(value, rel=1e-12)
    assert summary["sd"] <= 1e-12 * abs(value)
    assert summary["skewness"] == 0


@given(st.integers(0, 2**32), st.integers(-1000, 1000))
def test_units_change_nothing(seed: int, power: int) -> None:
    """Not where squares leave float64 either; only what is below the rounding of the quantity's own size has none."""
    values = np.random.default_rng(seed).exponential(size=20)
    base, unit = summarize(values), 2.0**power
    for name, found in summarize(values * unit).items():
        assert found == (base[name] if name in ("trials", "skewness") else base[name] * unit)
    assert base["skewness"] != 0
    assert summarize(values * unit, scale=min(1e15 * unit, sys.float_info.max))["skewness"] == 0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_non_finite_value_is_refused(value: str) -> None:
    with pytest.raises(FloatingPointError, match=f"trial 2 gave {value}; results must be finite"):
        summarize([1.0, 2.0, float(value), float("nan")])


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3)])
def test_wrong_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must be one axis of at least 2 trials"):
        summarize(np.ones(shape))

"""Slopes on log-log axes."""

import numpy as np
import pytest
from scipy import stats

from sketchbench.measure.interval import log_slope, proportion_interval

X = np.array([2.0, 8.0, 16.0, 100.0, 1000.0])


@pytest.mark.parametrize("power", [-0.5, 0.0, 1.0, 2.7])
@pytest.mark.parametrize("factor", [1e-6, 3.0])
def test_power_law(power: float, factor: float) -> None:
    slope = log_slope(X, factor * X**power, np.zeros(5), error=0.01)
    np.testing.assert_allclose(slope, power, rtol=1e-12, atol=1e-12)


def test_no_power_law() -> None:
    """The least-squares line, against SciPy."""
    mean = 1 + X**1.5
    slope = log_slope(X, mean, 0.01 * mean, error=0.01)
    assert slope.value == pytest.approx(stats.linregress(np.log(X), np.log(mean)).slope)
    assert slope.value - slope.low == pytest.approx(slope.high - slope.value)


@pytest.mark.statistical
def test_coverage() -> None:
    """4000 curves with 2% noise: error 0.05 as stated, by Clopper-Pearson at 1e-6.

    Sees an interval that is a fifth too short or too long (0.117 or 0.019) with power > 0.999.
    """
    rng = np.random.default_rng(3)
    noise = np.array([0.02, 0.01, 0.02, 0.005, 0.02])
    missed = 0
    for _ in range(4000):
        mean = X**0.75 * (1 + noise * rng.standard_normal(5))
        slope = log_slope(X, mean, noise * mean, error=0.05)
        missed += not slope.low <= 0.75 <= slope.high
    low, high = proportion_interval(missed, 4000, error=1e-6)
    assert low <= 0.05 <= high


@pytest.mark.parametrize(("x", "mean"), [([1.0], [2.0]), ([1.0, 2.0], [1.0, 0.0]), ([0.0, 2.0], [1.0, 2.0])])
def test_no_slope(x: list[float], mean: list[float]) -> None:
    with pytest.raises(ValueError, match="needs two points or more, all of them positive"):
        log_slope(np.array(x), np.array(mean), np.ones(len(x)), error=0.1)

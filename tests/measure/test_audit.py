"""What an attack proves is right as often as it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.measure.audit import epsilon_lower_bound, strongest_threshold
from sketchbench.measure.interval import proportion_interval

DELTA = 0.01


@pytest.mark.statistical
@pytest.mark.parametrize("threshold", [0.0, 1.5, 2.5])
def test_it_proves_too_much_as_rarely_as_it_says(threshold: float) -> None:
    """For a pair of normals, against the ε that this very threshold has; 4,000 audits."""
    hit, alarm = stats.norm.sf(threshold - 1), stats.norm.sf(threshold)
    truth = np.log((hit - DELTA) / alarm)
    random = np.random.default_rng(5)
    error, audits = 0.05, 4000
    counts = zip(random.binomial(500, hit, audits), random.binomial(500, alarm, audits), strict=True)
    found = [epsilon_lower_bound(int(h), int(a), 500, delta=DELTA, error=error) for h, a in counts]
    missed = int((np.array(found) > truth).sum())
    assert proportion_interval(missed, audits, error=1e-6).low <= error


@given(hits=st.integers(1, 999), alarms=st.integers(1, 999))
def test_monotone(hits: int, alarms: int) -> None:
    def proven(h: int, a: int, delta: float = DELTA) -> float:
        return epsilon_lower_bound(h, a, 1000, delta=delta, error=1e-3)

    found = proven(hits, alarms)
    assert 0 <= found <= proven(hits + 1, alarms)
    assert proven(hits, alarms + 1) <= found <= proven(hits, alarms, delta=1e-6)


def test_no_difference_proves_nothing() -> None:
    assert epsilon_lower_bound(500, 500, 1000, delta=0.0, error=1e-3) == 0
    assert epsilon_lower_bound(5, 0, 1000, delta=0.05, error=1e-3) == 0


def test_the_threshold_is_a_good_one() -> None:
    random = np.random.default_rng(2)
    there, not_there = random.standard_normal(3000) + 1.5, random.standard_normal(3000)

    def proven(threshold: float) -> float:
        hits, alarms = (int((side >= threshold).sum()) for side in (there, not_there))
        return epsilon_lower_bound(hits, alarms, 3000, delta=DELTA, error=1e-3)

    chosen = strongest_threshold(there, not_there, delta=DELTA, error=1e-3)
    assert proven(chosen) >= 0.9 * max(map(proven, np.linspace(-1, 4, 200)))

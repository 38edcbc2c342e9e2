"""The chance that new trials decide otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.measure.interval import proportion_interval
from sketchbench.measure.rerun import chance_of_change, decided_counts

ERROR = 3e-6


def decision(count: int, trials: int, bound: float) -> str:
    low, high = proportion_interval(count, trials, error=ERROR)
    return "below" if high <= bound else "above" if low > bound else "neither"


@given(st.integers(1, 300), st.floats(0.01, 0.99), st.data())
def test_it_is_that_of_the_binomial_distribution(trials: int, bound: float, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, trials))
    decided = [decision(new, trials, bound) for new in range(trials + 1)]
    chances = stats.binom.pmf(np.arange(trials + 1), trials, count / trials)
    expected = sum(chance for chance, new in zip(chances, decided, strict=True) if new != decided[count])
    assert chance_of_change(count, trials, bound=bound, error=ERROR) == pytest.approx(expected, abs=1e-9)


def test_the_counts_that_decide() -> None:
    assert decided_counts(24, bound=0.5, error=ERROR) == (1, 23)
    assert decided_counts(19, bound=0.5, error=ERROR) == (-1, 20)  # nothing decides


def test_many_trials_take_no_longer() -> None:
    """Sure on either side of the bound, and about even where a verdict is just reached."""
    low, high = decided_counts(200_000, bound=0.5, error=ERROR)
    assert chance_of_change(0, 24, bound=0.5, error=ERROR) == 0  # what was never seen
    assert chance_of_change(90_000, 200_000, bound=0.5, error=ERROR) < 1e-12
    assert chance_of_change(low, 200_000, bound=0.5, error=ERROR) == pytest.approx(0.5, abs=0.01)
    assert chance_of_change(high, 200_000, bound=0.5, error=ERROR) == pytest.approx(0.5, abs=0.01)

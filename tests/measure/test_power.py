"""Trial counts give the power that they promise."""

import numpy as np
import pytest
from scipy import stats

from sketchbench.measure.interval import mean_interval, proportion_interval
from sketchbench.measure.power import trials_for_mean, trials_for_zero
from sketchbench.measure.summary import summarize

REPEATS = 3000


def seen(trials: int, effect: float, sd: float, error: float) -> int:
    """In how many of REPEATS the interval of a mean excludes 0 when the mean is `effect`."""
    values = effect + sd * np.random.default_rng(trials).standard_normal((REPEATS, trials))
    count = 0
    for row in values:
        s = summarize(row)
        interval = mean_interval(s["mean"], s["sd"], s["skewness"], trials, error=error)
        count += not interval.low <= 0 <= interval.high
    return count


@pytest.mark.statistical
@pytest.mark.parametrize(("effect", "sd", "error", "power"), [(0.2, 1.0, 0.01, 0.9), (3.0, 10.0, 1e-4, 0.8)])
def test_power_of_a_mean(effect: float, sd: float, error: float, power: float) -> None:
    """Clopper-Pearson at 1e-6 holds the power; with two thirds of the trials it is too low.

    The interval is 0.027 to each side at 0.9, and 0.036 at 0.8.
    """
    trials = trials_for_mean(effect, sd=sd, error=error, power=power)
    low, high = proportion_interval(seen(trials, effect, sd, error), REPEATS, error=1e-6)
    assert low <= power <= high
    fewer = seen(2 * trials // 3, effect, sd, error)
    assert proportion_interval(fewer, REPEATS, error=1e-6).high < power


@pytest.mark.parametrize("error", [0.05, 1e-6])
@pytest.mark.parametrize("power", [0.5, 0.9, 0.999])
def test_least_trials_for_a_mean(error: float, power: float) -> None:
    """The z-test has the power with these trials, and not with one less."""
    n = trials_for_mean(0.3, sd=2.0, error=error, power=power)
    z = stats.norm.isf(error / 2)
    assert stats.norm.sf(z - 0.3 / 2 * np.sqrt(n)) >= power * (1 - 1e-12)
    assert stats.norm.sf(z - 0.3 / 2 * np.sqrt(n - 1)) < power


@pytest.mark.parametrize("bound", [0.5, 0.02, 1e-4])
@pytest.mark.parametrize("error", [0.05, 1e-6])
def test_least_trials_for_zero(bound: float, error: float) -> None:
    n = trials_for_zero(bound, error=error)
    assert proportion_interval(0, n, error=error).high <= bound
    assert proportion_interval(0, n - 1, error=error).high > bound


@pytest.mark.parametrize("wrong", [{"effect": 0.0}, {"sd": 0.0}, {"power": 1.0}, {"power": 0.4}, {"effect": -1.0}])
def test_mean_needs_an_effect(wrong: dict[str, float]) -> None:
    arguments = {"effect": 1.0, "sd": 1.0, "error": 0.1, "power": 0.9, **wrong}
    with pytest.raises(ValueError, match=r"must be > 0, power=.* in \[0.5, 1\)"):
        trials_for_mean(arguments.pop("effect"), **arguments)

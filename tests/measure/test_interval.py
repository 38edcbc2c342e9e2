"""Confidence intervals keep the error rate that they state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.measure.interval import (
    ROUNDING,
    Interval,
    log_slope,
    mean_interval,
    normal_quantile,
    proportion_interval,
    student_quantile,
)
from sketchbench.measure.power import trials_for_mean, trials_for_zero
from sketchbench.measure.summary import summarize

CHECK = 1e-6  # the error rate of the tests marked statistical


@pytest.mark.parametrize("error", [0.9, 0.1, 0.01, 1e-6, 1e-12])
def test_normal_quantile(error: float) -> None:
    assert normal_quantile(error) == pytest.approx(stats.norm.isf(error / 2), rel=1e-12)


@pytest.mark.parametrize("error", [0.0, 1.0, -0.1, float("nan")])
def test_error_rate_out_of_range(error: float) -> None:
    with pytest.raises(ValueError, match=r"error rate .* must satisfy 0 < error < 1"):
        normal_quantile(error)
    with pytest.raises(ValueError, match=r"error rate .* must satisfy 0 < error < 1"):
        student_quantile(error, 3)


# Proportions


@pytest.mark.parametrize("error", [0.2, 0.05, 1e-4, 1e-9])
@given(trials=st.integers(1, 5000), data=st.data())
def test_proportion_equals_scipy(error: float, trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    ours = proportion_interval(successes, trials, error=error)
    theirs = stats.binomtest(successes, trials).proportion_ci(1 - error, "exact")
    np.testing.assert_allclose(ours, [theirs.low, theirs.high], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("trials", [1, 2, 17, 60])
@pytest.mark.parametrize("error", [0.3, 0.05, 0.001])
def test_proportion_coverage_is_exact(trials: int, error: float) -> None:
    """Each side misses with probability at most error / 2, and just below an end no less."""
    intervals = np.array([proportion_interval(k, trials, error=error) for k in range(trials + 1)])
    most = 0.0
    for p in np.concatenate([np.linspace(0, 1, 101), intervals[1:, 0] * (1 - 1e-9)]):
        mass = stats.binom.pmf(np.arange(trials + 1), trials, p)
        above, below = mass[intervals[:, 0] > p].sum(), mass[intervals[:, 1] < p].sum()
        assert max(above, below) <= error / 2 * (1 + 1e-9)
        most = max(most, above)
    assert most > 0.999 * error / 2


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, 0)])
def test_no_proportion(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} of {trials} trials is not a proportion"):
        proportion_interval(successes, trials, error=0.1)


# Means


@pytest.mark.parametrize("trials", [2, 5, 100])
@pytest.mark.parametrize("error", [0.05, 1e-7])
def test_no_skewness_is_student_s_interval(trials: int, error: float) -> None:
    interval = mean_interval(5.0, 2.0, 0.0, trials, error=error)
    theirs = stats.t.interval(1 - error, trials - 1, loc=5, scale=2 / np.sqrt(trials))
    np.testing.assert_allclose(interval, theirs, rtol=1e-7)


@pytest.mark.statistical
def test_coverage_of_few_normal_values() -> None:
    """5 values, error rate 0.01, 100,000 repetitions: the binomial test keeps CHECK."""
    values = np.random.default_rng(11).standard_normal((100_000, 5))
    half = student_quantile(0.01, 4) * values.std(axis=1, ddof=1) / np.sqrt(5)
    missed = int((abs(values.mean(axis=1)) > half).sum())
    assert stats.binomtest(missed, 100_000, 0.01).pvalue > CHECK


@pytest.mark.parametrize("skewness", [-4.0, -0.3, 0.01, 1.0, 6.0])
@pytest.mark.parametrize("error", [0.1, 1e-6])
def test_ends_have_hall_s_quantile(skewness: float, error: float) -> None:
    """T + g T^2/3 + g^2 T^3/27 + g/6 with g = skewness/sqrt(n) (Hall 1992) is +-t at the ends."""
    trials = 400
    g = skewness / np.sqrt(trials)
    interval = mean_interval(0.0, 3.0, skewness, trials, error=error)
    for end, z in (
        (interval.low, student_quantile(error, trials - 1)),
        (interval.high, -student_quantile(error, trials - 1)),
    ):
        T = -end / (3.0 / np.sqrt(trials))
        assert T + g * T**2 / 3 + g**2 * T**3 / 27 + g / 6 == pytest.approx(z, rel=1e-9)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.floats(1e-9, 0.3))
def test_interval_holds_its_mean(values: list[int], error: float) -> None:
    s = summarize(values)
    interval = mean_interval(s["mean"], s["sd"], s["skewness"], len(values), error=error)
    assert interval.low <= s["mean"] <= interval.high
    wider = mean_interval(s["mean"], s["sd"], s["skewness"], len(values), error=error / 2)
    assert wider.low <= interval.low
    assert wider.high >= interval.high


def test_what_never_varies_keeps_room_for_rounding() -> None:
    low, high = mean_interval(3.0, 0.0, 0.0, 10, error=1e-6)
    assert low == pytest.approx(3 - 3 * ROUNDING, rel=1e-15)
    assert high == pytest.approx(3 + 3 * ROUNDING, rel=1e-15)
    low, high = mean_interval(0.0, 0.0, 0.0, 10, error=1e-6, scale=8.0)
    assert (low, high) == (-8 * ROUNDING, 8 * ROUNDING)


def missed(values: np.ndarray, truth: float, *, error: float, corrected: bool) -> tuple[int, int]:
    below = above = 0
    for row in values:
        s = summarize(row)
        skewness = s["skewness"] if corrected else 0.0
        interval = mean_interval(s["mean"], s["sd"], skewness, len(row), error=error)
        below += interval.high < truth
        above += interval.low > truth
    return below, above


def rate(count: int, trials: int) -> Interval:
    return proportion_interval(count, trials, error=CHECK)


@pytest.mark.statistical
def test_coverage_under_skewness() -> None:
    """Squared exponentials: mean 2, skewness 6.6, 1000 trials, 0.005 to each side.

    The corrected interval may miss twice that, which is what a remainder of order 1/n leaves room
    for; the test errs with probability 1e-6. The normal interval misses more, and is rejected.
    """
    repeats, error = 10_000, 0.01
    values = np.random.default_rng(0).exponential(size=(repeats, 1000)) ** 2
    below, above = missed(values, 2.0, error=error, corrected=True)
    plain, _ = missed(values, 2.0, error=error, corrected=False)
    assert rate(below, repeats).low <= error
    assert rate(above, repeats).low <= error
    assert rate(below + above, repeats).high >= error / 2
    assert rate(plain, repeats).low > error
    assert below < plain


@pytest.mark.statistical
def test_coverage_without_skewness() -> None:
    """Normal values: the stated error, by Clopper-Pearson at 1e-6; sees 0.005 or 0.017."""
    repeats, error = 10_000, 0.01
    values = np.random.default_rng(1).standard_normal((repeats, 500))
    interval = rate(sum(missed(values, 0.0, error=error, corrected=True)), repeats)
    assert interval.low <= error <= interval.high


# Slopes on log-log axes


X = np.array([2.0, 8.0, 16.0, 100.0, 1000.0])


@pytest.mark.parametrize("power", [-0.5, 0.0, 1.0, 2.7])
@pytest.mark.parametrize("factor", [1e-6, 3.0])
def test_power_law(power: float, factor: float) -> None:
    slope = log_slope(X, factor * X**power, np.zeros(5), error=0.01)
    np.testing.assert_allclose(slope, power, rtol=1e-12, atol=1e-12)


def test_no_power_law() -> None:
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


# Trial counts give the power that they promise


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

"""Confidence intervals keep the error rate that they state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sketchbench.measure.interval import (
    ROUNDING,
    Interval,
    mean_interval,
    normal_quantile,
    proportion_interval,
    student_quantile,
)
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
    with pytest.raises(ValueError, match=f"{successes} of {trials} trials is no proportion"):
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
    """How many rows have an interval below, and above, the truth."""
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

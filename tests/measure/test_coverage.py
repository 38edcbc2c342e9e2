"""How often the interval of a mean misses, exactly, for rare values on both sides, at the numbers of trials and error
rates of the published verdicts. A value is seen at least 20 times on average: none of an interval's error rate is for
values that no trial may show, and no sample can tell of those."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from levels import QUICK
from published import reports
from scipy import stats

from sketchbench.measure.interval import mean_interval
from sketchbench.report.claim.criteria import are_trusted

pytestmark = pytest.mark.statistical
# The most misses, over the error rate of one side, from this error rate on; and of fewer trials than 2,000, whose
# extremes are never far.
MISSES, OF_FEW = {1e-4: 2.0, 1e-6: 13.0, 1e-8: 80.0}, 140.0
EXPECTED = 20  # times that the rarer value is seen


def used() -> list[tuple[int, float]]:
    """The numbers of trials, from 200 on, of means behind the published verdicts, each with its error rate."""
    verdicts = pd.read_csv(reports() / "claims.csv")
    means = verdicts[verdicts["criterion"].isin(["equality", "upper_bound"]) & (verdicts["trials"] >= 200)]
    rows = zip(means["trials"].astype(int), means["study"].astype(str), strict=True)
    return sorted({(trials, float(f"{QUICK.of(study):.3g}")) for trials, study in rows})


def draws(trials: int, chances: tuple[float, float]) -> Iterator[tuple[float, int, int]]:
    """The numbers of trials with the one and the other rare value, each with its probability, without the rarest."""
    first, second = chances
    for one in range(int(stats.binom.isf(1e-12, trials, first)) + 1):
        chance = stats.binom.pmf(one, trials, first)
        others = np.arange(int(stats.binom.isf(1e-12, trials - one, second / (1 - first))) + 1)
        for other, more in zip(others, stats.binom.pmf(others, trials - one, second / (1 - first)), strict=True):
            if chance * more > 1e-11:
                yield chance * more, one, int(other)


def missed(trials: int, error: float, more: int, ratio: float) -> float:
    """The probability that a trusted interval lies on one side of the mean, over the error rate of the side: the larger
    one. The values are `ratio`, -1 (`more` times as often) and 0."""
    chances = EXPECTED / trials, EXPECTED * more / trials
    truth = ratio * chances[0] - chances[1]
    sides = [0.0, 0.0]
    for chance, one, other in draws(trials, chances):
        values = np.array([ratio, -1.0, 0.0])
        shares = np.array([one, other, trials - one - other]) / trials
        mean = float(shares @ values)
        variance, third = (float(shares @ (values - mean) ** power) for power in (2, 3))
        if not variance:
            continue
        seen = values[shares > 0]
        row = {"trials": trials, "mean": mean, "sd": (variance * trials / (trials - 1)) ** 0.5}
        row |= {"skewness": third / variance**1.5, "minimum": seen.min(), "maximum": seen.max()}
        if are_trusted(row):
            interval = mean_interval(mean, row["sd"], row["skewness"], trials, error=2 * error)
            sides[0] += chance * (interval.low > truth)
            sides[1] += chance * (interval.high < truth)
    return max(sides) / error


@pytest.mark.weekly
def test_the_interval_of_a_mean_of_rare_values() -> None:
    found = used()
    assert found
    for trials, error in found:
        most = OF_FEW if trials < 2000 else next(most for least, most in MISSES.items() if error > least)
        for more, ratio in ((1, 2.0), (2, 2.0), (4, 4.0)):
            assert missed(trials, error, more, ratio) <= most, (trials, error, more, ratio)

"""The criteria of claims: rows of a table in, comparisons out.

A comparison holds one measured number, with its confidence interval, against one value. It *holds* or *fails* if every
number in the interval says so, and is *inconclusive* otherwise.

A criterion takes the rows of one method, with the columns `exact` and `bound`; the error rate of a single comparison
(the caller divides the family-wise rate by the number of comparisons, as Bonferroni does); and the claim's settings. It
returns a comparison for each row that it applies to (`growth`: for each curve).
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sketchbench.measure.audit import epsilon_lower_bound
from sketchbench.measure.column import AXES, Column
from sketchbench.measure.interval import Slope, log_slope, mean_interval, proportion_interval
from sketchbench.measure.rerun import chance_of_change
from sketchbench.measure.summary import ROUNDING
from sketchbench.report.claim.verdict import NEEDS, CriterionSettings, Verdict

# Hall's correction is of the first order in skewness/√trials. Above this value, simulations of heavy tails miss the
# nominal error rate, so that means are not judged.
TRUSTED_SKEWNESS = 0.2
# Nor are means of rare values on both sides, whose sample skewness is noise that moves with the mean. Their nearer
# extreme is far from it: by more standard deviations than ORDINARY_EXTREME, and than TRUSTED_EXTREME √trials. Without
# that, an interval misses with 200 times a rate of 2e-8, and with it 80 times (tests/measure/test_coverage.py).
ORDINARY_EXTREME, TRUSTED_EXTREME = 5.0, 0.12
# If no growth is claimed along these columns, the alternative is growth in proportion to them.
LINEAR = (Column.D, Column.CHANNEL_NOISE)
# The columns that may distinguish the curves whose growth is measured.
CURVES = (Column.D, Column.S, Column.SEED, Column.B)


TableRow = Mapping[Any, Any]  # from column names to values
Estimate = tuple[float, float, float]  # a statistic, and the ends of its interval


@dataclass(frozen=True)
class Comparison:
    """One measured number, compared with one value.

    The slack is the distance from the interval to the bound, relative to the bound (or to the statistic, if the bound
    is 0). The slack of an equality is the distance from the bound to the end of the interval, relative to the
    interval's half-width. A violated claim has a negative slack.

    The tightness is the bound divided by the measured mean, largest trial, number, or proven ε. It is NaN if the
    criterion has no such ratio, or if the ratio is not of positive numbers.
    """

    verdict: Verdict  # `holds`, `fails` or `inconclusive`
    case: str  # the difference from other comparisons of the method, in words
    statistic: float
    low: float  # the ends of the statistic's confidence interval
    high: float
    bound: float
    slack: float
    trials: int  # independent trials behind the statistic; 0 for a computed number
    tightness: float = float("nan")
    flips: float = float("nan")  # the chance that new trials decide otherwise, at the measured probability


Criterion = Callable[[pd.DataFrame, float, CriterionSettings], list[Comparison]]
RowCriterion = Callable[[TableRow, float, CriterionSettings], Comparison]


def _of_each_row(compare: RowCriterion) -> Criterion:
    """Extend a criterion of single rows to tables, for the rows with a number in each column of `NEEDS`.

    A row may have a `positive_control`: the number of trials in which the attack succeeds without the defence. Unless
    it shows a probability of success above 1/2, the row's verdict is inconclusive. A row that holds is inconclusive,
    too, if the optimiser failed in half of the trials: then that little is found says nothing.
    """

    @functools.wraps(compare)
    def criterion(rows: pd.DataFrame, error: float, settings: CriterionSettings) -> list[Comparison]:
        each = (dict(zip(rows, values, strict=True)) for values in rows.to_numpy(object))  # a tenth of `to_dict`
        numbers = (row for row in each if not any(pd.isna(row[name]) for name in NEEDS[compare.__name__]))
        return [_weighed(compare(row, error, settings), row, error) for row in numbers]

    return criterion


def _attack_works(row: TableRow, error: float) -> bool:
    """Whether the row's positive control shows that the attack works; true without a positive control."""
    control = row.get(Column.POSITIVE_CONTROL, np.nan)
    return pd.isna(control) or proportion_interval(int(control), int(row[Column.TRIALS]), error=error).low > 0.5


def _weighed(comparison: Comparison, row: TableRow, error: float) -> Comparison:
    """Return the comparison, inconclusive unless the attack works, and fits the messages if the row holds."""
    failed = row.get(Column.OPTIMISER_FAILED, np.nan)
    fits = bool(pd.isna(failed)) or 2 * failed < row[Column.TRIALS]
    return _doubt(comparison, _attack_works(row, error) and (fits or comparison.verdict != "holds"))


def _doubt(comparison: Comparison, trusted: bool) -> Comparison:
    """Return the comparison, inconclusive unless it is trusted."""
    return comparison if trusted else replace(comparison, verdict="inconclusive")


@_of_each_row
def equality(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The mean equals `exact`: its interval contains `exact`, and is narrow enough to exclude other values."""
    low, high = _mean_interval(row, error)
    exact, half = row[Column.EXACT], (high - low) / 2
    narrow = half <= settings.margin * max(1.0, abs(exact))
    verdict: Verdict = "fails" if not low <= exact <= high else "holds" if narrow else "inconclusive"
    slack = 1 - abs(exact - (low + high) / 2) / half
    return _doubt(_comparison(row, verdict, (row[Column.MEAN], low, high), exact, slack), are_trusted(row))


@_of_each_row
def upper_bound(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The mean is at most `bound`. A run that diverged has no mean, and exceeds every bound."""
    if row.get(Column.STATUS) == "diverged":
        return _comparison(row, "fails", (np.inf, np.inf, np.inf), row[Column.BOUND], -np.inf, np.inf)
    mean = row[Column.MEAN]
    return _doubt(_below(row, (mean, *_mean_interval(row, error)), mean), are_trusted(row))


@_of_each_row
def probability(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The probability behind `count` out of `trials` is at most `bound`.

    Few trials never decide it: a bound of 1/2 needs about twenty at the level of a run. If so many are too expensive, a
    claim that one trial may refute has a second check, `always`, of an event declared in advance to refute it. Together
    the checks fail if a single trial refutes the claim, and hold only with enough trials.
    """
    comparison = _below(row, _share(row, error))
    count, trials = int(row[Column.COUNT]), int(row[Column.TRIALS])
    return replace(comparison, flips=chance_of_change(count, trials, bound=row[Column.BOUND], error=error))


@_of_each_row
def always(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """No trial exceeds `bound`; `count` is the number of trials that do.

    A single exceedance refutes the claim. The interval is for the probability of an exceedance: trials without an
    exceedance only show that it is small. The slack belongs to the largest trial.
    """
    bound, largest = row[Column.BOUND], row[Column.MAXIMUM]
    verdict: Verdict = "fails" if row[Column.COUNT] else "holds"
    comparison = _comparison(row, verdict, _share(row, error), 0.0, (bound - largest) / abs(bound), largest)
    return replace(comparison, case=f"{comparison.case}, largest {largest:.4g} of {bound:.4g}".lstrip(", "))


def growth(rows: pd.DataFrame, error: float, settings: CriterionSettings) -> list[Comparison]:
    """The mean grows along the column `over` as `bound` does: with the claimed power of the column.

    Each curve (see `_curves`) with at least two values of the column has a comparison; the largest mean at each value
    counts. The slope of log mean over log `over` is compared with the midpoint between the claimed slope and an
    alternative. The claimed slope is the slope of `bound` (0 without a bound). The alternative is 0 if growth or decay
    is claimed. Otherwise it is 1 along d and channel_noise, and 1/2 along other columns, such as b: the slope of a
    constant multiplied by √b.
    """
    comparisons = []
    for case, curve in _curves(rows, settings.over):
        worst = curve.loc[curve.groupby(settings.over)[Column.MEAN].idxmax()].sort_values(settings.over)
        zero = bool((worst[Column.MEAN].abs() <= ROUNDING).all())
        if not zero:
            worst = worst[worst[Column.MEAN] > ROUNDING]  # a zero has no logarithm
        if len(worst) < 2:
            continue
        claimed = _claimed_slope(worst, settings.over)
        alternative = 0.0 if abs(claimed) > 0.25 else 1.0 if settings.over in LINEAR else 0.5
        middle = (claimed + alternative) / 2
        slope, low, high = (0.0, 0.0, 0.0) if zero else _measured_slope(worst, settings.over, error)
        nearest, farthest = (low, high) if claimed > alternative else (high, low)
        slack, reach = ((end - middle) / (claimed - middle) for end in (nearest, farthest))
        verdict: Verdict = "holds" if slack > 0 else "fails" if reach < 0 else "inconclusive"
        row = {Column.CASE: case, Column.TRIALS: int(worst[Column.TRIALS].sum())}
        comparisons.append(_comparison(row, verdict, (slope, low, high), middle, slack))
    return comparisons


@_of_each_row
def computed(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The number `value`, computed without trials, is at most `bound`."""
    value = row[Column.VALUE]
    return _below({**row, Column.TRIALS: 0}, (value, value, value), value)


@_of_each_row
def audit(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The attack proves no ε above `bound`, the accounted ε at `delta`.

    The attack detects the canary in `hits` of `trials` runs with it, and in `false_alarms` of as many runs without it.
    The counts give a lower bound of the true ε, which can refute the account but never confirm it. The verdict is
    inconclusive if the lower bound is further below `bound` than the margin allows.
    """
    hits, alarms, trials = (int(row[name]) for name in (Column.HITS, Column.FALSE_ALARMS, Column.TRIALS))
    proven = epsilon_lower_bound(hits, alarms, trials, delta=row[Column.DELTA], error=error)
    bound = row[Column.BOUND]
    strong = proven >= (1 - settings.margin) * bound
    verdict: Verdict = "fails" if proven > bound else "holds" if strong else "inconclusive"
    return _comparison(row, verdict, (proven, proven, np.inf), bound, (bound - proven) / bound, proven)


CRITERIA: dict[str, Criterion] = {
    criterion.__name__: criterion for criterion in (equality, upper_bound, probability, always, growth, computed, audit)
}


def _curves(rows: pd.DataFrame, over: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The curves over a column, each with its case: one for each combination of values in the columns `CURVES`. Columns
    that follow from `over`, as b follows from the compression at every d, are ignored."""
    names: list[str] = []
    for name in CURVES:
        if name in rows and name != over:
            varies = rows[name].nunique(dropna=False) > 1
            groups = rows.groupby([over, *names], dropna=False)[name]
            if not varies or groups.nunique(dropna=False).max() > 1:
                names.append(name)
    if not names:
        yield "", rows
        return
    for values, curve in rows.groupby(names, dropna=False):
        yield _case(dict(zip(names, values, strict=True))), curve


def _claimed_slope(rows: pd.DataFrame, over: str) -> float:
    """The slope of log `bound` over the logarithm of a column; 0 without a bound."""
    bound = rows[Column.BOUND]
    if bound.isna().any() or (bound <= 0).any():
        return 0.0
    return float(np.polyfit(np.log(rows[over].to_numpy(float)), np.log(bound.to_numpy(float)), 1)[0])


def _measured_slope(rows: pd.DataFrame, over: str, error: float) -> Slope:
    """The slope of log `mean` over the logarithm of a column, with its interval."""
    mean = rows[Column.MEAN].to_numpy(float)
    standard_error = (rows[Column.SD] / np.sqrt(rows[Column.TRIALS])).to_numpy(float)
    return log_slope(rows[over].to_numpy(float), mean, standard_error, error=error)


def _mean_interval(row: TableRow, error: float) -> tuple[float, float]:
    """The interval of a mean; all numbers for a single trial, which has no spread."""
    trials = int(row[Column.TRIALS])
    if trials < 2:
        return -np.inf, np.inf
    scale = max(1.0, *(abs(row[name]) for name in (Column.EXACT, Column.BOUND) if not np.isnan(row[name])))
    return mean_interval(row[Column.MEAN], row[Column.SD], row[Column.SKEWNESS], trials, error=error, scale=scale)


def are_trusted(row: TableRow) -> bool:
    """Whether skewness and extremes of the trials allow trust in the interval of the mean."""
    trials = row[Column.TRIALS]
    if trials < 2 or abs(row[Column.SKEWNESS]) > TRUSTED_SKEWNESS * np.sqrt(trials):
        return False
    if not row[Column.SKEWNESS]:  # nothing varies beyond rounding, or it needs no correction
        return True
    mean, farthest = row[Column.MEAN], row[Column.SD] * max(ORDINARY_EXTREME, TRUSTED_EXTREME * np.sqrt(trials))
    return bool(min(mean - row.get(Column.MINIMUM, mean), row.get(Column.MAXIMUM, mean) - mean) <= farthest)


def _share(row: TableRow, error: float) -> Estimate:
    """`count` out of `trials`, with the interval of the probability behind it."""
    count, trials = int(row[Column.COUNT]), int(row[Column.TRIALS])
    return count / trials, *proportion_interval(count, trials, error=error)


def _below(row: TableRow, estimate: Estimate, measured: float = np.nan) -> Comparison:
    """The comparison of a statistic that must be at most `bound`, up to rounding; `measured` as for `_comparison`."""
    (statistic, low, high), bound = estimate, row[Column.BOUND]
    rounded = bound + ROUNDING * max(1.0, abs(bound))
    verdict: Verdict = "holds" if high <= rounded else "fails" if low > rounded else "inconclusive"
    slack = (bound - high) / (abs(bound) or abs(statistic) or 1.0)
    if verdict == "holds":
        slack = max(slack, 0.0)  # an excess by rounding counts as none
    return _comparison(row, verdict, estimate, bound, slack, measured)


def _comparison(
    row: TableRow, verdict: Verdict, estimate: Estimate, bound: float, slack: float, measured: float = np.nan
) -> Comparison:
    """A comparison for this row; its tightness is the row's bound divided by `measured`, if both are positive."""
    allowed = row.get(Column.BOUND, np.nan)
    tightness = allowed / measured if allowed > 0 and measured > 0 else np.nan
    return Comparison(verdict, _case(row), *estimate, bound, slack, int(row[Column.TRIALS]), tightness)


def _case(row: TableRow) -> str:
    """The values on the axes, in words, which distinguish this comparison from others of its method."""
    values = ((axis, row.get(axis)) for axis in AXES)
    return ", ".join(at if isinstance(at, str) else f"{axis}={at:g}" for axis, at in values if not pd.isna(at))

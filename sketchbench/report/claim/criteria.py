"""The criteria that claims name: rows of a table in, comparisons out.

A comparison compares one measured number, with its confidence interval, with one value. It *holds* or *fails* where
this follows from every number in the interval, and is *inconclusive* otherwise.

Every criterion is a function of the rows of one method, with the columns `exact` and `bound`; of the error rate of a
single comparison, for which the caller divides the family-wise error rate by the number of comparisons (Bonferroni);
and of the settings of the claim. It returns a comparison for each row that it applies to (`growth`: for each curve).
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from sketchbench.base.parameters import Checked, Positive
from sketchbench.measure.audit import epsilon_lower_bound
from sketchbench.measure.column import AXES, Column
from sketchbench.measure.interval import Slope, log_slope, mean_interval, proportion_interval
from sketchbench.measure.rerun import chance_of_change
from sketchbench.measure.summary import ROUNDING

# Hall's correction is of the first order in skewness/√trials. Above this value, simulations of heavy tails miss the
# nominal error rate, so that means are then not judged.
TRUSTED_SKEWNESS = 0.2
# Where no growth is claimed along these columns, the alternative is growth in proportion to them.
LINEAR = (Column.D, Column.CHANNEL_NOISE)
# The columns that may distinguish the curves whose growth is measured.
CURVES = (Column.D, Column.S, Column.SEED, Column.B)

TableRow = Mapping[Any, Any]  # from column names to values
Estimate = tuple[float, float, float]  # a statistic, and the ends of its interval
Verdict = Literal[
    "holds", "holds, not sharp", "fails", "inconclusive", "vacuous", "does not transfer", "void", "not run"
]


@dataclass(frozen=True)
class Comparison:
    """One measured number, compared with one value.

    Attributes:
        verdict: `holds`, `fails` or `inconclusive`.
        case: what distinguishes the comparison from the others of its method, in words.
        statistic: the measured number.
        low, high: the confidence interval of the statistic.
        bound: the value that it is compared with.
        slack: the distance from the interval to the bound, relative to the bound (to the statistic where the bound is
            0); for an equality, that from the bound to the end of the interval, relative to the interval's half-width.
            Negative where the claim is violated.
        trials: independent trials behind the statistic; 0 where it was computed without any.
        tightness: what is allowed over what was measured: the bound over the mean, the largest trial, the number, or
            the ε that was proven. NaN where the criterion has no such ratio, or it is not one of positive numbers.
        flips: for a probability, the chance that as many new trials decide otherwise, if it is the share that was
            measured; NaN for all else.
    """

    verdict: Verdict
    case: str
    statistic: float
    low: float
    high: float
    bound: float
    slack: float
    trials: int
    tightness: float = float("nan")
    flips: float = float("nan")


@dataclass(frozen=True)
class CriterionSettings(Checked):
    """The settings of a criterion that a claim may choose; see conf/claim.

    Attributes:
        margin: how coarse a result may be that confirms the claim. For `equality`, the largest half-width of the
            interval, relative to max(1, |exact|); for `audit`, the largest distance below the bound, relative to it.
        over: for `growth`, the column that it is measured along.
    """

    margin: Positive = 0.25
    over: str = Column.D


Criterion = Callable[[pd.DataFrame, float, CriterionSettings], list[Comparison]]
RowCriterion = Callable[[TableRow, float, CriterionSettings], Comparison]


def _for_rows_with(*columns: str) -> Callable[[RowCriterion], Criterion]:
    """Make a criterion of single rows one of tables, for the rows that have a number in each of these columns.

    A row may have a `positive_control`: in how many trials the attack succeeded without the defence. Unless this shows
    a probability of success above 1/2, its verdict is inconclusive.
    """

    def extend(compare: RowCriterion) -> Criterion:
        @functools.wraps(compare)
        def criterion(rows: pd.DataFrame, error: float, settings: CriterionSettings) -> list[Comparison]:
            each = (dict(zip(rows, values, strict=True)) for values in rows.to_numpy(object))  # a tenth of `to_dict`
            numbers = (row for row in each if not any(pd.isna(row[column]) for column in columns))
            return [_doubt(compare(row, error, settings), _attack_works(row, error)) for row in numbers]

        return criterion

    return extend


def _attack_works(row: TableRow, error: float) -> bool:
    """Whether the positive control of a row shows that the attack works; true for a row without one."""
    control = row.get(Column.POSITIVE_CONTROL, np.nan)
    return pd.isna(control) or proportion_interval(int(control), int(row[Column.TRIALS]), error=error).low > 0.5


def _doubt(comparison: Comparison, trusted: bool) -> Comparison:
    """The comparison, inconclusive unless it is trusted."""
    return comparison if trusted else replace(comparison, verdict="inconclusive")


@_for_rows_with(Column.EXACT)
def equality(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The mean equals `exact`: its interval contains that, and is narrow enough to have excluded other values."""
    low, high = _mean_interval(row, error)
    exact, half = row[Column.EXACT], (high - low) / 2
    narrow = half <= settings.margin * max(1.0, abs(exact))
    verdict: Verdict = "fails" if not low <= exact <= high else "holds" if narrow else "inconclusive"
    slack = 1 - abs(exact - (low + high) / 2) / half
    return _doubt(_comparison(row, verdict, (row[Column.MEAN], low, high), exact, slack), _has_enough_trials(row))


@_for_rows_with(Column.BOUND)
def upper_bound(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The mean is at most `bound`. A run that diverged has no mean, and exceeds every bound."""
    if row.get(Column.STATUS) == "diverged":
        return _comparison(row, "fails", (np.inf, np.inf, np.inf), row[Column.BOUND], -np.inf, np.inf)
    mean = row[Column.MEAN]
    return _doubt(_below(row, (mean, *_mean_interval(row, error)), mean), _has_enough_trials(row))


@_for_rows_with(Column.BOUND)
def probability(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The probability behind `count` out of `trials` is at most `bound`.

    A few trials never decide it: at the level of a run, with 1/2 for the bound, fewer than about twenty. Where so many
    are too expensive, a claim that one trial may refute has a second check, `always`, of what was declared in advance
    to do so. Together they fail where a single trial does it, and hold only where there are enough of them.
    """
    comparison = _below(row, _share(row, error))
    count, trials = int(row[Column.COUNT]), int(row[Column.TRIALS])
    return replace(comparison, flips=chance_of_change(count, trials, bound=row[Column.BOUND], error=error))


@_for_rows_with(Column.BOUND, Column.COUNT)
def always(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """No trial exceeds `bound`; `count` is the number of trials that do.

    A single one refutes the claim. The interval is that of the probability of an exceedance: trials without any can
    only show that it is small. The slack is that of the largest trial.
    """
    bound, largest = row[Column.BOUND], row[Column.MAXIMUM]
    verdict: Verdict = "fails" if row[Column.COUNT] else "holds"
    comparison = _comparison(row, verdict, _share(row, error), 0.0, (bound - largest) / abs(bound), largest)
    return replace(comparison, case=f"{comparison.case}, largest {largest:.4g} of {bound:.4g}".lstrip(", "))


def growth(rows: pd.DataFrame, error: float, settings: CriterionSettings) -> list[Comparison]:
    """The mean grows along the column `over` as `bound` does: with the claimed power of it.

    There is a comparison for each curve (see `_curves`) with two values of that column at least; of several rows with
    the same value the one with the largest mean counts. The slope of log mean over log `over` is compared with the
    midpoint between the claimed slope, which is that of `bound` (0 where there is no bound), and an alternative. That
    is 0 where growth or decay is claimed. Where none is claimed, it is 1 along d and channel_noise, and 1/2 along
    other columns, such as b: the slope of what is multiplied by √b and does not decrease with b.
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


@_for_rows_with(Column.BOUND, Column.VALUE)
def computed(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The number `value`, which has no randomness, is at most `bound`. There are no trials."""
    value = row[Column.VALUE]
    return _below({**row, Column.TRIALS: 0}, (value, value, value), value)


@_for_rows_with(Column.BOUND, Column.HITS)
def audit(row: TableRow, error: float, settings: CriterionSettings) -> Comparison:
    """The attack proves no ε above `bound`, the ε that is accounted for at `delta`.

    Of `trials` runs with the canary the attack takes `hits` for such, and of as many without it `false_alarms`. From
    this follows a lower bound of the true ε, which can refute the account but never confirm it. The verdict is
    inconclusive where it is further below `bound` than the margin allows.
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

# Those that hold a number against a bound. The two ends of an audit's interval are two probabilities.
ONE_SIDED = {"upper_bound", "probability", "always", "growth"}


def _curves(rows: pd.DataFrame, over: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The curves over a column in these rows, each with its case: one for each combination of values in the columns
    `CURVES`, except columns whose value follows from `over`, as b follows from the compression at every d."""
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
    """The slope of log `bound` over the logarithm of a column; 0 where there is no bound."""
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
    """The interval of a mean; that of a single trial, which has no spread, is all numbers."""
    trials = int(row[Column.TRIALS])
    if trials < 2:
        return -np.inf, np.inf
    scale = max(1.0, *(abs(row[name]) for name in (Column.EXACT, Column.BOUND) if not np.isnan(row[name])))
    return mean_interval(row[Column.MEAN], row[Column.SD], row[Column.SKEWNESS], trials, error=error, scale=scale)


def _has_enough_trials(row: TableRow) -> bool:
    """Whether the interval of the mean can be trusted, given the skewness of the trials."""
    trials = row[Column.TRIALS]
    return bool(trials > 1 and abs(row[Column.SKEWNESS]) <= TRUSTED_SKEWNESS * np.sqrt(trials))


def _share(row: TableRow, error: float) -> Estimate:
    """`count` out of `trials`, with the interval of the probability behind it."""
    count, trials = int(row[Column.COUNT]), int(row[Column.TRIALS])
    return count / trials, *proportion_interval(count, trials, error=error)


def _below(row: TableRow, estimate: Estimate, measured: float = np.nan) -> Comparison:
    """The comparison of a statistic that must be at most `bound`, up to rounding; `measured` as of `_comparison`."""
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
    """A comparison for this row; its tightness is the row's bound over what was `measured`, where both are positive."""
    allowed = row.get(Column.BOUND, np.nan)
    tightness = allowed / measured if allowed > 0 and measured > 0 else np.nan
    return Comparison(verdict, _case(row), *estimate, bound, slack, int(row[Column.TRIALS]), tightness)


def _case(row: TableRow) -> str:
    """What distinguishes this comparison from the others of its method, in words: its values on the axes."""
    values = ((axis, row.get(axis)) for axis in AXES)
    return ", ".join(at if isinstance(at, str) else f"{axis}={at:g}" for axis, at in values if not pd.isna(at))

"""The statistical tests that claims name: rows of a table in, comparisons out.

A comparison holds one measured number, with its interval, against one value. It *holds* or *fails*
when the whole interval says so, and is *inconclusive* otherwise. Every function takes the rows of
one method and the error rate of a single comparison; the caller divides the family-wise rate by the
number of comparisons (Bonferroni).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from sketchbench.measure.audit import epsilon_proven
from sketchbench.measure.interval import log_slope, mean_interval, proportion_interval
from sketchbench.measure.row import Column
from sketchbench.measure.summary import ROUNDING

# Hall's correction is of the first order in skewness/√trials; beyond this, simulations of heavy tails
# miss the nominal error rate, so a mean is then not judged.
TRUSTED_SKEWNESS = 0.2
# The columns that tell a comparison from the others of its method, where they are there.
TELLING = [
    "case",
    "lemma",
    "epsilon",
    "delta",
    "steps",
    "batch",
    "d",
    "b",
    "s",
    "nodes",
    "seed",
    "compression",
    "amount",
    "channel_noise",
    "local_steps",
    "heterogeneity",
    "participation",
    "round",
    "share",
]

# Along these, what grows although it should not grows in proportion.
LINEAR = ("d", "channel_noise")

Row = Mapping[Any, Any]  # a row of a table
Verdict = Literal["holds", "fails", "inconclusive", "not run"]


@dataclass(frozen=True)
class Comparison:
    """statistic in [low, high] against bound; slack: how far inside it is, relative to the bound
    (to the statistic where that is 0; for an equality, to the half-width of the interval), negative
    outside."""

    verdict: Verdict
    case: str
    statistic: float
    low: float
    high: float
    bound: float
    slack: float
    trials: int


@dataclass(frozen=True)
class Settings:
    """What a claim may tell its test; see conf/claim.

    margin: for an equality, the half-width an interval may have, relative to max(1, |exact|), for
    "no difference seen" to mean anything; for an audit, how far below the bound it may stay, relative to
    the bound, for "no violation seen" to mean anything. over: the column that a growth is measured along.
    """

    margin: float = 0.25
    over: str = "d"


def equality(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The mean equals `exact`: its interval contains it, and is narrow enough to have noticed."""
    comparisons = []
    for row in rows[rows[Column.EXACT].notna()].to_dict("records"):
        low, high = _mean_interval(row, error)
        exact, half = row[Column.EXACT], (high - low) / 2
        narrow = half <= settings.margin * max(1.0, abs(exact))
        inside = low <= exact <= high
        verdict: Verdict = "fails" if not inside else "holds" if narrow else "inconclusive"
        if not _trusted(row):
            verdict = "inconclusive"
        slack = 1 - abs(exact - (low + high) / 2) / half
        comparisons.append(_comparison(row, verdict, row[Column.MEAN], low, high, exact, slack))
    return comparisons


def upper_bound(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The mean is at most `bound`. A run that diverged has no mean, and exceeds every bound."""
    comparisons = []
    for row in rows[rows[Column.BOUND].notna()].to_dict("records"):
        if row.get(Column.STATUS) == "diverged":
            infinite, bound = float("inf"), row[Column.BOUND]
            comparisons.append(_comparison(row, "fails", infinite, infinite, infinite, bound, -infinite))
            continue
        low, high = _mean_interval(row, error)
        comparison = _below(row, row[Column.MEAN], low, high, row[Column.BOUND])
        if not _trusted(row):
            comparison = replace(comparison, verdict="inconclusive")
        comparisons.append(comparison)
    return comparisons


def probability(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The probability behind `count` out of `trials` is at most `bound`."""
    comparisons = []
    for row in rows[rows[Column.BOUND].notna()].to_dict("records"):
        low, high = proportion_interval(int(row[Column.COUNT]), int(row[Column.TRIALS]), error=error)
        share = row[Column.COUNT] / row[Column.TRIALS]
        comparisons.append(_below(row, share, low, high, row[Column.BOUND]))
    return comparisons


def always(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """No trial exceeds `bound`; `count` of them do.

    One refutes the claim. The interval is that of the probability to exceed: what any number of
    trials without an exceedance can show is that it is rare. Slack is that of the largest trial.
    """
    comparisons = []
    for row in rows[rows[Column.BOUND].notna()].to_dict("records"):
        count, trials = int(row[Column.COUNT]), int(row[Column.TRIALS])
        low, high = proportion_interval(count, trials, error=error)
        slack = (row[Column.BOUND] - row[Column.MAXIMUM]) / abs(row[Column.BOUND])
        found = _comparison(row, "fails" if count else "holds", count / trials, low, high, 0.0, slack)
        case = f"{found.case}, largest {row[Column.MAXIMUM]:.4g} of {row[Column.BOUND]:.4g}".lstrip(", ")
        comparisons.append(replace(found, case=case))
    return comparisons


def growth(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The mean grows along `over` like `bound` does: like the claimed power, not the other one.

    For each value of that column the case with the largest mean counts. The slope of log mean over log
    `over` is held against the midpoint between the claimed slope (that of `bound`, 0 where there is
    no bound) and its alternative: 0 where some growth or decay is claimed; where none is, 1 along d
    or channel_noise, and 1/2 along b, the slope of what is scaled by √b and does not shrink with b.
    """
    others = _independent(rows, settings.over)
    groups = rows.groupby(others, dropna=False) if others else [((), rows)]
    comparisons = []
    for key, group in groups:
        worst = group.loc[group.groupby(settings.over)[Column.MEAN].idxmax()].sort_values(settings.over)
        still = bool((worst[Column.MEAN].abs() <= ROUNDING).all())
        if not still:
            worst = worst[worst[Column.MEAN] > ROUNDING]  # a zero has no logarithm
        if len(worst) < 2:
            continue
        x = worst[settings.over].to_numpy(float)
        claimed = 0.0
        if worst[Column.BOUND].notna().all() and (worst[Column.BOUND] > 0).all():
            claimed = float(np.polyfit(np.log(x), np.log(worst[Column.BOUND].to_numpy(float)), 1)[0])
        alternative = 0.0 if abs(claimed) > 0.25 else 1.0 if settings.over in LINEAR else 0.5
        middle = (claimed + alternative) / 2
        values = dict(zip(others, key, strict=True)) if others else {}
        row = {"case": _name(values), "trials": int(worst[Column.TRIALS].sum())}
        if still:
            value = low = high = 0.0  # nothing to grow
        else:
            mean = worst[Column.MEAN].to_numpy(float)
            standard_error = (worst[Column.SD] / np.sqrt(worst[Column.TRIALS])).to_numpy(float)
            value, low, high = log_slope(x, mean, standard_error, error=error)
        nearest, farthest = (low, high) if claimed > alternative else (high, low)
        slack, reach = ((end - middle) / (claimed - middle) for end in (nearest, farthest))
        verdict: Verdict = "holds" if slack > 0 else "fails" if reach < 0 else "inconclusive"
        comparisons.append(_comparison(row, verdict, value, low, high, middle, slack))
    return comparisons


def computed(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The number `value`, which has no randomness, is at most `bound`. There are no trials."""
    comparisons = []
    for row in rows[rows[Column.BOUND].notna() & rows[Column.VALUE].notna()].to_dict("records"):
        value = row[Column.VALUE]
        comparisons.append(_below({**row, "trials": 0}, value, value, value, row[Column.BOUND]))
    return comparisons


def audit(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """No attack proves an ε above `bound`, the accounted one at `delta`.

    Of `trials` runs with the canary the attack recognised `hits`, of as many without it `false_alarms`.
    What that proves is a lower bound, so it can refute the account and never confirm it; the verdict is
    inconclusive where it stays too far below the bound to have refuted much.
    """
    comparisons = []
    for row in rows[rows[Column.BOUND].notna() & rows[Column.HITS].notna()].to_dict("records"):
        hits, alarms, trials = (int(row[name]) for name in (Column.HITS, Column.FALSE_ALARMS, Column.TRIALS))
        proven = epsilon_proven(hits, alarms, trials, delta=row[Column.DELTA], error=error)
        bound = row[Column.BOUND]
        strong = proven >= (1 - settings.margin) * bound
        verdict: Verdict = "fails" if proven > bound else "holds" if strong else "inconclusive"
        slack = (bound - proven) / bound
        infinite = float("inf")
        comparisons.append(_comparison(row, verdict, proven, proven, infinite, bound, slack))
    return comparisons


Test = Callable[[pd.DataFrame, float, Settings], list[Comparison]]


def _with_control(test: Test) -> Test:
    """The same test of rows that may have a `control`: in how many of their trials an attack did without a defence
    what it is held to. Unless the probability behind that is shown to be above a half, nothing follows from them."""

    def judged(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
        if Column.CONTROL in rows:
            found = [_controlled(row, error) for row in rows.to_dict("records")]
            rows = rows.assign(controlled=found)
        return test(rows, error, settings)

    return judged


def _controlled(row: Row, error: float) -> bool:
    if pd.isna(row[Column.CONTROL]):
        return True
    return proportion_interval(int(row[Column.CONTROL]), int(row[Column.TRIALS]), error=error).low > 0.5


TESTS: dict[str, Test] = {
    test.__name__: _with_control(test) for test in (equality, upper_bound, probability, always, growth, computed, audit)
}


def _independent(rows: pd.DataFrame, over: str) -> list[str]:
    """The columns that make curves of their own: all that don't just follow the one that a growth is
    measured along, as b follows the compression at every d."""
    kept: list[str] = []
    for name in (Column.D, Column.S, Column.SEED, Column.B):
        if name in rows and name != over:
            varies = rows[name].nunique(dropna=False) > 1
            groups = rows.groupby([over, *kept], dropna=False)[name]
            if not varies or groups.nunique(dropna=False).max() > 1:
                kept.append(name)
    return kept


def _mean_interval(row: Row, error: float) -> tuple[float, float]:
    """Of a single trial, all numbers: it says nothing of the spread."""
    if row[Column.TRIALS] < 2:
        return -float("inf"), float("inf")
    scales = [abs(row[name]) for name in (Column.EXACT, Column.BOUND) if not np.isnan(row[name])]
    return mean_interval(
        row[Column.MEAN],
        row[Column.SD],
        row[Column.SKEWNESS],
        int(row[Column.TRIALS]),
        error=error,
        scale=max(1.0, *scales),
    )


def _trusted(row: Row) -> bool:
    """Whether there are enough trials for the skewness of what they measured."""
    enough = row[Column.TRIALS] > 1
    return bool(enough and abs(row[Column.SKEWNESS]) <= TRUSTED_SKEWNESS * np.sqrt(row[Column.TRIALS]))


def _below(row: Row, statistic: float, low: float, high: float, bound: float) -> Comparison:
    rounded = bound + ROUNDING * max(1.0, abs(bound))
    verdict: Verdict = "holds" if high <= rounded else "fails" if low > rounded else "inconclusive"
    slack = (bound - high) / (abs(bound) or abs(statistic) or 1.0)
    if verdict == "holds":
        slack = max(slack, 0.0)  # outside by rounding is at the edge
    return _comparison(row, verdict, statistic, low, high, bound, slack)


def _comparison(
    row: Row,
    verdict: Verdict,
    statistic: float,
    low: float,
    high: float,
    bound: float,
    slack: float,
) -> Comparison:
    if not row.get("controlled", True):
        verdict = "inconclusive"
    return Comparison(verdict, _name(row), statistic, low, high, bound, slack, int(row[Column.TRIALS]))


def _name(row: Row) -> str:
    """What tells this comparison from the others of its method."""
    parts = []
    for name in TELLING:
        value = row.get(name)
        if value is None or (isinstance(value, float) and np.isnan(value)):
            continue
        parts.append(str(value) if isinstance(value, str) else f"{name}={value:g}")
    return ", ".join(parts)

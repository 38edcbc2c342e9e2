"""The statistical tests that claims name: rows of a table in, comparisons out.

A comparison holds one measured number, with its interval, against one value. It *holds* or *fails*
when the whole interval says so, and is *inconclusive* otherwise. Every function takes the rows of
one subject and the error rate of a single comparison; the caller divides the family-wise rate by the
number of comparisons (Bonferroni).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from sketchbench.measure.interval import ROUNDING, log_slope, mean_interval, proportion_interval

Row = Mapping[Any, Any]  # a row of a table
Verdict = Literal["holds", "fails", "inconclusive", "not run"]


@dataclass(frozen=True)
class Comparison:
    """statistic in [low, high] against bound; slack: how far inside it is, relative to the bound
    (for an equality: to the half-width of the interval), negative outside."""

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
    "no difference seen" to mean anything. over: the column that a growth is measured along.
    """

    margin: float = 0.25
    over: str = "d"


def equality(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The mean equals `exact`: its interval contains it, and is narrow enough to have noticed."""
    comparisons = []
    for row in rows[rows["exact"].notna()].to_dict("records"):
        low, high = _mean_interval(row, error)
        exact, half = row["exact"], (high - low) / 2
        narrow = half <= settings.margin * max(1.0, abs(exact))
        inside = low <= exact <= high
        verdict: Verdict = "fails" if not inside else "holds" if narrow else "inconclusive"
        slack = 1 - abs(exact - (low + high) / 2) / half
        comparisons.append(_comparison(row, verdict, row["mean"], low, high, exact, slack))
    return comparisons


def upper_bound(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The mean is at most `bound`."""
    comparisons = []
    for row in rows[rows["bound"].notna()].to_dict("records"):
        low, high = _mean_interval(row, error)
        comparisons.append(_below(row, row["mean"], low, high, row["bound"]))
    return comparisons


def probability(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The probability behind `count` out of `trials` is at most `bound`."""
    comparisons = []
    for row in rows[rows["bound"].notna()].to_dict("records"):
        low, high = proportion_interval(int(row["count"]), int(row["trials"]), error=error)
        share = row["count"] / row["trials"]
        comparisons.append(_below(row, share, low, high, row["bound"]))
    return comparisons


def always(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """No trial exceeds `bound`. One that does refutes it; none that does can't prove more than
    that exceeding is rare, so the interval is that of the trials, minimum to maximum."""
    comparisons = []
    for row in rows[rows["bound"].notna()].to_dict("records"):
        most, bound = row["maximum"], row["bound"]
        verdict: Verdict = "holds" if most <= bound * (1 + ROUNDING) else "fails"
        slack = (bound - most) / abs(bound)
        comparisons.append(_comparison(row, verdict, most, row["minimum"], most, bound, slack))
    return comparisons


def growth(rows: pd.DataFrame, error: float, settings: Settings) -> list[Comparison]:
    """The mean grows along `over` like `bound` does: like the claimed power, not the other one.

    For each value of that column the case with the largest mean counts. The slope of log mean over log
    `over` is held against the midpoint between the claimed slope (that of `bound`, 0 where there is
    no bound) and its alternative: 1 where 0 is claimed, and 0 otherwise; along b, where a
    statistic scaled by √b shrinks or stays, the alternative is 1/2.
    """
    others = [name for name in ("d", "b", "s") if name in rows and name != settings.over]
    groups = rows.groupby(others, dropna=False) if others else [((), rows)]
    comparisons = []
    for key, group in groups:
        worst = group.loc[group.groupby(settings.over)["mean"].idxmax()].sort_values(settings.over)
        if not (worst["mean"].abs() <= ROUNDING).all():
            worst = worst[worst["mean"] > ROUNDING]  # a zero has no logarithm
        if len(worst) < 2:
            continue
        x = worst[settings.over].to_numpy(float)
        claimed = 0.0
        if worst["bound"].notna().all() and (worst["bound"] > 0).all():
            claimed = float(np.polyfit(np.log(x), np.log(worst["bound"].to_numpy(float)), 1)[0])
        alternative = 0.0 if claimed > 0.25 else 1.0 if settings.over == "d" else 0.5
        middle = (claimed + alternative) / 2
        values = dict(zip(others, key, strict=True)) if others else {}
        row = {"case": _name(values), "trials": int(worst["trials"].sum())}
        if (worst["mean"].abs() <= ROUNDING).all():
            value = low = high = 0.0  # nothing to grow
        else:
            mean = worst["mean"].to_numpy(float)
            standard_error = (worst["sd"] / np.sqrt(worst["trials"])).to_numpy(float)
            value, low, high = log_slope(x, mean, standard_error, error=error)
        inside = (low > middle) if claimed > alternative else (high < middle)
        outside = (high < middle) if claimed > alternative else (low > middle)
        verdict: Verdict = "holds" if inside else "fails" if outside else "inconclusive"
        slack = (value - middle) / (claimed - middle)
        comparisons.append(_comparison(row, verdict, value, low, high, middle, slack))
    return comparisons


Test = Callable[[pd.DataFrame, float, Settings], list[Comparison]]
TESTS: dict[str, Test] = {
    test.__name__: test for test in (equality, upper_bound, probability, always, growth)
}


def _mean_interval(row: Row, error: float) -> tuple[float, float]:
    scale = max(abs(row.get(name) or 0.0) for name in ("exact", "bound"))
    return mean_interval(
        row["mean"],
        row["sd"],
        row["skewness"],
        int(row["trials"]),
        error=error,
        scale=max(1.0, 0.0 if np.isnan(scale) else scale),
    )


def _below(row: Row, statistic: float, low: float, high: float, bound: float) -> Comparison:
    rounded = bound + ROUNDING * max(1.0, abs(bound))
    verdict: Verdict = "holds" if high <= rounded else "fails" if low > rounded else "inconclusive"
    slack = (bound - high) / abs(bound) if bound else 0.0
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
    return Comparison(verdict, _name(row), statistic, low, high, bound, slack, int(row["trials"]))


def _name(row: Row) -> str:
    """What tells this comparison from the others of its subject."""
    parts = []
    for name in ("case", "lemma", "delta", "d", "b", "s"):
        value = row.get(name)
        if value is None or (isinstance(value, float) and np.isnan(value)):
            continue
        parts.append(str(value) if name in ("case", "lemma") else f"{name}={value:g}")
    return ", ".join(parts)

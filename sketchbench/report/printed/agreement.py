"""The rules by which a printed number agrees with a measured number.

A number that a paper prints without a spread is one draw, or the mean of the number of draws that the paper states. It
is held against the interval in which another such mean would lie with probability 95 %, if it had the distribution that
we measured:

    mean ± t · sd · √(1/draws + 1/trials),    t of Student with trials - 1 degrees of freedom,

widened by half a unit of the last printed digit, and by the tolerance stated in advance. Few trials do not show whether
draws or their logarithms are normal. So positive quantities have a second interval, mean · exp(± t · sd/mean ·
√(1/draws + 1/trials)). A number outside both intervals `differs`. A number inside both `agrees`, if the intervals are
no wider than stated in advance. All other numbers are `open`. `site.printed.RULE` states all rules.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from scipy import special

from sketchbench.measure.column import Column
from sketchbench.measure.interval import Interval, normal_quantile, student_quantile
from sketchbench.measure.summary import ROUNDING
from sketchbench.report.printed.transcription import PrintedCell

ERROR = 0.05  # probability that a number of the same distribution differs
AGREES, DIFFERS, OPEN, UNPRINTED = "agrees", "differs", "open", "unprinted"
ON_A_STAND_IN = {word: f"{word} on a stand-in" for word in (AGREES, DIFFERS)}
VERDICTS = {"holds": AGREES, "holds, not sharp": AGREES, "fails": DIFFERS}


class CellOutcome(NamedTuple):
    """The result of a cell's comparison: columns of printed.csv (see `cells.MEANINGS`); NaN for no number."""

    agrees: str
    reason: str
    measured: float = math.nan
    low: float = math.nan
    high: float = math.nan
    trials: int = 0


def prediction_intervals(mean: float, sd: float, trials: int, *, draws: int, positive: bool) -> list[Interval]:
    """The intervals that miss the mean of further draws with probability ERROR, from at least 2 trials: for normal
    draws, and for positive numbers also for log-normal draws."""
    spread = student_quantile(ERROR, trials - 1) * sd * math.sqrt(1 / draws + 1 / trials)
    normal = [Interval(mean - spread, mean + spread)]
    return [*normal, Interval(mean * math.exp(-spread / mean), mean * math.exp(spread / mean))] if positive else normal


def judge_draw(cell: PrintedCell, row: Mapping[Any, Any]) -> CellOutcome:
    """Compare the printed number as the mean of draws with the distribution of a row's mean, sd and trials."""
    mean, sd = number(row, Column.MEAN), number(row, Column.SD)
    trials = int(number(row, Column.TRIALS, 0.0))
    if math.isnan(mean):
        why = [str(row[name]) for name in (Column.STATUS, Column.REASON) if isinstance(row.get(name), str)]
        return CellOutcome(OPEN, f"no number: {', '.join(why) or 'the row has none'}", trials=trials)
    if trials < 2 or math.isnan(sd):
        return CellOutcome(OPEN, "fewer than 2 trials have no spread", mean, trials=trials)
    if sd <= ROUNDING * abs(mean):
        return CellOutcome(OPEN, f"all {trials} trials gave the same value; the spread is unknown", mean)
    assert cell.tolerance is not None  # as `transcription` has checked
    intervals = prediction_intervals(mean, sd, trials, draws=cell.draws, positive=number(row, Column.MINIMUM) > 0)
    spread = intervals[0].high - mean
    granted = (cell.rounding + cell.tolerance.amount) * (1 + ROUNDING)
    inside = [low - granted <= cell.number <= high + granted for low, high in intervals]
    widest = max(high - low for low, high in intervals) / 2
    draws = "one draw" if cell.draws == 1 else f"a mean of {cell.draws} draws"
    words = f"{mean:.4g} ± {spread:.3g} for {draws}, from {trials} trials"
    agrees, reason = AGREES, f"{cell.printed} lies inside {words}"
    if not any(inside):
        agrees, reason = DIFFERS, f"{cell.printed} lies outside {words}"
    elif not all(inside):
        low, high = intervals[inside.index(True)]
        which = "normal" if inside[0] else f"log-normal, {low:.4g} to {high:.4g}"
        agrees, reason = OPEN, f"{cell.printed} lies inside only if draws are {which}: {words}"
    elif widest > cell.tolerance.widest * abs(cell.number):
        agrees, reason = OPEN, f"{reason}, which is too wide to decide"
    return CellOutcome(agrees, reason, mean, *intervals[0], trials)


def judge_single(cell: PrintedCell, row: Mapping[Any, Any], others: Sequence[Mapping[Any, Any]]) -> CellOutcome:
    """Compare the printed number, as a draw, with a single trial, which borrows its spread from `others`: rows of at
    least 2 trials each."""
    assert cell.tolerance is not None  # as `transcription` has checked
    limits = [_spread_limit(other) for other in others]
    mean, spread = number(row, Column.MEAN), max(limits) * math.sqrt(1 / cell.draws + 1)
    low, high = (mean * math.exp(sign * normal_quantile(ERROR / 2) * spread) for sign in (-1, 1))
    granted = (cell.rounding + cell.tolerance.amount) * (1 + ROUNDING)
    inside = low - granted <= cell.number <= high + granted
    words = f"{low:.4g} to {high:.4g}, from 1 trial with the spread of the most variable of {len(others)} other rows"
    factor = math.exp(normal_quantile(ERROR / 2) * spread)
    reason = f"{cell.printed} lies {'inside' if inside else 'outside'} {words}, a factor of {factor:.3g} either way"
    if inside and (high - low) / 2 > cell.tolerance.widest * abs(cell.number):
        return CellOutcome(OPEN, f"{reason}, which is too wide to decide", mean, low, high, 1)
    return CellOutcome(AGREES if inside else DIFFERS, reason, mean, low, high, 1)


def _spread_limit(row: Mapping[Any, Any]) -> float:
    """An upper limit for the standard deviation of the logarithm of positive log-normal draws, from their mean, sd and
    trials; it holds with probability 1 - ERROR/2 or more."""
    freedom = int(number(row, Column.TRIALS)) - 1
    squared = math.log1p((number(row, Column.SD) / number(row, Column.MEAN)) ** 2)
    return math.sqrt(squared * freedom / special.chdtri(freedom, 1 - ERROR / 2))


def judge_digits(cell: PrintedCell, value: float) -> CellOutcome:
    """Compare the printed number with the rounding of a number without randomness."""
    if math.isnan(value):
        return CellOutcome(OPEN, "no number")
    same = abs(cell.number - value) <= cell.rounding + ROUNDING * abs(value)
    reason = f"{value:.6g} {'rounds' if same else 'does not round'} to {cell.printed}"
    return CellOutcome(AGREES if same else DIFFERS, reason, value, value, value)


def judge_claim(cell: PrintedCell, verdicts: Sequence[Mapping[Any, Any]]) -> CellOutcome:
    """Judge words or a bound by the verdicts on their claim: first a verdict that fails decides, then an open one. The
    outcome says if the claim is about a stand-in."""
    of = f" of {cell.method}" if cell.method else ""
    if not verdicts:
        return CellOutcome(OPEN, f"claim {cell.claim} has no verdict{of}")
    order = [DIFFERS, OPEN, AGREES]
    first = min(verdicts, key=lambda row: order.index(VERDICTS.get(row["verdict"], OPEN)))
    agrees, reason = VERDICTS.get(first["verdict"], OPEN), f"claim {cell.claim}{of}: {first['verdict']}"
    if cell.stand_in:
        agrees = ON_A_STAND_IN.get(agrees, agrees)
    if first["verdict"] == "not run":
        return CellOutcome(OPEN, reason)
    statistic, low, high, bound = (number(first, name) for name in ("statistic", "low", "high", "bound"))
    trials = int(number(first, Column.TRIALS, 0.0))
    reason += f", {statistic:.4g} in [{low:.4g}, {high:.4g}] against {bound:.4g}"
    if cell.criterion != "bound":
        return CellOutcome(agrees, reason, trials=trials)
    if abs(bound - cell.number) > cell.rounding:
        agrees, reason = OPEN, f"{reason}, which is not the printed {cell.printed}"
    return CellOutcome(agrees, reason, statistic, low, high, trials)


def number(row: Mapping[Any, Any], name: str, missing: float = math.nan) -> float:
    """The number in a column of a row; `missing` if the row has none."""
    value = row.get(name, missing)
    return missing if value is None or math.isnan(value) else float(value)

"""Compare verdicts with the published verdicts: a word for each claim and method, by verdict and interval.

All intervals of a run hold at once, as do all published intervals. So two disjoint intervals of one quantity measure
different things, unless one of the runs is among the few (1e-3) that miss a true value.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.measure.summary import ROUNDING
from sketchbench.report.claim import gate, page
from sketchbench.report.claim.claims import ANY
from sketchbench.report.claim.verdict import CONFIRMED

Word = Literal["reproduced", "weaker", "stronger", "differs", "not run"]
WORDS: tuple[Word, ...] = get_args(Word)
RESOLUTION = 1e-5  # relative: one step of the last of the 6 digits in claims.csv
SHARES = ("probability", "always")  # the criteria whose statistic is a count out of the trials
BY_SLACK = ("upper_bound", "probability")  # if all cases hold, the largest interval relative to its bound decides
ANOTHER = "another number, although it has no randomness"
DISJOINT = "from disjoint intervals"
LISTED = 3  # verdicts of a word in the last line of a run; further verdicts are only counted
Row = Mapping[Any, Any]


class Compared(NamedTuple):
    """A verdict beside the published verdict."""

    claim: str
    method: str
    word: Word
    difference: str = ""  # in words, if the verdict is not reproduced
    numbers: str = ""  # of both verdicts

    @property
    def name(self) -> str:
        return f"{self.claim} {self.method or 'all methods'}"

    def __str__(self) -> str:
        return f"{self.name}: {self.word}: {self.difference}{f': {self.numbers}' if self.numbers else ''}"


def compare(published: pd.DataFrame, found: pd.DataFrame) -> list[Compared]:
    """The verdicts of a run beside the published verdicts, in the order of the run, without verdicts on times. A claim
    that only this run has judged is one entry for each method, `not run`; a published verdict that this run lacks,
    because its study was left out, differs.

    Both tables are from `check.read_verdicts`; the published table may lack the column `predicted`.
    """
    was, now = _by_key(published), _by_key(found)
    timed = {row["claim"] for row in now.values() if row["predicted"] == ANY}
    idle, left_out = ({key[0] for key, row in rows.items() if row["verdict"] == "not run"} for rows in (was, now))
    keys = [key for key in dict.fromkeys([*now, *was]) if key[0] not in timed]
    judged = {claim for claim, method in keys if method}
    compared = []
    for claim, method in keys:
        before, after = was.get((claim, method)), now.get((claim, method))
        label = (after or before or {})[Column.LABEL] or method
        if claim in left_out and before and before["verdict"] != "not run":
            compared.append(Compared(claim, label, "differs", f"not run, published {before['verdict']}"))
        elif claim not in idle | left_out:
            compared.append(Compared(claim, label, *_word(before, after)))
        elif method or claim not in judged:
            compared.append(Compared(claim, label, "not run"))
    return compared


def _by_key(verdicts: pd.DataFrame) -> dict[tuple[str, str], Row]:
    return {(row["claim"], row[Column.METHOD]): row for row in verdicts.to_dict("records")}


def _word(was: Row | None, now: Row | None) -> tuple[Word, str, str]:
    """The word for two verdicts on the same claim and method, their difference, and their numbers."""
    if was is None or now is None:
        return "differs", "it is not published" if was is None else "it is published, but missing here", ""
    before, after = was["verdict"], now["verdict"]
    apart = _apart(was, now)
    if fewer := _fewer(was, now):
        return "differs", f"{after}, {fewer}", ""
    if before == after:
        return ("differs", f"{after}, {apart}", _numbers(was, now)) if apart else ("reproduced", "", "")
    word: Word = "differs" if apart else _of_verdicts(before, after)
    return word, f"{after}, published {before}", _numbers(was, now)


def _fewer(was: Row, now: Row) -> str:
    """The comparisons that a run lacks of the published comparisons, of a claim or of its control, in words."""
    for name, column in (("comparisons", "comparisons"), ("comparisons of the control", "negative_control_rejected")):
        before, after = (float(str(row.get(column, "")).split(" of ")[-1] or "nan") for row in (was, now))
        if after < before:
            return f"{after:.0f} {name}, published {before:.0f}"
    return ""


def _of_verdicts(was: str, now: str) -> Word:
    """The word for two different verdicts."""
    if gate.VOID in (was, now):
        return "differs"
    if now == "inconclusive" or (was, now) == ("holds", "holds, not sharp"):
        return "weaker"
    if was == "inconclusive" or (was, now) == ("holds, not sharp", "holds"):
        return "stronger"
    return "differs"


def _apart(was: Row, now: Row) -> str:
    """Why the numbers of two rows can't belong to one quantity, in words; "" if they can."""
    if _decided_by(was) != _decided_by(now):
        return _apart_elsewhere(was, now)
    unit = max(1.0, abs(was[Column.BOUND]))
    if not _close(was[Column.BOUND], now[Column.BOUND]):
        # another comparison decides an inconclusive verdict, perhaps of another quantity in the same case
        undecided_once = (was["verdict"] == "inconclusive") != (now["verdict"] == "inconclusive")
        return "" if undecided_once else "against another bound"
    if was[Column.TRIALS] == now[Column.TRIALS] == 0:
        return "" if _close(was["statistic"], now["statistic"], unit) else ANOTHER
    return DISJOINT if _disjoint([was["low"], was["high"]], [now["low"], now["high"]], unit) else ""


def _apart_elsewhere(was: Row, now: Row) -> str:
    """As `_apart`, if another case decides, with numbers of another quantity.

    Computed numbers have the same least slack in every case. If both verdicts hold up to a bound, the case with the
    largest interval relative to its bound decides. If two such intervals are disjoint, so are the intervals of a single
    case. Otherwise the numbers say nothing.
    """
    if was[Column.TRIALS] == now[Column.TRIALS] == 0:
        return "" if _close(was["slack"], now["slack"]) else ANOTHER
    hold = all(row["verdict"] in CONFIRMED and row[Column.BOUND] > 0 for row in (was, now))
    if not hold or was["criterion"] != now["criterion"] or was["criterion"] not in BY_SLACK:
        return ""
    before, after = ([row[end] / row[Column.BOUND] for end in ("low", "high")] for row in (was, now))
    return DISJOINT if _disjoint(before, after) else ""


def _decided_by(row: Row) -> tuple[str, ...]:
    """The comparison that decides a verdict, without a number at the end of the case."""
    return row["study"], row["criterion"], re.sub(r"(, )?largest .*", "", row[Column.CASE])


def _close(one: float, other: float, unit: float = 1.0) -> bool:
    """Whether two numbers of 6 digits are equal up to rounding; `unit` is the size of the terms."""
    if not (math.isfinite(one) and math.isfinite(other)):
        return one == other or (math.isnan(one) and math.isnan(other))
    return abs(one - other) <= RESOLUTION * max(abs(one), abs(other)) + ROUNDING * unit


def _disjoint(one: Sequence[float], other: Sequence[float], unit: float = 1.0) -> bool:
    """Whether two intervals, each with a low and a high end, are disjoint beyond rounding."""
    pairs = ((one[1], other[0]), (other[1], one[0]))
    return any(high < low and not _close(high, low, unit) for high, low in pairs)


def _numbers(was: Row, now: Row) -> str:
    """The measured and the published numbers: counts of trials, or statistics in their intervals."""
    if not (now["criterion"] == was["criterion"] and now["criterion"] in SHARES):
        return f"{page.numbers(now)} (published: {page.numbers(was)})"
    before, after = (f"{row['statistic'] * row[Column.TRIALS]:.0f}" for row in (was, now))
    of = "" if was[Column.TRIALS] == now[Column.TRIALS] else f" of {was[Column.TRIALS]:.0f}"
    return f"{after} of {now[Column.TRIALS]:.0f} trials (published: {before}{of})"


def last_line(compared: Sequence[Compared]) -> str:
    """The number of reproduced verdicts, of the verdicts that both runs have, and the others: `reproduced: 952 of 953
    verdicts; weaker: F6 PowerSGD, 22 of 24 trials (published: 24)`."""
    of = {word: [one for one in compared if one.word == word] for word in WORDS}
    judged = len(compared) - len(of["not run"])
    parts = [f"reproduced: {len(of['reproduced'])} of {judged} verdicts"]
    parts += [f"{word}: {_listed(of[word])}" for word in ("weaker", "stronger", "differs") if of[word]]
    return "; ".join([*parts, *([f"not run: {len(of['not run'])}"] if of["not run"] else [])])


def _listed(some: Sequence[Compared]) -> str:
    if len(some) > LISTED:
        return f"{len(some)} ({', '.join(one.name for one in some[:LISTED])}, ...)"
    return ", and ".join(f"{one.name}, {one.numbers or one.difference}" for one in some)

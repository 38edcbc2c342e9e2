"""Judge a claim: apply its criteria to the rows that its checks select."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim.claims import Check, Claim, ClaimError
from sketchbench.report.claim.control import NegativeControl, with_references
from sketchbench.report.claim.criteria import CRITERIA, Comparison
from sketchbench.report.claim.verdict import ONE_SIDED, Verdict

SEVERITY: tuple[Verdict, ...] = ("holds", "inconclusive", "fails")


class Judgement(NamedTuple):
    """A comparison of a claim, with the study of its rows and the name of the criterion."""

    study: str
    criterion: str
    comparison: Comparison


class Measured:
    """The rows of a study's table by method; it caches selections, since many claims select the same rows."""

    def __init__(self, study: str, table: pd.DataFrame) -> None:
        missing = {name: float("nan") for name in (Column.EXACT, Column.BOUND, Column.VALUE) if name not in table}
        self._study, self._table = study, table.assign(**missing)
        self._of = {str(method): rows for method, rows in self._table.groupby(Column.METHOD, sort=False)}
        self._selected: dict[str, pd.DataFrame] = {}

    @property
    def labels(self) -> dict[str, str]:
        """The label of each method."""
        return {method: rows[Column.LABEL].iloc[-1] for method, rows in self._of.items()}

    def rows(self, method: str) -> pd.DataFrame:
        """All rows of a method."""
        return self._of.get(method, self._table.iloc[:0])

    def select(self, check: Check, method: str) -> pd.DataFrame:
        """The rows of one method that a check applies to, with columns `exact` and `bound`.

        Raises ClaimError for a column that the table lacks."""
        key = f"{method} {check.where}"
        if key not in self._selected:
            rows = self.rows(method)
            chosen = pd.Series(True, rows.index)
            for column, value in check.where.items():
                if column not in rows:
                    raise ClaimError(f"the table of {self._study} has no column {column} to select by")
                chosen &= rows[column].isin(value if isinstance(value, list) else [value])
            self._selected[key] = rows[chosen]
        over = check.settings.over
        if check.criterion == "growth" and over not in self._table:
            raise ClaimError(f"the table of {self._study} has no column {over} to grow along")
        return self._selected[key]


class CheckedRows(NamedTuple):
    """The rows of a study that a check applies to, whatever the error rate."""

    check: Check
    study: str
    rows: pd.DataFrame


def selections(claim: Claim, tables: Mapping[str, Measured], method: str) -> list[CheckedRows]:
    """The rows that a claim's checks apply to for one method, inside the claim or not, by check and study.

    Raises ClaimError for a table without a column that a check selects by, or measures growth along.
    """
    return [
        CheckedRows(check, study, tables[study].select(check, method))
        for check in claim.checks
        for study in check.studies
    ]


def control_selections(
    claim: Claim, control: NegativeControl, tables: Mapping[str, Measured], method: str
) -> list[CheckedRows]:
    """The rows that the checks apply to for a control of one method, see `selections`. Checks without rows of the
    method itself are left out."""
    selections = []
    for check in claim.checks:
        claimed = pd.concat([tables[study].select(check, method) for study in check.studies])
        if claimed.empty:
            continue
        changed = replace(check, where={**check.where, **control.where}, studies=control.studies or check.studies)
        for study in changed.studies:
            rows = tables[study].select(changed, control.method or method)
            if control.reference == "claim":
                rows = with_references(rows, claimed, list(control.where))
            selections.append(CheckedRows(check, study, rows))
    return selections


def compare(selections: list[CheckedRows], level: Callable[[str], float]) -> list[Judgement]:
    """The comparisons of the checks; `level` gives the error rate of a single comparison of a study.

    A number lies on one side of its bound, so that only one end of its interval can make the verdict wrong: either end
    may miss with probability `level`.
    """
    return [
        Judgement(study, check.criterion, comparison)
        for check, study, rows in selections
        if not rows.empty
        for comparison in CRITERIA[check.criterion](
            rows, level(study) * (2 if check.criterion in ONE_SIDED else 1), check.settings
        )
    ]


def decide(comparisons: Iterable[Comparison]) -> Verdict:
    """The joint verdict of several comparisons: it holds if all hold, and fails if one fails."""
    return max((comparison.verdict for comparison in comparisons), key=SEVERITY.index, default="holds")


def weigh(
    verdict: Verdict,
    control: str,
    near_miss: str = "",
    stand_in: bool = False,
    complete: bool = True,
    by_attacks: bool = False,
) -> Verdict:
    """The verdict on a method, given the verdicts on its negative control and its near miss ("" if missing), and
    whether the rows are complete: without the rows of a condition, the rest decides nothing unless it fails.
    `by_attacks`: whether the claim is that no attack succeeds, which attacks can refute and never prove.

    A claim that holds is informative only if the control fails the same checks. If the control passes them, the claim
    is vacuous; if the control is inconclusive, so is the claim. If the near miss does not fail, the claim is not sharp.
    Controls change no other verdict. A failure on a stand-in for the claim's setting does not transfer.
    """
    if stand_in and verdict == "fails":
        return "does not transfer"
    if verdict != "holds":
        return verdict
    if not complete:
        return "inconclusive"
    if control not in ("", "fails"):
        return "vacuous" if control == "holds" else "inconclusive"
    if by_attacks:
        return "not refuted"
    return "holds" if near_miss in ("", "fails") else "holds, not sharp"

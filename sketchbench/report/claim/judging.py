"""Judging a claim: its criteria, applied to the rows of tables that its checks select."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim.claims import Check, Claim, ClaimError
from sketchbench.report.claim.control import NegativeControl, with_references
from sketchbench.report.claim.criteria import CRITERIA, Comparison, Verdict

SEVERITY: tuple[Verdict, ...] = ("holds", "inconclusive", "fails")


class Judgement(NamedTuple):
    """A comparison that a claim asks for: the study of its rows, the name of the criterion, and what came out."""

    study: str
    criterion: str
    comparison: Comparison


class Selection(NamedTuple):
    """The rows of a study that a check is applied to. They do not depend on the error rate."""

    check: Check
    study: str
    rows: pd.DataFrame


def selections(claim: Claim, tables: Mapping[str, pd.DataFrame], method: str) -> list[Selection]:
    """The rows, in the tables by study, to which the checks of a claim are applied for one method, which it need not
    be about, check by check and study by study.

    Raises ClaimError for a table without a column that a check selects by, or measures growth along.
    """
    return [
        Selection(check, study, _select(tables[study], check, study, method))
        for check in claim.checks
        for study in check.studies
    ]


def control_selections(
    claim: Claim,
    control: NegativeControl,
    tables: Mapping[str, pd.DataFrame],
    method: str,
    selected: list[Selection],
) -> list[Selection]:
    """The rows to which the checks are applied for a control of one method, whose own rows are `selected`, see
    `selections`.

    Only checks that have rows of the method itself take part.
    """
    selections = []
    for check in claim.checks:
        own = [one.rows for one in selected if one.check is check]
        if all(rows.empty for rows in own):
            continue
        changed = replace(check, where={**check.where, **control.where}, studies=control.studies or check.studies)
        for study in changed.studies:
            rows = _select(tables[study], changed, study, control.method or method)
            if control.reference == "claim":
                rows = with_references(rows, pd.concat(own), list(control.where))
            selections.append(Selection(check, study, rows))
    return selections


def compare(selections: list[Selection], error: float) -> list[Judgement]:
    """The comparisons that the checks make of their rows; `error` is the error rate of a single one."""
    return [
        Judgement(study, check.criterion, comparison)
        for check, study, rows in selections
        if not rows.empty
        for comparison in CRITERIA[check.criterion](rows, error, check.settings)
    ]


def _select(table: pd.DataFrame, check: Check, study: str, method: str) -> pd.DataFrame:
    """The rows of a study's table that a check is applied to for one method, with columns `exact` and `bound`."""
    chosen = (table[Column.METHOD] == method).to_numpy()
    for column, value in check.where.items():
        if column not in table:
            raise ClaimError(f"the table of {study} has no column {column} to select by")
        chosen = chosen & table[column].isin(value if isinstance(value, list) else [value]).to_numpy()
    over = check.settings.over
    if check.criterion == "growth" and over not in table:
        raise ClaimError(f"the table of {study} has no column {over} to grow along")
    rows = table[chosen]
    missing = {name: float("nan") for name in (Column.EXACT, Column.BOUND, Column.VALUE) if name not in rows}
    return rows.assign(**missing) if missing else rows


def decide(comparisons: Iterable[Comparison]) -> Verdict:
    """The verdict of several comparisons together: it holds where each does, and fails where one does."""
    return max((comparison.verdict for comparison in comparisons), key=SEVERITY.index, default="holds")


def weigh(verdict: Verdict, control: str, near_miss: str = "", stand_in: bool = False) -> Verdict:
    """The verdict on a method, given those on its negative control and its near miss ("" where it has none).

    A claim that holds says something only where the control fails the same checks. Where the control passes them, too,
    the claim is vacuous; where the control is inconclusive, so is the claim. Where the near miss does not fail them,
    the claim is not sharp. Controls change no other verdict.
    What fails on a stand-in for the setting that the claim speaks of does not transfer to it.
    """
    if stand_in and verdict == "fails":
        return "does not transfer"
    if verdict != "holds":
        return verdict
    if control not in ("", "fails"):
        return "vacuous" if control == "holds" else "inconclusive"
    return "holds" if near_miss in ("", "fails") else "holds, not sharp"

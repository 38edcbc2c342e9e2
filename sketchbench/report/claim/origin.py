"""Where verdicts come from: the commit of the code behind each, and whether that is the code of the plan."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.claim.claims import Claim
from sketchbench.report.standing import STATES, States

MADE, CODE = "made", "code"  # the columns of a table of verdicts that this module adds
MANY = 6  # methods; more of them are counted
Pair = tuple[str, str]  # a study and a method


@dataclass(frozen=True)
class Origin:
    """Of the rows of tables, by study and method: commits, separated by spaces, and why they are not of the plan."""

    commits: Mapping[Pair, str]
    states: Mapping[Pair, str]


def origin_of(tables: Sequence[Path], older: States) -> Origin:
    """The origin of sealed tables.

    Arguments:
        tables: their CSV files.
        older: by study and state, the methods that are not of the plan; see `planned.Plan`.

    Raises SealError for one without a whole seal.
    """
    commits = {
        (path.stem, method): commit
        for path in tables
        for method, commit in seal.read(seal.beside(path)).commits.items()
    }
    states = {
        (study, method): state for study, found in older.items() for state, listed in found.items() for method in listed
    }
    return Origin(commits, states)


def with_origin(verdicts: pd.DataFrame, claims: Sequence[Claim], origin: Origin) -> pd.DataFrame:
    """A table of verdicts with two columns more: `made`, the commits of the rows that each verdict and its negative
    control rest on, and `code`, why some of these are not of the plan ("" where all are). Verdicts that are not run
    have none."""
    by_id = {claim.id: claim for claim in claims}
    columns = [_told(row, by_id[row["claim"]], origin) for row in verdicts.to_dict("records")]
    made, code = zip(*columns, strict=True) if columns else ((), ())
    return verdicts.assign(**{MADE: made, CODE: code})


def _told(row: Mapping[Any, Any], claim: Claim, origin: Origin) -> tuple[str, str]:
    if row["verdict"] == "not run":
        return "", ""
    pairs = set(_rests_on(claim, row[Column.METHOD]))
    commits = {commit for pair in pairs for commit in origin.commits.get(pair, "").split()}
    states = {origin.states[pair] for pair in pairs if pair in origin.states}
    return " ".join(sorted(commits)), ", ".join(state for state in STATES if state in states)


def _rests_on(claim: Claim, method: str) -> Iterator[Pair]:
    """The studies and methods whose rows a verdict rests on; some of them may have no rows."""
    control = claim.control_of(method)
    for check in claim.checks:
        yield from ((study, method) for study in check.studies)
        if control and not control.reason:
            yield from ((study, control.method or method) for study in control.studies or check.studies)


def summary(verdicts: pd.DataFrame) -> list[str]:
    """How many verdicts are of each state, in words: `12 of older code`."""
    counts = verdicts[CODE].fillna("").value_counts()
    return [f"{count} of {state}" for state, count in sorted(counts.items()) if state]


def not_of_this_plan(verdicts: pd.DataFrame) -> list[str]:
    """A line for each claim that has verdicts which are not of the plan, with the commits behind these."""
    lines = []
    for claim, rows in verdicts.groupby("claim", sort=False):
        if found := summary(rows):
            old = rows.loc[rows[CODE].fillna("") != "", MADE].fillna("")
            commits = sorted({commit for listed in old for commit in listed.split()})
            lines.append(f"{claim}: {', '.join(found)}{', made by ' if commits else ''}{', '.join(commits)}")
    return lines


def in_words(older: States) -> list[str]:
    """A line for each study and state, with the methods, or with their number where these are many."""
    return [
        f"{study}: {state}: {', '.join(listed) if len(listed) <= MANY else f'{len(listed)} methods'}"
        for study, found in sorted(older.items())
        for state, listed in found.items()
    ]

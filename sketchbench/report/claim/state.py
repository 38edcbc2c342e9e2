"""The code behind verdicts: whether it is the plan's, and its commits."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.measure.column import Column
from sketchbench.report.claim.claims import Claim
from sketchbench.report.standing import STATES, States
from sketchbench.report.table import origin

CODE = "code"  # the column of a table of verdicts that this module adds
MANY = 6  # methods; longer lists are counted
Pair = tuple[str, str]  # a study and a method


def with_code(verdicts: pd.DataFrame, claims: Sequence[Claim], older: States) -> pd.DataFrame:
    """The verdicts with the column `code`: the states of the rows behind a verdict that are not of the plan; "" if all
    are, and for claims that are not run. `older` has the methods that are not of the plan, by study and state (see
    `Plan.older`)."""
    by_id = {claim.id: claim for claim in claims}
    states = {(study, method): state for study, own in older.items() for state, some in own.items() for method in some}

    def code(claim: str, method: str, verdict: str) -> str:
        if verdict == "not run":
            return ""
        behind = {states[pair] for pair in pairs_behind(by_id[claim], method) if pair in states}
        return ", ".join(state for state in STATES if state in behind)

    columns = verdicts[["claim", Column.METHOD, "verdict"]].itertuples(index=False) if len(verdicts) else ()
    return verdicts.assign(**{CODE: [code(*row) for row in columns]})


def pairs_behind(claim: Claim, method: str) -> Iterator[Pair]:
    """The studies and methods whose rows decide a verdict; some may have no rows."""
    for check in claim.checks:
        yield from ((study, method) for study in check.studies)
        for control in claim.controls_of(method).values():
            if control and not control.reason:
                yield from ((study, control.method or method) for study in control.studies or check.studies)


def commits_behind(claim: Claim, method: str, tables: Path) -> set[str]:
    """The commits of the code behind a verdict's rows, as far as the tables in a directory have an origin.

    Raises SealError for a damaged origin.
    """
    return {
        commit
        for study, name in set(pairs_behind(claim, method))
        if (tables / f"{study}.csv").is_file()
        for commit in origin.commits_of(tables / f"{study}.csv", name)
    }


def summary(verdicts: pd.DataFrame) -> list[str]:
    """The number of verdicts of each state, in words: `12 of older code`."""
    counts = verdicts[CODE].fillna("").value_counts()
    return [f"{count} of {state}" for state, count in sorted(counts.items()) if state]


def not_of_this_plan(verdicts: pd.DataFrame) -> list[str]:
    """A line for each claim with verdicts that are not of the plan."""
    groups = verdicts.groupby("claim", sort=False)
    return [f"{claim}: {', '.join(states)}" for claim, rows in groups if (states := summary(rows))]


def describe_states(older: States) -> list[str]:
    """A line for each study and state, with the methods, or with their number if there are many."""
    return [
        f"{study}: {state}: {', '.join(listed) if len(listed) <= MANY else f'{len(listed)} methods'}"
        for study, states in sorted(older.items())
        for state, listed in states.items()
    ]

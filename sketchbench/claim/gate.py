"""The gate: a method that breaks the contract has no verdicts on anything else."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from sketchbench.measure.row import CONTROLS, Column

ROLE = "contract"  # of the claims that are the contract
VOID = "void"
Row = dict[str, Any]
Method = tuple[str, str]  # what kind of method it is, and its name: there is a sketch and a recovery `count_sketch`


def gated(rows: Iterable[Row], kinds: Mapping[str, str]) -> list[Row]:
    """The rows of a table of verdicts, those of methods that break the contract void, with what they break as case.

    Arguments:
        rows: one for each claim and method.
        kinds: of each study, the kind of its methods.

    A control, which is broken on purpose, keeps its verdicts. A part of the contract that is inconclusive does nothing.
    """
    rows = list(rows)
    broken: dict[Method, list[str]] = {}
    for row in rows:
        if row["role"] == ROLE and row["verdict"] == "fails":
            broken.setdefault(_method(row, kinds), []).append(row["claim"])
    return [_void(row, broken.get(_method(row, kinds), [])) for row in rows]


def _method(row: Mapping[Any, Any], kinds: Mapping[str, str]) -> Method:
    return kinds.get(row["study"], ""), row.get(Column.METHOD, "")


def _void(row: Row, broken: list[str]) -> Row:
    if row["role"] == ROLE or not broken or row[Column.METHOD].startswith(CONTROLS):
        return row
    return {**row, "verdict": VOID, Column.CASE: f"breaks the contract: {', '.join(broken)}"}


def broken(verdicts: pd.DataFrame) -> list[str]:
    """A line for each method that breaks the contract: which of it, and where."""
    failed = verdicts[(verdicts["role"] == ROLE) & (verdicts["verdict"] == "fails")]
    return [
        f"{row[Column.LABEL]} ({row[Column.METHOD]}): {row['claim']}, {row[Column.CASE]}"
        for row in failed.to_dict("records")
    ]


def unmeasured(verdicts: pd.DataFrame, kinds: Mapping[str, str]) -> list[str]:
    """The methods with other verdicts whose contract was not measured, in alphabetical order."""
    judged = [row for row in verdicts.to_dict("records") if row["verdict"] != "not run"]
    measured = {_method(row, kinds) for row in judged if row["role"] == ROLE}
    labels = {_method(row, kinds): str(row[Column.LABEL]) for row in judged if row["role"] != ROLE}
    compared = {(kind, name) for kind, name in labels if kind and not name.startswith(CONTROLS)}
    return sorted({labels[method] for method in compared - measured})

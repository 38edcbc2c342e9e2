"""What each report is made of, as its seal names it: tables, files of conf, what the plan says, and the code.

A run makes a report again that is made of something else (`standing.check`), by content, as the times of files tell
nothing in a checkout.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.codes import code_of

# Of what reports are made beside tables; no study or method has a space in its name.
PLAN, CLAIMS, PRINTED, CODE = "the plan", "the claims", "the printed numbers", "the code"
SETTINGS = ("seed", "kernels")  # of the records of a table, which its seal states


def records_inputs(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The records that a table is made of: by method, the digest of their signatures and of the columns that the plan
    adds to them. The paths of the records in the manifest (see `Plan.manifest`) don't count."""
    entries: dict[str, list[Any]] = {}
    for entry in manifest:
        entries.setdefault(entry["columns"][Column.METHOD], []).append([entry["signature"], entry["columns"]])
    return {method: _digest(listed) for method, listed in entries.items()}


def table_inputs(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What a table is made of: its records by method, and the code that joins them."""
    return {**records_inputs(manifest), CODE: code_of("table")}


def claims_inputs(tables: Mapping[str, str], facts: str, claims: Iterable[Path]) -> dict[str, str]:
    """What the page of claims is made of: the SHA-256 of each table by study, the plan's facts, such as which tables
    are of older code (see `Plan.facts`), and the files of claims and errata."""
    return {**tables, PLAN: seal.digest(facts), CLAIMS: _texts(claims), CODE: code_of("claims")}


def printed_inputs(
    tables: Mapping[str, str], verdicts: str, printed: Iterable[Path], older: Iterable[str]
) -> dict[str, str]:
    """What the table of printed numbers is made of: the SHA-256 of each table by study, that of claims.csv, the files
    of printed numbers, and which studies the plan says are `older`."""
    parts = {"claims.csv": verdicts, PRINTED: _texts(printed), PLAN: _digest(sorted(older))}
    return {**tables, **parts, CODE: code_of("printed")}


def frontier_inputs(tables: Mapping[str, str], trained: Mapping[str, str]) -> dict[str, str]:
    """What the frontier is made of: the SHA-256 of each table by study, and what the trainings are of (see
    `cells.TrainedStudy.words`), by study."""
    return {**tables, PLAN: _digest(trained), CODE: code_of("frontier")}


def figure_inputs(tables: Mapping[str, str], code: str) -> dict[str, str]:
    """What a figure is made of: the SHA-256 of each table by study, and its entry in the catalogue with the code that
    draws it (see `catalogue.Entry.digest`)."""
    return {**tables, CODE: code}


def _texts(paths: Iterable[Path]) -> str:
    return _digest({path.name: path.read_text(encoding="utf-8") for path in paths})


def _digest(content: Any) -> str:
    return seal.digest(json.dumps(content, sort_keys=True))

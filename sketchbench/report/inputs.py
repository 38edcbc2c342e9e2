"""The inputs of each report by name, with their digests: tables, files of conf, facts of the plan, and the code.

A run makes a report again if its inputs differ (`standing.check`), since times of files tell nothing in a checkout.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.codes import code_of

# Inputs other than tables; no study or method has a space in its name.
PLAN, CLAIMS, PRINTED, CODE = "the plan", "the claims", "the printed numbers", "the code"
SETTINGS = ("seed", "kernels")  # of a table's records, in its seal


def records_inputs(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By method, the digest of its records' signatures and of the columns that the plan adds; see `Plan.manifest`."""
    entries: dict[str, list[Any]] = {}
    for entry in manifest:
        entries.setdefault(entry["columns"][Column.METHOD], []).append([entry["signature"], entry["columns"]])
    return {method: _digest(listed) for method, listed in entries.items()}


def table_inputs(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The inputs of a table: its records by method, and the code that joins them."""
    return {**records_inputs(manifest), CODE: code_of("table")}


def claims_inputs(tables: Mapping[str, str], facts: str, claims: Iterable[Path]) -> dict[str, str]:
    """The inputs of the page of claims: tables (SHA-256 by study), `Plan.facts`, and the files of claims and errata."""
    return {**tables, PLAN: seal.digest(facts), CLAIMS: _texts(claims), CODE: code_of("claims")}


def printed_inputs(
    tables: Mapping[str, str], verdicts: str, printed: Iterable[Path], older: Iterable[str]
) -> dict[str, str]:
    """The inputs of printed.csv: tables and claims.csv (SHA-256), files of printed numbers, and `older` studies."""
    parts = {"claims.csv": verdicts, PRINTED: _texts(printed), PLAN: _digest(sorted(older))}
    return {**tables, **parts, CODE: code_of("printed")}


def frontier_inputs(tables: Mapping[str, str], trained: Mapping[str, str]) -> dict[str, str]:
    """The inputs of the frontier: tables (SHA-256 by study), and by study `cells.TrainedStudy.words`."""
    return {**tables, PLAN: _digest(trained), CODE: code_of("frontier")}


def figure_inputs(tables: Mapping[str, str], code: str) -> dict[str, str]:
    """The inputs of a figure: tables (SHA-256 by study), and `catalogue.Entry.digest`."""
    return {**tables, CODE: code}


def _texts(paths: Iterable[Path]) -> str:
    return _digest({path.name: path.read_text(encoding="utf-8") for path in paths})


def _digest(content: Any) -> str:
    return seal.digest(json.dumps(content, sort_keys=True))

"""What of the reports of two runs may differ, since a clock measured it: those rows, and what they are part of."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

TIMES = {"seconds", "slower", "seconds_exponent"}  # quantities


def without(outcome: Mapping[str, Any], conf: Path) -> dict[str, Any]:
    """The content of reports and records without measured times.

    Arguments:
        outcome: by path, the bytes of a report; rows and signature of a record.
        conf: the project's configs, which say what figures are drawn from.

    Of a table with times its other rows are kept, and of the table of verdicts those of other claims than on times
    (`predicted` any); pages and seals of these, and figures drawn from them, are left out.
    """
    found = {name: _record(stored) if isinstance(stored, tuple) else stored for name, stored in outcome.items()}
    tables = {Path(name).stem: _rows(content) for name, content in outcome.items() if _is_table(name)}
    timed = {study for study, rows in tables.items() if any(row["quantity"] in TIMES for row in rows)}
    for study in timed:
        found = {name: content for name, content in found.items() if not name.startswith(f"tables/{study}.")}
        found[f"tables/{study}.csv"] = [row for row in tables[study] if row["quantity"] not in TIMES]
    for figure in _figures(conf, timed):
        found = {name: content for name, content in found.items() if not name.startswith(f"figures/{figure}.")}
    claims = [row for row in _rows(outcome["claims.csv"]) if row["predicted"] != "any"]
    found = {name: content for name, content in found.items() if not name.startswith("claims.")}
    return {**found, "claims.csv": claims}


def _is_table(name: str) -> bool:
    return name.startswith("tables/") and name.endswith(".csv")


def _record(stored: tuple[list[dict[str, Any]], str]) -> Any:
    rows, signature = stored
    return [row for row in rows if row["quantity"] not in TIMES], signature


def _rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def _figures(conf: Path, studies: set[str]) -> Iterator[str]:
    for path in sorted((conf / "figure").glob("*.yaml")):
        if studies & set(yaml.safe_load(path.read_text())["studies"]):
            yield path.stem

"""The reports of a plan: where they are, what each is made of, and which of them can't be trusted.

A report is one or more files beside a seal (`report.seal`): the table of a study, the page of claims, a figure.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sketchbench.measure.column import Column
from sketchbench.report import seal

PLAN = "the plan"  # what claims are made of, beside tables; no study has a space in its name
TABLE, CLAIMS, FIGURE = (".csv",), (".csv", ".md"), (".svg", ".png")


def records_of(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What a table is made of: by method, the digest of the signatures of its records and of the columns that the plan
    adds to them, by the manifest that lists these (see `Plan.manifest`). Where records are doesn't count."""
    entries: dict[str, list[Any]] = {}
    for entry in manifest:
        entries.setdefault(entry["columns"][Column.METHOD], []).append([entry["signature"], entry["columns"]])
    return {method: seal.digest(json.dumps(listed, sort_keys=True)) for method, listed in entries.items()}


def judged_from(tables: Mapping[str, str], facts: str) -> dict[str, str]:
    """What the page of claims is made of: the SHA-256 of each table by study, and what the plan says (see `facts` of
    `planned.Plan`), such as which of them are of older code."""
    return {**tables, PLAN: seal.digest(facts)}


def check(
    folder: Path,
    scale: str,
    manifests: Mapping[str, str],
    figures: Mapping[str, Sequence[str]],
    *,
    facts: str,
    standing: Iterable[str] = (),
) -> list[str]:
    """Prepare for a run that makes what is missing: see `seal.check`. Reads every report once.

    Arguments:
        folder: of the reports.
        scale: the scale that they are of.
        manifests: by study, the manifest of its table as JSON.
        figures: by name, the studies whose tables a figure is drawn from.
        facts: what the plan says to the page of claims.
        standing: the studies whose tables are used as they are (see `standing`).

    Returns:
        A line for each damaged file.

    Raises:
        FileError: (an OSError) where something damaged can't be renamed.
    """
    seal.restore(folder)
    lines, tables = [], {}
    for study, manifest in manifests.items():
        place = folder / "tables" / f"{study}.csv"
        lines += seal.check(files_of(place, TABLE), records_of(json.loads(manifest)), scale)
        tables[study] = _sum(place)
    tables |= {study: _sum(folder / "tables" / f"{study}.csv") for study in standing}
    lines += seal.check(files_of(folder / "claims.csv", CLAIMS), judged_from(tables, facts), scale)
    for name, studies in figures.items():
        drawn_from = {study: tables[study] for study in studies}
        lines += seal.check(files_of(folder / "figures" / f"{name}.svg", FIGURE), drawn_from, scale)
    return lines


def files_of(first: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files of a report, by the first of them and by their endings."""
    return [first.with_suffix(suffix) for suffix in suffixes]


def _sum(path: Path) -> str:
    """The SHA-256 of a table that `seal.check` has found whole; empty where it is to be made."""
    try:
        return seal.read(seal.beside(path)).files[path.name] if path.is_file() else ""
    except (seal.SealError, KeyError):
        return ""

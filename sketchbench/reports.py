"""The reports of a plan: where they are, what each is made of, and which of them can't be trusted.

A report is one or more files beside a seal (`sketchbench.seal`): the table of a study, the page of claims, a figure.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sketchbench import seal

TABLE, CLAIMS, FIGURE = (".csv", ".html"), (".csv", ".md", ".html"), (".svg", ".png")


def records_of(manifest: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What a table is made of: its records, by the manifest that lists their signatures (see `Plan.manifest`)."""
    return {"records": seal.digest(json.dumps(manifest, sort_keys=True))}


def check(folder: Path, scale: str, manifests: Mapping[str, str], figures: Mapping[str, Sequence[str]]) -> list[str]:
    """Prepare for a run that makes what is missing: see `seal.check`. Reads every report once.

    Arguments:
        folder: of the reports.
        scale: the scale that they are of.
        manifests: by study, the manifest of its table as JSON.
        figures: by name, the studies whose tables a figure is drawn from.

    Returns:
        A line for each damaged file.

    Raises:
        FileError: (an OSError) where something damaged can't be renamed.
    """
    lines, tables = [], {}
    for study, manifest in manifests.items():
        place = folder / "tables" / f"{study}.csv"
        lines += seal.check(_files(place, TABLE), records_of(json.loads(manifest)), scale)
        tables[study] = _sum(place)
    lines += seal.check(_files(folder / "claims.csv", CLAIMS), tables, scale)
    for name, studies in figures.items():
        drawn_from = {study: tables[study] for study in studies}
        lines += seal.check(_files(folder / "figures" / f"{name}.svg", FIGURE), drawn_from, scale)
    return lines


def _files(first: Path, suffixes: Sequence[str]) -> list[Path]:
    return [first.with_suffix(suffix) for suffix in suffixes]


def _sum(path: Path) -> str:
    """The SHA-256 of a table that `seal.check` has found whole; empty where it is to be made."""
    try:
        return seal.read(seal.beside(path)).files[path.name] if path.is_file() else ""
    except (seal.SealError, KeyError):
        return ""

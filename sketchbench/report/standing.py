"""The tables that a run of some studies leaves as they are: which there are, and what of each is not of this plan.

Such a table takes part in the claims. Its rows are of this plan where its seal names the signatures that the plan has
of their method; else they are of older code, say, until their study is run again.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sketchbench.files import FileError, is_plain
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.reports import TABLE, files_of
from sketchbench.report.seal import SealError

# Why rows are not of this plan: another seed or other kernels were asked for, the study no longer has their method, or
# code or config changed.
SEED, KERNELS, DROPPED, OLDER = "another seed", "other kernels", "an older plan", "older code"
SETTINGS = (("seed", SEED), ("kernels", KERNELS))
STATES = (OLDER, SEED, KERNELS, DROPPED)
States = Mapping[str, Mapping[str, list[str]]]  # by study and state the methods; what is of this plan is not in it


@dataclass(frozen=True)
class Table:
    """A table that is there, whole.

    Attributes:
        made_of: by method, what `reports.records_of` gave when it was made; "" where its seal doesn't say.
        settings: `seed` and `kernels` of its records; empty where its seal doesn't say.
    """

    made_of: Mapping[str, str]
    settings: Mapping[str, str]

    def states(self, planned: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, list[str]]:
        """Its methods that are not of a plan, by the reason.

        Arguments:
            planned: what the plan's table would be made of.
            settings: `seed` and `kernels` of the plan.
        """
        found: dict[str, list[str]] = {}
        for method in sorted(self.made_of):
            if self.made_of[method] != planned.get(method):
                found.setdefault(self._reason(method in planned, settings), []).append(method)
        return found

    def _reason(self, planned: bool, settings: Mapping[str, str]) -> str:
        for name, state in SETTINGS:
            if settings[name] not in self.settings.get(name, settings[name]).split():
                return state
        return OLDER if planned else DROPPED


def origin_of(provenances: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, str]]:
    """Where the rows of a table come from, by the method and the provenance of each of its records: the `commits`,
    `settings` and `machines` of `seal.Seal`."""
    commits: dict[str, set[str]] = {}
    settings: dict[str, set[str]] = {}
    machines: dict[str, set[str]] = {}
    for method, provenance in provenances:
        commits.setdefault(method, set()).add(provenance.get("commit") or "")
        config = provenance.get("config", {})
        for name in (name for name, _ in SETTINGS if name in config):
            settings.setdefault(name, set()).add(str(config[name]))
        if "machine" in provenance:
            machines.setdefault("machine", set()).add(provenance["machine"])
        if versions := provenance.get("versions"):
            told = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
            machines.setdefault("versions", set()).add(told)
    return {"commits": _joined(commits), "settings": _joined(settings), "machines": _joined(machines, "; ")}


def _joined(found: Mapping[str, set[str]], by: str = " ") -> dict[str, str]:
    return {name: by.join(sorted(filter(None, told))) for name, told in found.items()}


def find(reports: Path, scale: str) -> dict[str, Table]:
    """The tables of a folder of reports that are whole, sealed and of this scale, by study. Reads each once.

    Among them are those that a run which was stopped would have made again. Of others, and of those that can't be read,
    nothing is said here; see `remarks`.
    """
    found = {}
    seal.restore(reports)
    for path in sorted((reports / "tables").glob("*.csv")):
        if is_plain(path) and is_plain(seal.beside(path)):
            try:
                found[path.stem] = _read(path, scale)
            except (SealError, UnicodeDecodeError, csv.Error, ValueError):
                continue
    return found


def _read(path: Path, scale: str) -> Table:
    """A table; ValueError for one that is not whole, or has no column `method`."""
    rows = csv.reader(io.StringIO(seal.content(path, "table", scale).decode("utf-8")))
    place = next(rows, []).index(Column.METHOD)
    origin = seal.read(seal.beside(path))
    made_of = {method: origin.made_of.get(method, "") for method in sorted({row[place] for row in rows})}
    return Table(made_of, dict(origin.settings))


def as_text(tables: Mapping[str, Table]) -> str:
    """The tables as JSON, for the jobs of a run: while it goes on, tables change."""
    return json.dumps({study: asdict(table) for study, table in tables.items()}, sort_keys=True)


def recalled(path: Path) -> dict[str, Table]:
    """The tables of a file that has what `as_text` gives. Raises FileError where it can't be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {study: Table(**table) for study, table in content.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FileError(0, f"{path} can't be read ({error}); start snakemake again, which writes it") from None


def remarks(reports: Path, scale: str, planned: Collection[str], standing: Iterable[str]) -> list[str]:
    """Prepare for a run of some studies: of the tables of others, what is damaged is renamed, and the rest is left.

    Arguments:
        reports: the folder of reports.
        scale: that of the run.
        planned: the studies whose tables it makes.
        standing: those whose tables it uses as they are.

    Returns:
        A line for each damaged file, and one for all tables each that have no seal, or are of no study at this scale.

    Raises:
        FileError: where something damaged can't be renamed.
    """
    lines, unsealed, foreign = [], [], []
    used = set(standing)
    for study in sorted({path.stem for path in (reports / "tables").glob("*.csv")} - set(planned)):
        place = reports / "tables" / f"{study}.csv"
        if is_plain(place) and not seal.beside(place).exists():
            unsealed.append(study)
            continue
        damaged = seal.check(files_of(place, TABLE), None, scale)
        lines += damaged
        if study not in used and not damaged:
            foreign.append(study)
    if unsealed:
        lines.append(
            f"{reports}/tables: {', '.join(unsealed)}: without seals, so their verdicts read `not run`; run these"
            " studies, or take committed tables as they are by sketchbench step adopt"
        )
    if foreign:
        lines.append(
            f"{reports}/tables: {', '.join(foreign)}: of no study of this plan at scale={scale}, so they take no part"
        )
    return lines

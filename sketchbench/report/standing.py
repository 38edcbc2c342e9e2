"""The reports in a folder: what each is made of, which of them a run makes again, and which it leaves as they are.

A run of some studies leaves the tables of others, and these take part in its claims. The rows of such a table are of
the plan where its seal names the signatures that the plan has for their method; else they are of older code, say, until
their study is run again.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sketchbench.base.files import FileError, is_plain
from sketchbench.measure.column import Column
from sketchbench.report import seal
from sketchbench.report.inputs import (
    SETTINGS,
    claims_inputs,
    figure_inputs,
    frontier_inputs,
    printed_inputs,
    table_inputs,
)
from sketchbench.report.seal import SealError

# Why rows are not of this plan: another seed or other kernels were asked for, the study no longer has their method, or
# code or config changed.
SEED, KERNELS, DROPPED, OLDER = "another seed", "other kernels", "an older plan", "older code"
REASONS = dict(zip(SETTINGS, (SEED, KERNELS), strict=True))
STATES = (OLDER, SEED, KERNELS, DROPPED)
States = Mapping[str, Mapping[str, list[str]]]  # methods by study and state; methods of this plan are left out


@dataclass(frozen=True)
class RunTable:
    """A whole table that a run leaves as it is.

    Attributes:
        made_of: by method, what `records_inputs` gave when the table was made; "" where its seal doesn't say.
        settings: `seed` and `kernels` of its records; empty where its seal doesn't say.
    """

    made_of: Mapping[str, str]
    settings: Mapping[str, str]

    def states(self, planned: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, list[str]]:
        """The methods whose rows are not of a plan, by the reason. `planned` is what the plan's table would be made of,
        by method; `settings` are its `seed` and `kernels`."""
        states: dict[str, list[str]] = {}
        same = {name: settings[name] in self.settings.get(name, settings[name]).split() for name in REASONS}
        reason = next((state for name, state in REASONS.items() if not same[name]), "")
        for method in sorted(self.made_of):
            if self.made_of[method] != planned.get(method):
                states.setdefault(reason or (OLDER if method in planned else DROPPED), []).append(method)
        return states


class DrawnFigure(NamedTuple):
    """A figure: the studies of its tables, and the digest of its entry in the catalogue."""

    studies: Sequence[str]
    code: str


class PrintedTables(NamedTuple):
    """The report of printed numbers: the studies that measure them, their files, and which of the studies are older."""

    studies: Sequence[str]
    files: Sequence[Path]
    older: Sequence[str] = ()


class FrontierTable(NamedTuple):
    """The frontier: the studies that it is joined from, and what the trainings of some are of, in words."""

    studies: Sequence[str]
    trained: Mapping[str, str]


NOTHING: Mapping[str, DrawnFigure] = MappingProxyType({})


def check(
    folder: Path,
    scale: str,
    manifests: Mapping[str, str],
    figures: Mapping[str, DrawnFigure] = NOTHING,
    *,
    facts: str,
    claims: Iterable[Path] = (),
    standing: Iterable[str] = (),
    printed: PrintedTables | None = None,
    frontier: FrontierTable | None = None,
) -> list[str]:
    """Prepare for a run that makes what is missing: see `seal.check`. Reads every report once.

    Arguments:
        folder, scale: of the reports.
        manifests: by study, the manifest of its table as JSON.
        figures: by name.
        facts, claims: what the plan says to the page of claims, and the files of claims and errata.
        standing: the studies whose tables are used as they are.
        printed, frontier: None where no such report is made.

    Returns a line for each damaged file. Raises FileError (an OSError) as `seal.check` does.
    """
    lines, tables = [], {}
    for study, manifest in manifests.items():
        place = folder / "tables" / f"{study}.csv"
        lines += seal.check([place], table_inputs(json.loads(manifest)), scale)
        tables[study] = _sum(place)
    tables |= {study: _sum(folder / "tables" / f"{study}.csv") for study in standing}

    def check_report(name: str, suffixes: Sequence[str], made_of: Mapping[str, str]) -> None:
        lines.extend(seal.check([folder / f"{name}{suffix}" for suffix in suffixes], made_of, scale))

    check_report("claims", (".csv", ".md"), claims_inputs(tables, facts, claims))
    if printed:
        own, verdicts = {study: tables[study] for study in printed.studies}, _sum(folder / "claims.csv")
        check_report("printed", (".csv",), printed_inputs(own, verdicts, printed.files, printed.older))
    if frontier:
        own = {study: tables[study] for study in frontier.studies}
        check_report("frontier", (".csv",), frontier_inputs(own, frontier.trained))
    for name, drawn in figures.items():
        own = {study: tables[study] for study in drawn.studies}
        check_report(f"figures/{name}", (".svg", ".png"), figure_inputs(own, drawn.code))
    return lines


def _sum(path: Path) -> str:
    """The SHA-256 of a report that `seal.check` has found whole; empty where it is to be made."""
    try:
        return seal.read(seal.beside(path)).files[path.name] if path.is_file() else ""
    except (SealError, KeyError):
        return ""


def find_tables(reports: Path, scale: str) -> dict[str, RunTable]:
    """The tables of a folder of reports that are whole, sealed and of this scale, by study; see `check_others` for
    those that are not. Reads each once."""
    tables = {}
    for path in sorted((reports / "tables").glob("*.csv")):
        if is_plain(path) and is_plain(seal.beside(path)):
            try:
                tables[path.stem] = _read(path, scale)
            except (SealError, csv.Error, ValueError):
                continue
    return tables


def _read(path: Path, scale: str) -> RunTable:
    """A table; ValueError for one that is not whole, or has no column `method`."""
    rows = csv.reader(io.StringIO(seal.content(path, "table", scale).decode("utf-8")))
    place = next(rows, []).index(Column.METHOD)
    own = seal.read(seal.beside(path))
    made_of = {method: own.made_of.get(method, "") for method in sorted({row[place] for row in rows})}
    return RunTable(made_of, dict(own.settings))


def to_json(tables: Mapping[str, RunTable]) -> str:
    """The tables as JSON, for the jobs of a run: while it goes on, tables change."""
    return json.dumps({study: asdict(table) for study, table in tables.items()}, sort_keys=True)


def from_json(path: Path) -> dict[str, RunTable]:
    """The tables of a file that has what `to_json` gives. Raises FileError where it can't be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {study: RunTable(**table) for study, table in content.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FileError(0, f"{path} can't be read ({error}); start snakemake again, which writes it") from None


def check_others(reports: Path, scale: str, planned: Collection[str], standing: Iterable[str]) -> list[str]:
    """Prepare a folder of reports for a run that makes the tables of the `planned` studies and uses those `standing` as
    they are: of the tables of other studies, damaged ones are renamed, and the rest is left.

    Returns a line for each damaged file, one for all tables without seals, and one for all tables of no study at this
    scale. Raises FileError where a damaged file can't be renamed.
    """
    lines, unsealed, foreign, used = [], [], [], set(standing)
    for study in sorted({path.stem for path in (reports / "tables").glob("*.csv")} - set(planned)):
        place = reports / "tables" / f"{study}.csv"
        damaged = seal.check([place], None, scale)
        if damaged:
            lines += damaged
        elif not seal.beside(place).exists():
            unsealed.append(study)
        elif study not in used:
            foreign.append(study)
    no_seals = "without seals, so their verdicts read `not run`; run these studies, or bring committed seals back by"
    no_study = f"of no study of this plan at scale={scale}, so they take no part"
    groups = ((unsealed, f"{no_seals} git restore"), (foreign, no_study))
    return [*lines, *(f"{reports}/tables: {', '.join(studies)}: {text}" for studies, text in groups if studies)]

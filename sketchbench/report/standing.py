"""The reports in a folder that a run makes again, and the reports that it leaves.

A run of some studies leaves the tables of other studies, and judges claims by them, too. A table's rows belong to the
plan if its seal names the plan's signatures for their method.
"""

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from sketchbench.base.files import FileError, is_plain
from sketchbench.measure.column import Column
from sketchbench.report import inputs, seal
from sketchbench.report.seal import SealError

# Why rows do not belong to this plan; rows of an older plan have a method that their study no longer has.
SEED, KERNELS, DROPPED, OLDER = "another seed", "other kernels", "an older plan", "older code"
REASONS = dict(zip(inputs.SETTINGS, (SEED, KERNELS), strict=True))
STATES = (OLDER, SEED, KERNELS, DROPPED)
States = Mapping[str, Mapping[str, list[str]]]  # methods by study and state, without those of this plan


@dataclass(frozen=True)
class RunTable:
    """A whole table that a run leaves, as its seal describes it.

    Attributes:
        made_of: by method, `records_inputs` of its records; "" if its seal doesn't name the method.
        settings: `seed` and `kernels` of its records; empty if its seal doesn't name them.
    """

    made_of: Mapping[str, str]
    settings: Mapping[str, str]

    def states(self, planned: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, list[str]]:
        """The methods whose rows do not belong to a plan, by reason.

        `planned` is the plan's `records_inputs` of the table; `settings` are the plan's `seed` and `kernels`.
        """
        states: dict[str, list[str]] = {}
        same = {name: settings[name] in self.settings.get(name, settings[name]).split() for name in REASONS}
        reason = next((state for name, state in REASONS.items() if not same[name]), "")
        for method in sorted(self.made_of):
            if self.made_of[method] != planned.get(method):
                states.setdefault(reason or (OLDER if method in planned else DROPPED), []).append(method)
        return states


class DrawnFigure(NamedTuple):
    """A figure: the studies of its tables, and its entry's digest."""

    studies: Sequence[str]
    code: str


class PrintedTables(NamedTuple):
    """The report of printed numbers: the studies that measure them, their files, and the older studies."""

    studies: Sequence[str]
    files: Sequence[Path]
    older: Sequence[str] = ()


class FrontierTable(NamedTuple):
    """The frontier: its studies, and by study a description of its trainings."""

    studies: Sequence[str]
    trained: Mapping[str, str]


def check(
    folder: Path,
    scale: str,
    manifests: Mapping[str, str],
    figures: Mapping[str, DrawnFigure] | None = None,
    *,
    facts: str,
    claims: Iterable[Path] = (),
    standing: Iterable[str] = (),
    marks: Path | None = None,
    printed: PrintedTables | None = None,
    frontier: FrontierTable | None = None,
) -> list[str]:
    """Prepare for a run that makes what is missing, see `seal.check`; a line for each damaged file.

    Arguments:
        folder, scale: the reports' folder and scale.
        manifests: by study, the table's `Plan.manifest` as JSON.
        figures: by name.
        facts, claims: `Plan.facts`, and the files of claims and errata.
        standing: the studies whose tables the run leaves.
        marks: the folder of the reports' marks; None if reports have none.
        printed, frontier: None if the run makes no such report.

    Raises FileError (an OSError) as `seal.check` does.
    """
    claims = list(claims)
    lines = [*seal.mend(folder), *(line for path in claims for line in seal.present(path))]

    def check_report(name: str, suffixes: Sequence[str], made_of: Mapping[str, str]) -> None:
        files = [folder / f"{name}{suffix}" for suffix in suffixes]
        lines.extend(seal.check(files, made_of, scale, marks and marks / name))

    for study, manifest in manifests.items():
        check_report(f"tables/{study}", (".csv",), inputs.table_inputs(json.loads(manifest)))
    tables = {study: _sum(folder / "tables" / f"{study}.csv") for study in (*manifests, *standing)}
    check_report("claims", (".csv", ".md"), inputs.claims_inputs(tables, facts, claims))
    if printed:
        own, verdicts = {study: tables[study] for study in printed.studies}, _sum(folder / "claims.csv")
        check_report("printed", (".csv",), inputs.printed_inputs(own, verdicts, printed.files, printed.older))
    if frontier:
        own = {study: tables[study] for study in frontier.studies}
        check_report("frontier", (".csv",), inputs.frontier_inputs(own, frontier.trained))
    for name, drawn in (figures or {}).items():
        own = {study: tables[study] for study in drawn.studies}
        check_report(f"figures/{name}", (".svg", ".png"), inputs.figure_inputs(own, drawn.code))
    return lines


def _sum(path: Path) -> str:
    """The SHA-256 of a report after `seal.check`; "" if the run makes it."""
    own = seal.find(path) if path.is_file() else None
    return own.files.get(path.name, "") if own else ""


def find_tables(reports: Path, scale: str) -> dict[str, RunTable]:
    """The whole tables of this scale in a reports folder, by study; `check_others` reports the others."""
    tables = {}
    for path in sorted((reports / "tables").glob("*.csv")):
        with suppress(SealError, csv.Error, ValueError):
            if is_plain(path):
                tables[path.stem] = _read(path, scale)
    return tables


def _read(path: Path, scale: str) -> RunTable:
    """Read a table. Raises ValueError if it is not whole or has no column `method`."""
    rows = csv.reader(io.StringIO(seal.content(path, "table", scale).decode("utf-8")))
    place = next(rows, []).index(Column.METHOD)
    own = seal.read(path)
    made_of = {method: own.made_of.get(method, "") for method in sorted({row[place] for row in rows})}
    return RunTable(made_of, dict(own.settings))


def to_json(tables: Mapping[str, RunTable]) -> str:
    """The tables as JSON, for a run's jobs, since tables change while it runs."""
    return json.dumps({study: asdict(table) for study, table in tables.items()}, sort_keys=True)


def from_json(path: Path) -> dict[str, RunTable]:
    """The tables in a file of `to_json`. Raises FileError if it can't be read."""
    try:
        return {study: RunTable(**table) for study, table in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise FileError(0, f"{path} can't be read ({error}); start snakemake again, which writes it") from None


def check_others(reports: Path, scale: str, planned: Collection[str], standing: Iterable[str]) -> list[str]:
    """Rename the damaged tables of studies that are not `planned`, for a run that leaves the `standing` studies.

    Returns a line for each damaged file, one for all tables without seals, and one for all tables of no study at this
    scale. Raises FileError if a damaged file can't be renamed.
    """
    lines, used = seal.mend(reports), set(standing)
    no_seals = "without seals, so their verdicts read `not run`; run these studies, or restore committed seals by"
    no_study = f"of no study of this plan at scale={scale}, so this run does not use them"
    groups: dict[str, list[str]] = {f"{no_seals} git restore": (unsealed := []), no_study: (foreign := [])}
    for study in sorted({path.stem for path in (reports / "tables").glob("*.csv")} - set(planned)):
        place = reports / "tables" / f"{study}.csv"
        if damaged := seal.check([place], None, scale):
            lines += damaged
        elif seal.find(place) is None:
            unsealed.append(study)
        elif study not in used:
            foreign.append(study)
    return [*lines, *(f"{reports}/tables: {', '.join(studies)}: {text}" for text, studies in groups.items() if studies)]

"""`sketchbench step`: the steps of the workflow, called by Snakemake's rules and the Makefile.

Each step imports its modules when called, since a step starts once a file.
"""

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.base.files import check_entries, check_writable, parse_json, write_text
from sketchbench.base.parameters import choose
from sketchbench.command.group import OneOf
from sketchbench.command.program import read_json_stdin
from sketchbench.report import seal
from sketchbench.report.codes import check_planned, code_of
from sketchbench.run.config.schema import SCALES

log = logging.getLogger(__name__)
FILE = click.Path(path_type=Path)
TABLES = click.argument("tables", type=FILE, nargs=-1, required=True)
CODE = click.option("--code", default="", help="The digest of the planned code; any other is rejected.")
SCALE = click.option("--scale", type=OneOf(SCALES), default="quick", help="The scale of the tables (quick).")


def check_report(path: Path) -> Path:
    """Check that a report can be written here: a file that existing report must have a seal that names it."""
    check_writable(path, lambda place: seal.read(place).files[place.name])
    return path


CSV, SVG, PNG, PAGE = (
    click.option(f"--{suffix}", required=True, type=FILE, callback=lambda *given: check_report(given[-1]))
    for suffix in ("csv", "svg", "png", "page")
)


@click.group("step", hidden=True, no_args_is_help=False)
def command() -> None:
    """A step of the workflow, which Snakemake's rules call."""


def yaml_files(place: Path) -> list[Path]:
    """List the YAML files of a folder, or a single file; FileNotFoundError if there are none."""
    files = [place] if place.is_file() else sorted(place.rglob("*.yaml"))
    if not files:
        raise FileNotFoundError(f"{place} has no YAML files in it; name a folder such as conf/claim")
    return files


@command.command("job")
@click.option("--receipt", required=True, type=FILE, help="The file to write when all records exist.")
@click.option("--folder", type=FILE, help="A user's folder with modules.")
def do_job(receipt: Path, folder: Path | None) -> None:
    """Do the planned runs of a batch, read as JSON from standard input, and write their records.

    Existing records are kept. A run at its time limit is no failure: its checkpoint is kept, the receipt marks it as
    unfinished, and it can resume.
    """
    from sketchbench.plan.batch import RECEIPT, receipt_text
    from sketchbench.run.job import run_batch, start_logging

    own = folder and folder.resolve()
    if own:
        sys.path.insert(0, str(own))
    start_logging()
    batch = read_json_stdin("the batch")
    check_entries(batch, {"name": str, "record": str, "signature": str, "config": dict}, "the batch")
    if not batch:
        raise ValueError("the batch has no entries; Snakemake makes it of the plan")
    check_writable(receipt, lambda place: RECEIPT.findall(place.read_text(encoding="utf-8"))[0])
    done = run_batch(batch, own)
    for line in done.unfinished.values():
        log.info("unfinished: %s", line)
    if done.failed:
        sys.exit(_errors(done.failed))
    if done.unfinished:
        print(
            f"{len(done.unfinished)} of {len(batch)} runs are unfinished; rerun the same command to resume", flush=True
        )
    signatures = {entry["record"]: entry["signature"] for entry in batch}
    write_text(receipt, receipt_text(signatures, done.unfinished))


def _errors(lines: Sequence[str]) -> str:
    return "\n".join(f"sketchbench: error: {line}" for line in lines)


@command.command("send")
@click.argument("parcel", type=FILE)
@click.option("--folder", type=FILE, help="A user's folder with modules.")
def send_parcel(parcel: Path, folder: Path | None) -> None:
    """Pack the input of the job of a batch, whose description is on standard input."""
    from sketchbench.base.project import PROJECT, code_commit
    from sketchbench.plan.parcel import send

    commit = code_commit(PROJECT)
    send(read_json_stdin("the batch"), parcel, folder, commit and commit.name)


@command.command("data")
@click.argument("name")
@click.argument("parcel", type=FILE)
def send_data(name: str, parcel: Path) -> None:
    """Pack a data set, whose name has its checksum."""
    from sketchbench.plan.parcel import pack_data

    pack_data(name, parcel)


@command.command("work")
@click.argument("parcels", type=FILE, nargs=-1, required=True)
@click.option("--outcome", required=True, type=FILE, help="The parcel to write.")
@click.option("--log", "log_file", type=FILE, help="The log to send home.")
def work_on_parcel(parcels: Sequence[Path], outcome: Path, log_file: Path | None) -> None:
    """Do the runs of a parcel in the current folder, which belongs to the job alone, and pack their results.

    Other parcels are data sets. A run that failed fails the job only if there is nothing else to take home."""
    from sketchbench.learning.dataset.dataset import VARIABLE
    from sketchbench.plan import parcel
    from sketchbench.run.job import COMMIT, run_batch, start_logging

    start_logging()
    parcel.unpack(parcels[0], Path())
    os.environ[VARIABLE] = str(Path("data").absolute())
    for data in parcels[1:]:
        parcel.unpack(data, Path("data"))
    if Path(parcel.COMMIT).is_file():
        os.environ[COMMIT] = Path(parcel.COMMIT).read_text(encoding="utf-8")
    folder = Path(parcel.FOLDER).absolute() if Path(parcel.FOLDER).is_dir() else None
    if folder:
        sys.path.insert(0, str(folder))
    batch = parse_json(Path(parcel.BATCH).read_text(encoding="utf-8"), parcel.BATCH)
    before, done = parcel.state(batch), run_batch(batch, folder)
    if done.failed and parcel.state(batch) == before:
        sys.exit(_errors(done.failed))
    parcel.pack_outcome(batch, done, outcome, log_file)


@command.command("take")
@click.argument("parcel", type=FILE)
@click.option("--receipt", required=True, type=FILE, help="The file to write when all records exist.")
@click.option("--log", "log_file", type=FILE, help="Where the job's log belongs.")
def take_parcel(parcel: Path, receipt: Path, log_file: Path | None) -> None:
    """Move a job's results to their places; the description of its batch is on standard input."""
    from sketchbench.plan.parcel import take

    if failed := take(parcel, read_json_stdin("the batch"), receipt, log_file):
        sys.exit(_errors(failed))


@command.command("table")
@click.argument("study")
@CSV
@SCALE
@CODE
def make_table(study: str, csv: Path, scale: str, code: str) -> None:
    """Verify and join the records of one study; its manifest comes as JSON on standard input."""
    from sketchbench.report.table.joining import check_manifest, make

    check_planned(code, code_of("table"))
    make(study, check_manifest(read_json_stdin("the manifest")), scale, csv)


@command.command("tables")
@click.argument("manifests", type=FILE)
@click.option("--tables", required=True, type=FILE, help="The folder of the tables.")
@SCALE
@CODE
def make_tables(manifests: Path, tables: Path, scale: str, code: str) -> None:
    """Verify and join the records of several studies; MANIFESTS is a JSON file with the manifest of each."""
    from sketchbench.report.table.joining import check_manifest, make

    check_planned(code, code_of("table"))
    read = parse_json(manifests.read_text(encoding="utf-8"), str(manifests))
    places = {study: check_report(tables / f"{study}.csv") for study in read}
    for study, manifest in read.items():
        make(study, check_manifest(manifest), scale, places[study])


@command.command("figure")
@click.argument("figure")
@TABLES
@SVG
@PNG
@SCALE
@CODE
def draw_figure(figure: str, tables: Sequence[Path], svg: Path, png: Path, scale: str, code: str) -> None:
    """Draw one figure from the finished tables of its studies."""
    from sketchbench.report.figure import drawing
    from sketchbench.report.figure.catalogue import read_catalogue

    catalogue = read_catalogue()
    entry = catalogue[choose("figure", figure, catalogue)]
    check_planned(code, drawing.code_of(entry))
    drawing.make(figure, entry, tables, scale, svg=svg, png=png)


@command.command("figures")
@click.argument("names", nargs=-1, required=True)
@click.option("--tables", required=True, type=FILE, help="The folder of the tables.")
@click.option("--figures", required=True, type=FILE, help="The folder of the figures.")
@SCALE
@CODE
def draw_figures(names: Sequence[str], tables: Path, figures: Path, scale: str, code: str) -> None:
    """Draw several figures from finished tables in one process; the digests of their code are joined by commas."""
    from sketchbench.report.figure import drawing
    from sketchbench.report.figure.catalogue import read_catalogue

    catalogue = read_catalogue()
    entries = {name: catalogue[choose("figure", name, catalogue)] for name in names}
    check_planned(code, *map(drawing.code_of, entries.values()))
    for name, entry in entries.items():
        needed = [tables / f"{study}.csv" for study in entry.studies]
        svg, png = (check_report(figures / f"{name}.{suffix}") for suffix in ("svg", "png"))
        drawing.make(name, entry, needed, scale, svg=svg, png=png)


@command.command("claims")
@TABLES
@click.option("--claims", required=True, type=FILE, help="The folder of their YAML files.")
@click.option("--errata", type=FILE, help="The folder of their YAML files (default: none).")
@click.option("--facts", required=True, help="Scale, kernels, seed, ... as JSON.")
@CSV
@PAGE
@CODE
def judge_claims(
    tables: Sequence[Path], claims: Path, errata: Path | None, facts: str, csv: Path, page: Path, code: str
) -> None:
    """Judge all claims by all tables, and list the contracts that are broken."""
    from sketchbench.report.claim.judge import judge

    check_planned(code, code_of("claims"))
    mistakes = sorted(errata.rglob("*.yaml")) if errata else []  # there may be none
    for line in judge(tables, yaml_files(claims), mistakes, facts, csv=csv, markdown=page):
        print(line, file=sys.stderr)


@command.command("printed")
@click.argument("tables", type=FILE, nargs=-1)
@click.option("--printed", required=True, type=FILE, help="The folder of their YAML files.")
@click.option("--verdicts", required=True, type=FILE, help="claims.csv, made of these tables.")
@SCALE
@click.option("--older", default="", help="Studies whose tables are of older code, separated by commas.")
@CSV
@CODE
def compare_printed(
    tables: Sequence[Path], printed: Path, verdicts: Path, scale: str, older: str, csv: Path, code: str
) -> None:
    """Write the papers' tables and figures, cell by cell, and the measured values."""
    from sketchbench.report.printed.cells import compare

    check_planned(code, code_of("printed"))
    compare(tables, yaml_files(printed), verdicts, scale, [name for name in older.split(",") if name], csv=csv)


@command.command("frontier")
@TABLES
@SCALE
@CSV
@CODE
def join_frontier(tables: Sequence[Path], scale: str, csv: Path, code: str) -> None:
    """Join the frontier's tables."""
    from sketchbench.plan.trained import trained
    from sketchbench.report.frontier import TRAININGS
    from sketchbench.report.frontier.cells import join

    check_planned(code, code_of("frontier"))
    studies = [path.stem for path in tables if path.stem in TRAININGS]
    join(tables, scale, csv, {study: trained(study, scale) for study in studies})


@command.command("long")
@click.argument("folder", type=FILE)
@click.option("--seconds", default=60.0, help="CPU seconds that a record says (60).")
def list_long_records(folder: Path, seconds: float) -> None:
    """List the records in a folder that took so long, by their paths in it."""
    from sketchbench.plan.cost import long_records

    for path in long_records(folder, seconds):
        print(path)


@command.command("benchmarks")
@click.option("--json", "report", required=True, type=FILE, help="The report of pytest-benchmark on tests/benchmark.")
@CSV
@SVG
@PNG
def make_benchmarks(report: Path, csv: Path, svg: Path, png: Path) -> None:
    """Make a table of pytest-benchmark's report, and a figure of the table."""
    from sketchbench.report.figure.benchmarks import figure_of
    from sketchbench.report.table.benchmarks import table_of

    table_of(report, csv)
    figure_of(csv, svg, png)

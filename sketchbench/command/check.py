"""`sketchbench check`: compare verdicts with published or older verdicts."""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from sketchbench.base.files import check_writable, write_text
from sketchbench.base.project import reports
from sketchbench.command.group import FOLDER
from sketchbench.plan.expected import read_expected, unexpected
from sketchbench.report.claim import page, reproduction
from sketchbench.report.claim.check import (
    Notice,
    annotations,
    broken,
    changes,
    not_reproduced,
    published,
    read_published,
    read_verdicts,
    summary,
)
from sketchbench.report.claim.state import not_of_this_plan
from sketchbench.report.claim.state import summary as states
from sketchbench.report.committed import of_commit, other_page, other_tables
from sketchbench.report.current import not_current

FILE = click.Path(path_type=Path)


@click.command("check")
@click.argument("verdicts", type=FILE, required=False, metavar="[CLAIMS.CSV]")
@FOLDER
@click.option(
    "--against",
    type=FILE,
    metavar="CLAIMS.CSV",
    help="Compare with an older claims.csv; seals.jsonl must be in the same directory.",
)
@click.option(
    "--committed",
    is_flag=True,
    help="Also fail if nothing is published, or if code, config or seed of a table differ from git's HEAD.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="For the publishing machine: fail at every difference in numbers, tables or the page of claims.",
)
@click.option(
    "--current",
    is_flag=True,
    help="Fail if verdicts are older than the last plan, or if other code or libraries made the reports.",
)
@click.option("--list", "only_list", is_flag=True, help="List the differences, and exit with 0.")
@click.option("--summary", "markdown", type=FILE, metavar="FILE", help="Write the differences to a Markdown file.")
def command(
    verdicts: Path | None,
    folder: Path | None,
    against: Path | None,
    committed: bool,
    strict: bool,
    current: bool,
    only_list: bool,
    markdown: Path | None,
) -> None:
    """Compare verdicts with the published verdicts in git's HEAD, and list which are reproduced, weaker, stronger or
    different. Exits with 1 if a verdict differs or a method breaks its contract.

    The default file is that of the quick scale, in --folder if given. With --folder, it also exits with 1 if a verdict
    is not the one under `expected` in a method's YAML file. On GitHub's runners the list is also written as
    annotations and to the job's summary.

    \b
    sketchbench check
    sketchbench check reports/paper/claims.csv --against before/claims.csv --current
    sketchbench check --folder mine
    sketchbench check --strict
    """
    verdicts = verdicts or (folder / "reports" / "quick" if folder else reports("reports")) / "claims.csv"
    if markdown:
        check_writable(markdown, lambda path: path.read_text(encoding="utf-8").index(" verdicts, "))
    rows = read_verdicts(verdicts)
    old = [*not_of_this_plan(rows), *not_current(verdicts.parent)] if current else []
    with ExitStack() as stack:
        if (committed or strict) and not against:
            head = stack.enter_context(of_commit(verdicts.parent))
            old += other_tables(head, verdicts.parent)
            old += other_page(head, verdicts.parent) if strict else []
        older = read_published(against) if against else published(verdicts.parent)
    found = broken(rows)
    wanted = read_expected(folder) if folder else []
    found += (surprises := unexpected(wanted, rows))
    last = f"nothing is published to compare with: git's HEAD has no {verdicts}"
    if older is not None:
        compared = reproduction.compare(older, rows)
        found += not_reproduced(compared) + (changes(older, rows) if strict else [])
        last = reproduction.last_line(compared)
    counts = [*page.counted_predictions(rows), *states(rows)]
    counts += [f"{len(wanted) - len(surprises)} of {len(wanted)} as your files expect"] if wanted else []
    title = f"{len(rows)} verdicts, {', '.join(counts)}"
    _tell(title, last, found, old, markdown)
    sys.exit(1 if (any(one.serious for one in found) or old) and not only_list else 0)


def _tell(title: str, last: str, found: Sequence[Notice], old: Sequence[str], markdown: Path | None) -> None:
    """Print the findings, and write them to the file and to the summary of GitHub's runners."""
    for line in [*found, *old, title]:
        print(line)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(found, old):
            print(line)
    print(last)
    text = summary(title, last, found, old)
    if markdown:
        write_text(markdown, text)
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text)

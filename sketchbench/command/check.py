"""`sketchbench check`: compares verdicts with the expected ones, and with older ones."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from sketchbench.command.group import FOLDER
from sketchbench.files import check_writable, write_text
from sketchbench.project import reports
from sketchbench.report.claim.check import annotations, changes, read_verdicts, summary, surprises
from sketchbench.report.claim.state import not_of_this_plan
from sketchbench.report.claim.state import summary as states
from sketchbench.report.committed import differences, of_commit

FILE = click.Path(path_type=Path)


@click.command("check")
@click.argument("verdicts", type=FILE, required=False, metavar="[CLAIMS.CSV]")
@FOLDER
@click.option(
    "--against",
    type=FILE,
    metavar="CLAIMS.CSV",
    help="Compare with an older claims.csv, in a folder of its own, with its seal.",
)
@click.option("--committed", is_flag=True, help="Compare all reports of the folder with those of git's HEAD.")
@click.option(
    "--other-processor",
    is_flag=True,
    help="The older file is of another machine: a number may differ where its intervals overlap.",
)
@click.option("--current", is_flag=True, help="Fail where a verdict is of older code than the last plan.")
@click.option("--list", "only_list", is_flag=True, help="List the differences, with exit code 0.")
@click.option("--summary", "page", type=FILE, metavar="FILE", help="Write the differences as Markdown.")
def command(
    verdicts: Path | None,
    folder: Path | None,
    against: Path | None,
    committed: bool,
    other_processor: bool,
    current: bool,
    only_list: bool,
    page: Path | None,
) -> None:
    """List verdicts that are not the expected ones, or differ from an older run; the exit code is then 1.

    The file is that of the quick scale unless it is named, of --folder if that is given. On GitHub's runners the list
    is also written as annotations and into the summary of the job.

    \b
    sketchbench check
    sketchbench check reports/paper/claims.csv --against before/claims.csv --current
    sketchbench check --committed
    """
    verdicts = verdicts or (folder / "reports" / "quick" if folder else reports("reports")) / "claims.csv"
    if page:
        check_writable(page, lambda path: path.read_text(encoding="utf-8").index(" verdicts, "))
    rows = read_verdicts(verdicts)
    old = not_of_this_plan(rows) if current else []
    with ExitStack() as stack:
        if committed:
            folder = stack.enter_context(of_commit(verdicts.parent))
            old += differences(folder, verdicts.parent)
            against = folder / verdicts.name
        changed = changes(read_verdicts(against), rows) if against else []
    surprising = surprises(rows)
    for line in [*surprising, *changed, *old]:
        print(line)
    not_run = int((rows["verdict"] == "not run").sum())
    counts = [f"{len(surprising)} surprises", f"{not_run} not run", *states(rows)]
    counts += [f"{len(changed)} changes"] if against else []
    title = f"{len(rows)} verdicts, {', '.join(counts)}"
    print(title)
    text = summary(title, surprising, changed, old)
    if page:
        write_text(page, text)
    if place := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in annotations(surprising, changed, old):
            print(line)
    failing = [one for one in changed if one.serious or not other_processor]
    sys.exit(1 if (surprising or failing or old) and not only_list else 0)

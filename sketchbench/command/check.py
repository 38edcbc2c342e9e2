"""`sketchbench check`: whether verdicts are the expected ones."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from sketchbench.files import write_text
from sketchbench.report.claim.check import annotations, changes, read_verdicts, summary, surprises
from sketchbench.report.claim.state import not_of_this_plan
from sketchbench.report.claim.state import summary as states
from sketchbench.report.committed import differences, of_commit

FILE = click.Path(path_type=Path)


@click.command("check")
@click.argument("verdicts", type=FILE, default=Path("reports/claims.csv"), metavar="[CLAIMS.CSV]")
@click.option("--against", type=FILE, metavar="CLAIMS.CSV", help="An older one, in a folder of its own, with its seal.")
@click.option("--committed", is_flag=True, help="Hold all reports of the folder against those of git's HEAD.")
@click.option(
    "--other-processor",
    is_flag=True,
    help="The older one is of another machine: numbers may differ where their intervals still overlap.",
)
@click.option("--current", is_flag=True, help="Fail where a verdict is not of the code of the last plan.")
@click.option("--list", "only_list", is_flag=True, help="List what is found, and end with 0 all the same.")
@click.option("--summary", "page", type=FILE, metavar="FILE", help="Write what is found as Markdown.")
def command(
    verdicts: Path,
    against: Path | None,
    committed: bool,
    other_processor: bool,
    current: bool,
    only_list: bool,
    page: Path | None,
) -> None:
    """Fail where a verdict is not the expected one, or not that of an older run.

    On GitHub's runners, what is found is annotated, and written into the summary of the job.

    \b
    sketchbench check
    sketchbench check reports/paper/claims.csv --against before/claims.csv --current
    sketchbench check --committed
    """
    found = read_verdicts(verdicts)
    old = not_of_this_plan(found) if current else []
    with ExitStack() as stack:
        if committed:
            folder = stack.enter_context(of_commit(verdicts.parent))
            old += differences(folder, verdicts.parent)
            against = folder / verdicts.name
        changed = changes(read_verdicts(against), found) if against else []
    surprising = surprises(found)
    for line in [*surprising, *changed, *old]:
        print(line)
    not_run = int((found["verdict"] == "not run").sum())
    counts = [f"{len(surprising)} surprises", f"{not_run} not run", *states(found)]
    counts += [f"{len(changed)} changes"] if against else []
    title = f"{len(found)} verdicts, {', '.join(counts)}"
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

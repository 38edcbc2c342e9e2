"""`sketchbench check`: whether verdicts are the expected ones."""

import sys
from pathlib import Path

import click

from sketchbench.claim.check import changes, differences, read_older, read_verdicts
from sketchbench.claim.origin import not_of_this_plan, summary

FILE = click.Path(path_type=Path)


@click.command("check")
@click.argument("verdicts", type=FILE, default=Path("reports/claims.csv"), metavar="[CLAIMS.CSV]")
@click.option("--against", type=FILE, metavar="FILE", help="An older one; fail on a change, too.")
@click.option("--current", is_flag=True, help="Fail where a verdict is not of the code of the last plan.")
def command(verdicts: Path, against: Path | None, current: bool) -> None:
    """Fail where a verdict is not the expected one, or not that of an older run.

    \b
    sketchbench check
    sketchbench check reports/paper/claims.csv --against before.csv --current
    """
    found = read_verdicts(verdicts)
    lines = differences(found)
    if against:
        lines += changes(read_older(against), found)
    old = not_of_this_plan(found) if current else []
    for line in [*lines, *old]:
        print(line)
    not_run = int((found["verdict"] == "not run").sum())
    counts = [f"{len(lines)} surprises", f"{not_run} not run", *summary(found)]
    print(f"{len(found)} verdicts, {', '.join(counts)}")
    sys.exit(1 if lines or old else 0)

"""`sketchbench gather FOLDER`: records and checkpoints of another machine."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from sketchbench.command.gathering import Gathering
from sketchbench.command.plan import plan_of, settings
from sketchbench.files import FileError


@click.command("gather")
@click.argument("source", type=click.Path(path_type=Path), metavar="FOLDER")
@settings
@click.option("--dry-run", is_flag=True, help="List the files that would be taken, and take none.")
def command(source: Path, dry_run: bool, **options: Any) -> None:
    """Copy records and checkpoints that another machine made into results/.

    FOLDER is searched with all folders in it. A file is taken if a run of the plan, of the same code, misses it; files
    in results/ are never replaced. Options are as in Snakemake's --config.

    \b
    sketchbench gather /mnt/gpu/results --scale paper --dry-run
    """
    if not source.is_dir():
        raise FileError(f"{source} is {'no folder' if source.exists() else 'not there'}; name one with records in it")
    plan = plan_of(options)
    if Path(plan.places.results).resolve().is_relative_to(source.resolve()):
        raise FileError(f"{source} holds the results that are here; name a folder that comes from elsewhere")
    fates: Counter[str] = Counter()
    for outcome in Gathering(plan, dry=dry_run).look_through(source):
        fates[outcome.fate] += 1
        print(outcome)
    counts = ", ".join(f"{count} {fate}" for fate, count in fates.items()) or "no record and no checkpoint in it"
    print(f"{source}: {counts}{' (nothing was written)' if dry_run else ''}")
    if fates["damaged"]:
        sys.exit(f"sketchbench: error: {fates['damaged']} damaged files were refused; copy them once more")

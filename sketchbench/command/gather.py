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
@click.option("--dry-run", is_flag=True, help="Say what would be taken, and take nothing.")
def command(source: Path, dry_run: bool, **options: Any) -> None:
    """Bring in records and checkpoints that were made elsewhere, as by another machine.

    FOLDER is looked through with all folders in it. What is taken are those of runs that are planned here, with the
    same code. What is here already stays as it is. Options are as Snakemake's --config.

    \b
    sketchbench gather /mnt/gpu/results --scale paper --dry-run
    """
    if not source.is_dir():
        raise FileError(f"{source} is {'no folder' if source.exists() else 'not there'}; name one with records in it")
    plan = plan_of(options)
    if Path(plan.places.results).resolve().is_relative_to(source.resolve()):
        raise FileError(f"{source} holds the results that are here; name a folder that comes from elsewhere")
    fates: Counter[str] = Counter()
    for found in Gathering(plan, dry=dry_run).look_through(source):
        fates[found.fate] += 1
        print(found)
    said = ", ".join(f"{count} {fate}" for fate, count in fates.items()) or "no record and no checkpoint in it"
    print(f"{source}: {said}{' (nothing was written)' if dry_run else ''}")
    if fates["damaged"]:
        sys.exit(f"sketchbench: error: {fates['damaged']} damaged files were refused; copy them once more")

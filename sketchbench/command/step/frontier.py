"""The frontier of compressors."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.command.step import FILE
from sketchbench.config.schema import SCALES
from sketchbench.report.frontier.cells import join


@click.command("frontier")
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--scale", required=True, type=OneOf(SCALES), help="The scale of these tables.")
@click.option("--csv", required=True, type=FILE)
def command(tables: Sequence[Path], scale: str, csv: Path) -> None:
    """Join the frontier's tables."""
    join(tables, scale, csv)

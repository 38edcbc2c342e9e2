"""Seals of committed tables that have none."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.command.step import FILE
from sketchbench.config.schema import SCALES
from sketchbench.report.table.adopt import adopt


@click.command("adopt")
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--scale", required=True, type=OneOf(SCALES), help="The scale of these tables.")
def command(tables: Sequence[Path], scale: str) -> None:
    """Seal committed tables that have no seal, so that runs of other studies judge them, as older code."""
    for path in tables:
        print(f"{path}: {adopt(path, scale)}")

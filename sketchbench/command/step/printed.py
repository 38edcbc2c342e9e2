"""Printed against measured."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.command.step import FILE, written
from sketchbench.config.schema import SCALES
from sketchbench.report.printed.cells import compare


@click.command("printed")
@click.argument("tables", type=FILE, nargs=-1)
@click.option("--printed", required=True, type=FILE, help="The folder of their YAML files.")
@click.option("--verdicts", required=True, type=FILE, help="claims.csv, made of these tables.")
@click.option("--scale", required=True, type=OneOf(SCALES), help="That they are of.")
@click.option("--older", default="", help="Studies whose tables are of older code, separated by commas.")
@click.option("--csv", required=True, type=FILE)
def command(tables: Sequence[Path], printed: Path, verdicts: Path, scale: str, older: str, csv: Path) -> None:
    """Write the papers' tables and figures, cell by cell, beside what was measured."""
    compare(tables, written(printed), verdicts, scale, [name for name in older.split(",") if name], csv=csv)

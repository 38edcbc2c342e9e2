"""One figure."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.command.step import FILE
from sketchbench.config.schema import SCALES
from sketchbench.parameters import choose
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.figure.drawing import make


@click.command("figure")
@click.argument("figure")
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--svg", required=True, type=FILE)
@click.option("--png", required=True, type=FILE)
@click.option("--scale", type=OneOf(SCALES), default="quick", help="The scale of these tables (quick).")
def command(figure: str, tables: Sequence[Path], svg: Path, png: Path, scale: str) -> None:
    """Draw one figure from finished tables, those of its studies."""
    catalogue = read_catalogue()
    entry = catalogue[choose("figure", figure, catalogue)]
    make(figure, entry, tables, scale, svg=svg, png=png)

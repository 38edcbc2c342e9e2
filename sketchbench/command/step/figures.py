"""Several figures in one process, where starting Python takes longer than drawing them."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.step import FILE
from sketchbench.parameters import choose
from sketchbench.report.figure.catalogue import read_catalogue
from sketchbench.report.figure.drawing import make


@click.command("figures")
@click.argument("names", nargs=-1, required=True)
@click.option("--tables", required=True, type=FILE, help="The folder of the tables.")
@click.option("--figures", required=True, type=FILE, help="The folder of the figures.")
@click.option("--scale", required=True, help="The scale of these tables.")
def command(names: Sequence[str], tables: Path, figures: Path, scale: str) -> None:
    """Draw figures from finished tables, one by one."""
    catalogue = read_catalogue()
    for name in names:
        entry = catalogue[choose("figure", name, catalogue)]
        needed = [tables / f"{study}.csv" for study in entry.studies]
        place = figures / name
        make(name, entry, needed, scale, svg=place.with_suffix(".svg"), png=place.with_suffix(".png"))

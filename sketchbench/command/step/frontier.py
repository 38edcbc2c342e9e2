"""The frontier of compressors."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.step import FILE, written
from sketchbench.frontier.joining import join


@click.command("frontier")
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--claims", required=True, type=FILE, help="The folder of their YAML files.")
@click.option("--verdicts", required=True, type=FILE, help="claims.csv, made of these tables.")
@click.option("--figures", default="", help="Names of figures that the page shows, separated by commas.")
@click.option("--csv", required=True, type=FILE)
@click.option("--html", required=True, type=FILE)
def command(tables: Sequence[Path], claims: Path, verdicts: Path, figures: str, csv: Path, html: Path) -> None:
    """Join the frontier's tables."""
    shown = [name for name in figures.split(",") if name]
    join(tables, written(claims), verdicts, shown, csv=csv, html=html)

"""The frontier of compressors."""

from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.step import FILE
from sketchbench.report.frontier.joining import join


@click.command("frontier")
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--csv", required=True, type=FILE)
def command(tables: Sequence[Path], csv: Path) -> None:
    """Join the frontier's tables."""
    join(tables, csv)

"""The table and the figure of `make bench`."""

from pathlib import Path

import click

from sketchbench.command.step import FILE
from sketchbench.report.figure.benchmarks import figure_of
from sketchbench.report.table.benchmarks import table_of


@click.command("benchmarks")
@click.option("--json", "report", required=True, type=FILE, help="What pytest-benchmark reports of tests/benchmark.")
@click.option("--csv", required=True, type=FILE)
@click.option("--svg", required=True, type=FILE)
@click.option("--png", required=True, type=FILE)
def command(report: Path, csv: Path, svg: Path, png: Path) -> None:
    """Make a table of what pytest-benchmark reports, and a figure of the table."""
    table_of(report, csv)
    figure_of(csv, svg, png)

"""The table of one study."""

from pathlib import Path

import click

from sketchbench.command.program import read_json_stdin
from sketchbench.command.step import FILE
from sketchbench.report.table.joining import check_manifest, make


@click.command("table")
@click.argument("study")
@click.option("--csv", required=True, type=FILE)
@click.option("--scale", default="quick", help="The scale of these records (quick).")
def command(study: str, csv: Path, scale: str) -> None:
    """Verify and join the records of one study; the manifest comes on stdin."""
    make(study, check_manifest(read_json_stdin("the manifest")), scale, csv)

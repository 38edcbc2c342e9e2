"""The table of one study."""

from pathlib import Path

import click

from sketchbench.command.step import FILE
from sketchbench.command_line import json_from_stdin
from sketchbench.table.joining import checked, make


@click.command("table")
@click.argument("study")
@click.option("--csv", required=True, type=FILE)
@click.option("--scale", default="quick", help="The scale of these records (quick).")
def command(study: str, csv: Path, scale: str) -> None:
    """Verify and join the records of one study; the manifest comes on stdin."""
    make(study, checked(json_from_stdin("the manifest")), scale, csv)

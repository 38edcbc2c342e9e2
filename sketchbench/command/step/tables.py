"""The tables of several studies in one process, where starting Python takes longer than making them."""

from pathlib import Path

import click

from sketchbench.command.step import FILE
from sketchbench.files import parse_json
from sketchbench.report.table.joining import check_manifest, make


@click.command("tables")
@click.argument("manifests", type=FILE)
@click.option("--tables", required=True, type=FILE, help="The folder of the tables.")
@click.option("--scale", required=True, help="The scale of these records.")
def command(manifests: Path, tables: Path, scale: str) -> None:
    """Verify and join the records of several studies; MANIFESTS is JSON with the manifest of each."""
    for study, manifest in parse_json(manifests.read_text(encoding="utf-8"), str(manifests)).items():
        place = tables / study
        make(study, check_manifest(manifest), scale, place.with_suffix(".csv"))

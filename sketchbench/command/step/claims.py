"""Verdicts on all claims."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.command.step import FILE, written
from sketchbench.report.claim.judge import judge


@click.command("claims")
@click.argument("tables", type=FILE, nargs=-1, required=True)
@click.option("--claims", required=True, type=FILE, help="The folder of their YAML files.")
@click.option("--errata", type=FILE, help="The folder of their YAML files (default: none).")
@click.option("--facts", required=True, help="Scale, kernels, seed, ... as JSON.")
@click.option("--csv", required=True, type=FILE)
@click.option("--page", required=True, type=FILE, help="Markdown.")
def command(tables: Sequence[Path], claims: Path, errata: Path | None, facts: str, csv: Path, page: Path) -> None:
    """Judge all claims by all tables, and say what came out unexpected."""
    mistakes = sorted(errata.glob("*.yaml")) if errata else []  # there may be none
    for line in judge(tables, written(claims), mistakes, facts, csv=csv, markdown=page):
        print(line, file=sys.stderr)

"""`sketchbench step`: the steps of the workflow, which Snakemake's rules and the Makefile call; a module for each."""

from pathlib import Path

import click

from sketchbench.command.group import Lazy

FILE = click.Path(path_type=Path)
COMMANDS = {
    "job": "Do the runs of a batch, and write their records.",
    "table": "Verify and join the records of one study.",
    "tables": "Make the tables of several studies in one process.",
    "figure": "Draw one figure from finished tables.",
    "figures": "Draw several figures in one process.",
    "claims": "Judge all claims by all tables.",
    "printed": "Join what the papers print with what was measured.",
    "frontier": "Join the frontier's tables.",
    "benchmarks": "Make the table and the figure of `make bench`.",
}


@click.group(
    "step", cls=Lazy, package="sketchbench.command.step", commands=COMMANDS, hidden=True, no_args_is_help=False
)
def command() -> None:
    """A step of the workflow. Snakemake calls them; nobody else needs to."""


def written(place: Path) -> list[Path]:
    """The YAML files of a folder, or a single one; FileNotFoundError where there are none."""
    files = [place] if place.is_file() else sorted(place.glob("*.yaml"))
    if not files:
        raise FileNotFoundError(f"{place} has no YAML files in it; name a folder such as conf/claim")
    return files

"""`sketchbench results`: every study, by Snakemake."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sketchbench.project import PROJECT

NEEDED = ("workflow/Snakefile", "workflow/run")


@click.command("results", context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SNAKEMAKE'S OPTION]...")
def command(arguments: Sequence[str]) -> None:
    """Run the studies, and write verdicts, tables and figures into reports/. `make results` is the same.

    Runs whose configuration and code have not changed are not made again; a run that was stopped goes on. The exit code
    is not 0 where a run failed, or where a verdict is not the expected one. Options are Snakemake's; --config sets the
    settings of conf/workflow.yaml.

    \b
    sketchbench results --config scale=smoke                two minutes
    sketchbench results                                     scale=quick: 15 to 25 minutes on two cores
    sketchbench results --config studies=tails,norms
    sketchbench results --config folder=mine only=mine      your own methods, beside a few others
    sketchbench results --dry-run                           list the jobs, and run none
    """
    places = [place for place in (Path.cwd(), PROJECT) if all((place / name).is_file() for name in NEEDED)]
    if not places:
        raise FileNotFoundError(
            "no workflow here: it is in a checkout of the project, not in the package; `git clone` the project, and run"
            " this in its folder"
        )
    sys.exit(subprocess.call(["sh", "workflow/run", *arguments], cwd=places[0]))

"""`sketchbench plan`: list the runs of the workflow and their time."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from sketchbench.command.group import FOLDER
from sketchbench.plan.cost import format_duration
from sketchbench.plan.making import from_settings, settings_with
from sketchbench.plan.plan import Plan


def settings(function: Any) -> Any:
    """Add the settings of a plan as options; each defaults to its value in conf/workflow.yaml."""
    options = [
        click.option("--scale", help="smoke, quick or paper (default: quick)."),
        click.option("--kernels", help="Backend: auto, numpy, numba or cupy (default: auto)."),
        click.option("--seed", type=int, help="Root of all randomness (default: 0)."),
        click.option("--studies", help="Studies, separated by commas (default: all)."),
        click.option("--chapters", help="Directories of conf/study, separated by commas (default: all)."),
        FOLDER,
        click.option("--only", help="mine: run only the studies for your methods, with a few reference methods."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.command("plan")
@settings
@click.option("--runs", is_flag=True, help="List each run with its signature.")
def command(runs: bool, **options: Any) -> None:
    """List the studies with the number of their runs and the time on one core, estimated from earlier runs.

    \b
    sketchbench plan --scale paper
    sketchbench plan --studies tails --runs
    sketchbench plan --folder mine --only mine
    """
    plan = plan_of(options)
    for line in run_lines(plan) if runs else study_lines(plan):
        print(line)
    for skipped in plan.skipped if runs else ():
        print(f"skipped: {skipped.study}: {skipped.name}: {skipped.reason}")
    print(plan.summary)


def plan_of(options: Mapping[str, Any]) -> Plan:
    """Return the plan of the workflow's settings and these options; FolderError for mistakes in the user's folder."""
    return from_settings(settings_with(options))


def study_lines(plan: Plan) -> Iterator[str]:
    """A line for each study: the number of its runs, and their time."""
    units = plan.units
    width = max((len(unit.study) for unit in units), default=0)
    for study in dict.fromkeys(unit.study for unit in units):
        seconds = [unit.seconds for unit in units if unit.study == study]
        measured = [value for value in seconds if value is not None]
        time = "never measured" if len(measured) < len(seconds) else format_duration(sum(measured))
        yield f"{study:{width}s}  {len(seconds):5d} {'run ' if len(seconds) == 1 else 'runs'}  {time}"


def run_lines(plan: Plan) -> Iterator[str]:
    """A line for each run: its signature, and its time."""
    for unit in plan.units:
        seconds = "?" if unit.seconds is None else f"{unit.seconds:.2g} s"
        yield f"{unit.study:24s} {unit.name:56s} {unit.signature} {seconds:>8s}"

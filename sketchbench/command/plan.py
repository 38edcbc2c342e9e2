"""`sketchbench plan`: what a run of the workflow would do, and how long it takes."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from sketchbench.config.composition import user_folder
from sketchbench.inspection.check import check_folder
from sketchbench.plan.cost import format_duration
from sketchbench.plan.making import from_settings, settings_with
from sketchbench.plan.plan import Plan


def settings(function: Any) -> Any:
    """The settings of a plan as options; what is not given is as conf/workflow.yaml says."""
    options = [
        click.option("--scale", help="smoke, quick or paper (default: quick)."),
        click.option("--kernels", help="auto, numpy, numba or cupy."),
        click.option("--seed", type=int, help="Root seed."),
        click.option("--studies", help="Names separated by commas (default: all)."),
        click.option("--folder", help="Your own folder of methods."),
        click.option("--only", help="mine: the methods of --folder alone, beside a few others."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.command("plan")
@settings
@click.option("--runs", is_flag=True, help="List each run, with its signature.")
def command(runs: bool, **options: Any) -> None:
    """List the studies, their runs, and how long these take on one core, by what they took before.

    \b
    sketchbench plan --scale paper
    sketchbench plan --studies tails --runs
    """
    plan = plan_of(options)
    for line in of_runs(plan) if runs else of_studies(plan):
        print(line)
    for skipped in plan.skipped if runs else ():
        print(f"skipped: {skipped.study}: {skipped.name}: {skipped.reason}")
    print(plan.summary)


def plan_of(options: Mapping[str, Any]) -> Plan:
    """The plan of the workflow's settings and these options; FolderError for mistakes in the user's folder."""
    chosen = settings_with(options)
    if folder := user_folder(chosen["folder"]):
        check_folder(folder)
    return from_settings(chosen)


def of_studies(plan: Plan) -> Iterator[str]:
    """A line for each study: its runs, and their time."""
    units = plan.units
    width = max((len(unit.study) for unit in units), default=0)
    for study in dict.fromkeys(unit.study for unit in units):
        seconds = [unit.seconds for unit in units if unit.study == study]
        known = [value for value in seconds if value is not None]
        time = "never measured" if len(known) < len(seconds) else format_duration(sum(known))
        yield f"{study:{width}s}  {len(seconds):5d} {'run ' if len(seconds) == 1 else 'runs'}  {time}"


def of_runs(plan: Plan) -> Iterator[str]:
    """A line for each run: its signature, and its time."""
    for unit in plan.units:
        seconds = "?" if unit.seconds is None else f"{unit.seconds:.2g} s"
        yield f"{unit.study:24s} {unit.name:56s} {unit.signature} {seconds:>8s}"

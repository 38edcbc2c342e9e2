"""`sketchbench plan`: the runs of the workflow, and the time that they take."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from sketchbench.command.group import FOLDER
from sketchbench.plan.cost import format_duration
from sketchbench.plan.inspection.check import check_folder
from sketchbench.plan.making import from_settings, settings_with
from sketchbench.plan.plan import Plan
from sketchbench.run.config.composition import user_folder


def settings(function: Any) -> Any:
    """Add the settings of a plan as options; each defaults to its value in conf/workflow.yaml."""
    options = [
        click.option("--scale", help="smoke, quick or paper (default: quick)."),
        click.option("--kernels", help="Backend: auto, numpy, numba or cupy (default: auto)."),
        click.option("--seed", type=int, help="Root of all randomness (default: 0)."),
        click.option("--studies", help="Studies, separated by commas (default: all)."),
        FOLDER,
        click.option(
            "--only", help="mine: only the studies of the methods in --folder, which run beside a few others."
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


class PlanSettings(click.Command):
    """A command whose options may be written as Snakemake's settings: `--config folder=mine` is `--folder=mine`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        valued = {f"--{param.name}" for param in self.params if not getattr(param, "is_flag", False)}
        pairs = [pair for pair in zip(["", *args], args, strict=False) if pair[1] != "--config"]
        return super().parse_args(
            ctx, [f"--{arg}" if before not in valued and re.match("[a-z]+=", arg) else arg for before, arg in pairs]
        )


@click.command("plan", cls=PlanSettings)
@settings
@click.option("--runs", is_flag=True, help="List each run, with its signature.")
def command(runs: bool, **options: Any) -> None:
    """List the studies, the number of their runs, and the time on one core, from the costs of earlier runs.

    \b
    sketchbench plan --scale paper
    sketchbench plan --studies tails --runs
    sketchbench plan folder=mine only=mine
    """
    plan = plan_of(options)
    for line in run_lines(plan) if runs else study_lines(plan):
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

"""`sketchbench`, which is also `python -m sketchbench`."""

import os
import sys

import click

from sketchbench.base.errors import one_line
from sketchbench.command.group import Lazy, explain
from sketchbench.command.program import USAGE, program

COMPLETE = "_SKETCHBENCH_COMPLETE"  # the variable by which a shell asks for completions
COMMANDS = {
    "run": "Run one task on one method, and print its numbers.",
    "results": "Run the studies, and write verdicts, tables and figures.",
    "plan": "List the studies with the number and the time of their runs.",
    "check": "Compare verdicts with published or older verdicts.",
    "show": "Show a claim with its verdicts, numbers and bounds.",
    "site": "Write the reports as a static site.",
    "advise": "List the compressors that fit a budget of bytes.",
    "frontier": "Try the compressors on your own data and network.",
    "attack": "Score an attack of your own beside ours.",
    "new": "Create a working template for a method, data set, network or task.",
    "gather": "Copy records from another machine to results/.",
    "data": "Download data sets, or list the checksums of your copies.",
    "costs": "Copy time and memory of runs to conf/costs.csv.",
    "step": "",  # hidden: the workflow's
}


@click.group(
    cls=Lazy,
    package="sketchbench.command",
    commands=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="sketchbench", message="%(prog)s %(version)s")
@click.pass_context
def sketchbench(context: click.Context) -> None:
    """Measure the claims of three papers on sketching in federated learning.

    \b
    sketchbench run task=moments sketch=srht b=32   one task, in seconds
    sketchbench results --scale smoke        every study, in two minutes
    sketchbench show S2 srht                        the evidence for a verdict
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@program
def main(arguments: list[str] | None = None) -> None:
    """The program; the arguments default to those of the command line. Its exit codes are those of `program`."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(sketchbench, {}, "sketchbench", COMPLETE, instruction))
    try:
        with sketchbench.make_context("sketchbench", sys.argv[1:] if arguments is None else list(arguments)) as context:
            sketchbench.invoke(context)
    except click.exceptions.Exit as end:
        if end.exit_code:
            sys.exit(end.exit_code)
    except click.UsageError as error:
        print(f"sketchbench: error: {one_line(explain(error))}", file=sys.stderr)
        sys.exit(USAGE)

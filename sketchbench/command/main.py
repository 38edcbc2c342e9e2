"""`sketchbench`, which is also `python -m sketchbench`."""

import os
import sys

import click

from sketchbench.command.group import Lazy, explain
from sketchbench.command.program import USAGE, program
from sketchbench.errors import one_line

COMPLETE = "_SKETCHBENCH_COMPLETE"  # the variable by which a shell asks what may come next
COMMANDS = {
    "run": "Run one task and print what it measured.",
    "results": "Run the studies, and write verdicts, tables and figures.",
    "plan": "List the studies, their runs, and how long they take.",
    "check": "Fail where a verdict is not the expected one.",
    "show": "Show a claim's evidence: what was measured, against which bound, by what.",
    "site": "Write the reports as a static site.",
    "advise": "Say which compressors fit a budget of bytes, by what was measured.",
    "new": "Write a method of your own that works, to begin from.",
    "gather": "Bring in records that another machine made.",
    "data": "Download data sets, or vouch for your copies.",
    "costs": "Take what runs cost into conf/costs.csv.",
    "step": "",  # hidden: what the workflow calls
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
    sketchbench results --config scale=smoke        every study, in two minutes
    sketchbench show S2 srht                        why a verdict is what it is
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@program
def main(arguments: list[str] | None = None) -> None:
    """The program; its arguments are those of the command line by default. It ends as `program` says."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if asked := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(sketchbench, {}, "sketchbench", COMPLETE, asked))
    try:
        with sketchbench.make_context("sketchbench", given) as context:
            sketchbench.invoke(context)
    except click.exceptions.Exit as end:
        if end.exit_code:
            sys.exit(end.exit_code)
    except click.UsageError as error:
        print(f"sketchbench: error: {one_line(explain(error))}", file=sys.stderr)
        sys.exit(USAGE)

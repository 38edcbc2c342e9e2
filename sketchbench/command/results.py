"""`sketchbench results`: run the studies by Snakemake."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sketchbench.base.project import HOME, PROJECT, checkout
from sketchbench.command.group import OneOf
from sketchbench.command.plan import settings

NEEDED = ("workflow/Snakefile", "workflow/run")
# In a user's folder, for a package without a checkout: the directory, and what it links to.
WORKFLOW, LINKED = ".workflow", ("conf", "workflow", "environment.yml")
KILLED = "Snakemake was killed, by a lack of memory or a limit of the system; the same command resumes"


@click.command("results", context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@settings
@click.option("--minutes", type=float, help="Time limit of a long job, which then writes a checkpoint (default: none).")
@click.option(
    "--trials", type=OneOf(["all", "there"]), help="there: run no trials, use finished trials (default: all)."
)
@click.option("--differences", type=OneOf(["fail", "list"]), help="list: only list differing verdicts (default: fail).")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SNAKEMAKE'S OPTION]...")
def command(arguments: Sequence[str], **options: Any) -> None:
    """Run the studies, and write verdicts, tables and figures to reports/. `make results` does so for the papers'
    claims, `make frontier` for the comparison of compressors.

    Unchanged runs are kept, and interrupted runs resume. Exits non-zero if a run fails, a verdict differs from the
    published one, or a method breaks its contract. All other options, such as --cores, are Snakemake's.

    \b
    sketchbench results --scale smoke                   two minutes
    sketchbench results                                 the quick scale: 15 to 25 minutes on two cores
    sketchbench results --studies tails,norms --cores 1
    sketchbench results --folder mine --only mine       your own methods, with a few reference methods
    sketchbench results --dry-run                       list the jobs, run none
    """
    if options["folder"]:
        options["folder"] = options["folder"].absolute()
    here = Path.cwd()
    place = here if all((here / name).is_file() for name in NEEDED) else _place(options["folder"])
    # `python` in the workflow is this one, also if its environment is not activated
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    command = ["sh", "workflow/run", *_with_settings(list(arguments), options)]
    sys.exit(_call(command, place, {**os.environ, "PATH": path}))


def _call(command: Sequence[str], place: Path, environment: Mapping[str, str]) -> int:
    """Run a command that receives the signals which end this process; its exit code, as a shell has it. Snakemake then
    ends after the jobs that it has begun."""
    process = subprocess.Popen(command, cwd=place, env=environment)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: process.send_signal(number))
    code = process.wait()
    if code == -signal.SIGKILL:
        print(KILLED, file=sys.stderr)
    return code if code >= 0 else 128 - code


def _place(folder: Path | None) -> Path:
    """The checkout, or, for an installed package, a directory in the user's folder with links to the package's workflow
    and configs. Raises FileNotFoundError where there is neither."""
    if HOME == PROJECT or not (folder and folder.is_dir()):
        return checkout("the workflow without --folder")
    place = folder / WORKFLOW
    place.mkdir(exist_ok=True)
    for name in LINKED:
        link = place / name
        link.unlink(missing_ok=True)  # it may lead to a package that was installed before
        link.symlink_to(HOME / name)
    return place


def _with_settings(arguments: list[str], options: dict[str, Any]) -> list[str]:
    """Return Snakemake's arguments with the options in its one list of settings."""
    pairs = [f"{name}={value}" for name, value in options.items() if value is not None]
    if not pairs:
        return arguments
    if "--config" not in arguments:
        arguments = [*arguments, "--config"]
    place = arguments.index("--config") + 1
    return [*arguments[:place], *pairs, *arguments[place:]]

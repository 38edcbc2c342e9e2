"""`sketchbench run task=moments sketch=srht b=32`: run one task."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
from omegaconf import OmegaConf

from sketchbench.base.course import Unfinished, can_resume, with_time_limit
from sketchbench.base.errors import blame
from sketchbench.base.files import check_writable
from sketchbench.base.project import CONF
from sketchbench.command.group import FOLDER, OneOf
from sketchbench.command.program import UNFINISHED
from sketchbench.kernels import NAMES
from sketchbench.measure.column import CONTROLS
from sketchbench.plan.inspection.check import OwnMethod, check_folder
from sketchbench.run import job, record
from sketchbench.run.config import composition
from sketchbench.run.config.composition import METHODS, PARTS
from sketchbench.run.config.overrides import product
from sketchbench.run.execution import execute
from sketchbench.run.signature import code_of, signature

HIDDEN = {"minimum", "maximum", "skewness"}  # columns left out in a terminal


class RunCommand(click.Command):
    """A command whose help lists the groups, their options and the default config."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{list_options(composition.user_folder(ctx.params.get('folder') or ''))}\n")


@click.command("run", cls=RunCommand)
@click.argument("overrides", nargs=-1, metavar="[OVERRIDE]...")
@FOLDER
@click.option(
    "--result", type=click.Path(path_type=Path), metavar="FILE", help="Write a record (Parquet) to this file."
)
@click.option("--cfg", type=OneOf(["job"]), help="Print the composed config, and run nothing.")
@click.option("-m", "--multirun", is_flag=True, help="Run every combination of listed values, b=16,32.")
def command(
    overrides: Sequence[str], folder: Path | None, result: Path | None, cfg: str | None, multirun: bool
) -> None:
    """Run one task on one method, and print the measured rows. A run of a contract ends with its verdict, and with exit
    code 1 if the contract is broken.

    Overrides use Hydra's syntax: GROUP=OPTION chooses a file of conf/GROUP, KEY=VALUE sets a value.

    \b
    sketchbench run task=moments sketch=srht d=1000 b=50 'task.pairs=[random,flat]'
    sketchbench run --multirun sketch=srht,count_sketch b=16,32
    sketchbench run --cfg job task=tails sketch=sparse_embedding sketch.family.s=8
    sketchbench run task=training task.minutes=9    stops after 9 minutes with exit code 75; rerun to resume
    """
    if multirun and result:
        raise click.UsageError("--result names one record; leave it or --multirun out")
    own = composition.user_folder(folder or "")
    configs = product(overrides, [CONF, *([own] if own else [])]) if multirun else [list(overrides)]
    if cfg:
        for chosen in configs:
            print(OmegaConf.to_yaml(composition.compose(chosen, folder=own)), end="")
        return
    job.start_logging()
    with without_empty_folders(result and result.parent):
        if result:
            check_writable(result, record.read)
        if own:
            for chosen in configs:
                check_methods(own, chosen)
        try:
            broken = [chosen for chosen in configs if run_and_print(chosen, result, own)]
        except Unfinished as left:
            print(f"sketchbench: time limit reached; rerun the same command to resume: {left}", file=sys.stderr)
            sys.exit(UNFINISHED)
        except (Exception, SystemExit) as error:
            if line := blame(error, own):
                sys.exit(f"sketchbench: error: {line}")
            raise
    if broken:
        sys.exit(1)


def run_and_print(overrides: Sequence[str], result: Path | None, folder: Path | None) -> bool:
    """Run the config of overrides and print its rows; return whether it broke a contract."""
    config = composition.frozen(composition.compose(list(overrides), folder=folder), folder).config
    rows = run_config(config, result, folder)
    facts = [config[kind]["name"] for kind in METHODS if kind in config]
    facts += [f"{letter}={config[letter]}" for letter in "db" if letter in config]
    print(", ".join([*facts, f"{config['kernels']} kernels"]))
    print(format_rows(rows), flush=True)
    return say_verdict(overrides, config, rows)


def say_verdict(overrides: Sequence[str], config: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Print the verdict of a run of a contract's task; return whether the contract is broken."""
    task = next((text.partition("=")[2] for text in reversed(overrides) if text.startswith("task=")), "")
    methods = [config[kind]["name"] for kind in METHODS if kind in config]
    if "contract" not in task or not methods:
        return False
    from sketchbench.report.claim.by_hand import judge_contract  # half a second of pandas that other tasks do without

    verdict = judge_contract(task, methods[0], rows)
    if verdict:
        print(verdict, flush=True)
    return verdict is not None and bool(verdict.broken)


def list_options(folder: Path | None) -> str:
    """List the groups, their options and the default config."""
    lines = ["Groups and their options:"]
    for group in ("task", *METHODS, *PARTS, "scale"):
        places = [CONF / group] + ([folder / group] if folder else [])
        options = {str(path.relative_to(place).with_suffix("")) for place in places for path in place.rglob("*.yaml")}
        shown = sorted(option for option in options if not option.startswith(CONTROLS))
        more = f", and {len(options) - len(shown)} controls in conf/{group}" if len(shown) < len(options) else ""
        text = f"{group + ':':12s}{', '.join(shown)}{more}"
        lines += textwrap.wrap(text, 116, initial_indent="  ", subsequent_indent=" " * 14)
    lines.append(f"  {'kernels:':12s}{', '.join(('auto', *NAMES))}")
    config = composition.compose([], folder=folder)
    lines += ["", "Keys, with their defaults:"]
    lines += [f"  {line}" for line in OmegaConf.to_yaml(config).splitlines()]
    return "\n".join(lines)


def format_rows(rows: Sequence[Mapping[str, Any]], limit: int = 40) -> str:
    """Format rows as a short table of the columns with values; numbers have four digits."""
    filled = (name for row in rows[:limit] for name, value in row.items() if value is not None)
    names = [name for name in dict.fromkeys(filled) if name not in HIDDEN]
    cells = [names] + [[_cell(row.get(name)) for name in names] for row in rows[:limit]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    if len(rows) > limit:
        lines.append(f"... and {len(rows) - limit} more rows; --result FILE keeps them all")
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def check_methods(folder: Path, overrides: Sequence[str]) -> None:
    """Check the names in a user's folder, and the chosen method. Raises FolderError for mistakes."""
    chosen = (override.partition("=")[::2] for override in overrides)
    groups = ((key.partition("@")[0], name) for key, name in chosen)
    methods = [OwnMethod(kind, name) for kind, name in groups if kind in (*METHODS, *PARTS)]
    own = [method for method in methods if method.path(folder).is_file()]
    parameters = [text for text in overrides if text.lstrip("+~").startswith(tuple(f"{m.kind}." for m in own))]
    check_folder(folder, only=own, overrides=parameters)


def run_config(config: dict[str, Any], result: Path | None, folder: Path | None) -> Sequence[Mapping[str, Any]]:
    """Run a config, write its record to `result` if given, and return its rows.

    A config with a time limit and no folder of checkpoints gets a folder named by its signature, removed at the end.

    Raises Unfinished at the time limit.
    """
    own = Path("results", "checkpoints", signature(config, folder))
    minutes = config["task"]["minutes"] if can_resume(config) else None
    limited = bool(minutes) and config["task"]["checkpoints"] is None
    if limited:
        config = with_time_limit(config, minutes, str(own))
    place = config["task"]["checkpoints"] if can_resume(config) else None
    with without_empty_folders(place and Path(place)):
        if place:
            check_writable(Path(place, "new"))
        rows = job.run(config, result, folder) if result else execute(config, code_of(config, folder))
        if limited:
            shutil.rmtree(own, ignore_errors=True)
    return rows


@contextmanager
def without_empty_folders(*places: Path | None) -> Iterator[None]:
    """Remove new folders on the way to these places at the end, if nothing was written."""
    new = [folder for place in places if place for folder in (place, *place.parents) if not folder.exists()]
    try:
        yield
    finally:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()

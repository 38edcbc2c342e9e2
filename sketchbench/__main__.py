"""Run one task by hand: `python -m sketchbench task=moments sketch=srht b=32`."""

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from sketchbench import composition, gather, job, template
from sketchbench.blame import blamed
from sketchbench.command_line import UNFINISHED, Parser, program
from sketchbench.composition import CONF, METHODS
from sketchbench.course import Unfinished, knows, told
from sketchbench.execution import execute
from sketchbench.frontier import advise
from sketchbench.inspection.check import check_folder
from sketchbench.inspection.method import Method
from sketchbench.signature import code_of, signature

EPILOG = """\
Overrides are Hydra's: GROUP=OPTION chooses a file of conf/GROUP, KEY=VALUE sets a value, e.g.

  python -m sketchbench task=moments sketch=srht d=1000 b=50 'task.pairs=[random,flat]'
  python -m sketchbench new sketch NAME     # a family of your own to begin from; also: recovery, compressor
  python -m sketchbench gather FOLDER       # bring in records of another machine; gather --help
  python -m sketchbench advise --bytes 1000 --parameters 3760 --epsilon 8  # which compressor fits
  python -m sketchbench task=training task.minutes=9  # ends then with code 75; the same command goes on
  python -m sketchbench task=tails sketch=sparse_embedding sketch.family.s=8 kernels=numpy
"""


def describe(folder: Path | None) -> str:
    """The groups with their options, and the default config."""
    lines = ["groups and their options:"]
    for group in ("task", *METHODS, "kernels", "scale"):
        places = [CONF / group] + ([folder / group] if folder else [])
        options = {str(path.relative_to(place).with_suffix("")) for place in places for path in place.rglob("*.yaml")}
        lines.append(f"  {group + ':':10s}{', '.join(sorted(options))}")
    config = composition.compose([], folder=folder)
    lines += ["", "keys, with their defaults:"]
    lines += [f"  {line}" for line in OmegaConf.to_yaml(config).splitlines()]
    return "\n".join(lines)


def shown(rows: Sequence[Mapping[str, Any]], limit: int = 40) -> str:
    """A short table of rows: the columns that say something, numbers to four digits."""
    filled = (name for row in rows[:limit] for name, value in row.items() if value is not None)
    names = list(dict.fromkeys(filled))
    hidden = {"minimum", "maximum", "skewness"}
    names = [name for name in names if name not in hidden]
    cells = [names] + [[_cell(row.get(name)) for name in names] for row in rows[:limit]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    if len(rows) > limit:
        lines.append(f"... and {len(rows) - limit} more rows; --result FILE keeps them all")
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def check(folder: Path, overrides: Sequence[str]) -> None:
    """Check a user's folder, and of its methods the one that is chosen; raises FolderError for what is wrong."""
    chosen = (override.partition("=")[::2] for override in overrides)
    methods = [Method(kind, name) for kind, name in chosen if kind in METHODS]
    own = [method for method in methods if method.path(folder).is_file()]
    parameters = [text for text in overrides if text.lstrip("+~").startswith(tuple(f"{m.kind}." for m in own))]
    check_folder(folder, only=own, overrides=parameters)


def measured(config: dict[str, Any], result: Path | None, folder: Path | None) -> Sequence[Mapping[str, Any]]:
    """Run a config, and write its record where one is asked for.

    With a time limit and no folder of checkpoints it takes one by its signature, and removes that when it is done.

    Raises Unfinished where it has come to its time limit.
    """
    own = Path("results", "checkpoints", signature(config, folder))
    minutes = config["task"]["minutes"] if knows(config) else None
    limited = bool(minutes) and config["task"]["checkpoints"] is None
    if limited:
        config = told(config, minutes, str(own))
    rows = job.run(config, result, folder) if result else execute(config, code_of(config, folder))
    if limited:
        shutil.rmtree(own, ignore_errors=True)
    return rows


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(
        prog="python -m sketchbench",
        usage="python -m sketchbench [--help] [--folder DIR] [--result FILE] [OVERRIDE ...]",
        description="Run one task on one sketch and print what it measured.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this, and every option")
    parser.add_argument("--folder", default="", help="your own folder of sketches")
    parser.add_argument("--result", type=Path, help="write a record (Parquet) to this file")
    parser.add_argument("overrides", nargs="*", metavar="OVERRIDE", help="see below")
    given = sys.argv[1:] if arguments is None else arguments
    commands = {"new": template.main, "gather": gather.main, "advise": advise.main}
    if given and given[0] in commands:
        commands[given[0]](given[1:])
        return
    options = parser.parse_args(given)
    job.start_logging()
    folder = composition.user_folder(options.folder)
    if options.help:
        print(parser.format_help() + "\n" + describe(folder))
        return
    if folder:
        check(folder, options.overrides)
    try:
        config = composition.frozen(composition.compose(options.overrides, folder=folder)).config
        rows = measured(config, options.result, folder)
    except Unfinished as left:
        print(f"sketchbench: to be gone on with, by the same command: {left}", file=sys.stderr)
        sys.exit(UNFINISHED)
    except (Exception, SystemExit) as error:
        if line := blamed(error, folder):
            sys.exit(f"sketchbench: error: {line}")
        raise
    said = [config[kind]["name"] for kind in METHODS if kind in config]
    said += [f"{letter}={config[letter]}" for letter in "db" if letter in config]
    print(", ".join([*said, f"{config['kernels']} kernels"]))
    print(shown(rows))


if __name__ == "__main__":
    main()

"""`sketchbench new sketch NAME`: a method or a task of one's own, to begin from."""

from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.command.template import KINDS, TASK, checkout, write
from sketchbench.files import display_path

RUNS = {  # by kind: the task that measures a new method at once, and its sizes
    "sketch": "task=moments sketch={}",
    "recovery": "task=reconstruction recovery={} d=2000 b=1000 task.k=50",
    "compressor": "task=compressor_contract compressor={}",
}


@click.command("new")
@click.argument("kind", type=OneOf(KINDS))
@click.argument("name")
@click.option("--folder", type=click.Path(path_type=Path), help="Your own folder of methods (default: mine).")
def command(kind: str, name: str, folder: Path | None) -> None:
    """Write a method or a task of your own that works, to begin from.

    A method is a YAML file and a module in your own folder. A task is a part of the project, and four files of the
    checkout: its module, its settings, a study that runs it, and a claim that judges it. NAME has small letters, digits
    and _.

    \b
    sketchbench new sketch half_signs
    sketchbench new compressor mine_too --folder ~/methods
    sketchbench new task lengths
    """
    if kind == TASK and folder:
        raise click.UsageError("--folder is for methods: a task is a part of the project; leave it out")
    own = folder or Path("mine")
    paths = write(kind, name, checkout() if kind == TASK else own)
    print(f"{', '.join(map(display_path, paths))}: a {kind} that works. Make it yours, then:")
    if kind == TASK:
        print(f"  sketchbench run task={name}")
        print(f"  sketchbench results --config studies={name}")
        print(f"  sketchbench show {paths[-1].stem}")
    else:
        print(f"  sketchbench run --folder {own} {RUNS[kind].format(name)}")
        print(f"  sketchbench results --config folder={own} only=mine")

"""`sketchbench new sketch NAME`: a method of one's own, to begin from."""

from pathlib import Path

import click

from sketchbench.command.group import OneOf
from sketchbench.command.template import TASKS, write
from sketchbench.config.composition import METHODS
from sketchbench.files import display_path


@click.command("new")
@click.argument("kind", type=OneOf(METHODS))
@click.argument("name")
@click.option(
    "--folder", type=click.Path(path_type=Path), default=Path("mine"), help="Your own folder (default: mine)."
)
def command(kind: str, name: str, folder: Path) -> None:
    """Write a method of your own that works, to begin from: a YAML file and a module.

    NAME is that of the method: small letters, digits and _.

    \b
    sketchbench new sketch half_signs
    sketchbench new compressor mine_too --folder ~/methods
    """
    config, module = write(kind, name, folder)
    task, sizes = TASKS[kind]
    print(f"{display_path(config)} and {display_path(module)} are a {kind} that works. Make it yours, then:")
    print(f"  sketchbench run --folder {folder} task={task} {kind}={name}{sizes}")
    print(f"  sketchbench results --config folder={folder} only=mine")

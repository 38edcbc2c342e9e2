"""`sketchbench new sketch NAME`: create a working template for a method, data set, network, attack or task."""

import importlib.machinery
import keyword
import os
import re
import shlex
import sys
from pathlib import Path
from string import Template

import click

from sketchbench.base.files import check_writable, display_path, write_text
from sketchbench.base.project import CONF, checkout
from sketchbench.command.group import FOLDER, OneOf
from sketchbench.plan.inspection.files import RESERVED
from sketchbench.run.config.composition import METHODS, PARTS

TEXTS = Path(__file__).parent / "templates"
TASK, ATTACK = "task", "attack"
SHORT = "task.rounds=30 task.trials=2 'task.tuning.rates=[0.3]'"
RUNS = {  # by kind: the task that measures something new at once, and its sizes
    "sketch": "task=moments sketch={}",
    "recovery": "task=reconstruction recovery={} d=2000 b=1000 task.k=50",
    "compressor": "task=compressor_contract compressor={}",
    **{part: f"task=compressed_training {part}@task.{part}={{}} {SHORT}" for part in PARTS},
}


@click.command("new")
@click.argument("kind", type=OneOf([*METHODS, *PARTS, ATTACK, TASK]))
@click.argument("name")
@FOLDER
def command(kind: str, name: str, folder: Path | None) -> None:
    """Create a working template for a method, data set, model, partition, attack or task.

    A template is a YAML file and a module in your own folder (default: `mine`); an attack is a module alone. A task is
    part of the project: its module, its settings, a study and a claim are four files of the checkout. NAME has
    lower-case letters, digits and _.

    \b
    sketchbench new sketch half_signs
    sketchbench new compressor mine_too --folder ~/methods
    sketchbench new dataset photos
    sketchbench new task lengths
    """
    if kind == TASK and folder:
        raise click.UsageError("--folder does not apply to a task, which is part of the project; leave it out")
    own = folder or Path("mine")
    paths = write(kind, name, checkout("a new task, which is a part of the project,") if kind == TASK else own)
    print(f"{', '.join(map(display_path, paths))}: a working {kind}. Edit it, then run:")
    if kind == TASK:
        print(f"  sketchbench run task={name}")
        print(f"  sketchbench results --studies {name}")
        print(f"  sketchbench show {paths[-1].stem}")
    elif kind == ATTACK:
        print(f"  sketchbench attack {shlex.quote(str(paths[0]))}")
    else:
        print(f"  sketchbench run --folder {shlex.quote(str(own))} {RUNS[kind].format(name)}")
        print(
            f"  sketchbench {'frontier' if kind in PARTS else 'results --only mine'} --folder {shlex.quote(str(own))}"
        )


def write(kind: str, name: str, folder: Path) -> list[Path]:
    """Write the files of a template into a user's folder, or a task's into the checkout; return their paths.

    Raises ValueError for an invalid name and for an existing file; nothing is written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or name in RESERVED:
        raise ValueError(
            f"name {name!r} must have lower-case letters, digits and _, and not be a word of Python or YAML"
        )
    if (CONF / kind / f"{name}.yaml").exists():
        raise ValueError(f"name {name!r} is taken by {display_path(CONF / kind / f'{name}.yaml')}; choose another")
    words = {"name": name, "label": name.replace("_", " ").capitalize(), "id": name.replace("_", "-")}
    words["cls"] = "".join(part.capitalize() for part in name.split("_"))
    if kind == TASK:
        places = {
            "task.py": folder / "sketchbench" / "task" / f"{name}.py",
            "task.yaml": folder / "conf" / "task" / f"{name}.yaml",
            "task.study.yaml": folder / "conf" / "study" / f"{name}.yaml",
            "task.claim.yaml": folder / "conf" / "claim" / f"{words['id']}.yaml",
        }
    else:
        elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != folder.resolve()]
        if name in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(name, elsewhere) is not None:
            raise ValueError(f"name {name!r} is taken by an installed Python module; choose another")
        words["folder"] = display_path(folder)
        config = {} if kind == ATTACK else {f"{kind}.yaml": folder / kind / f"{name}.yaml"}  # no config names an attack
        places = {**config, f"{kind}.py": folder / f"{name}.py"}
    if taken := next((path for path in places.values() if os.path.lexists(path)), None):
        raise ValueError(f"{display_path(taken)} exists; choose another name, or remove it")
    for path in places.values():
        check_writable(path)
    for text, path in places.items():
        write_text(path, Template((TEXTS / f"{text}.txt").read_text(encoding="utf-8")).substitute(words))
    return list(places.values())

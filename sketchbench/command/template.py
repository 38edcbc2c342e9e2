"""Writing the files of a new method or task, which work as they are."""

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path
from string import Template

from sketchbench.config.composition import METHODS
from sketchbench.files import display_path, write_text
from sketchbench.inspection.files import RESERVED
from sketchbench.project import CONF, HOME, PROJECT

TEXTS = Path(__file__).parent / "templates"
TASK = "task"
KINDS = (*METHODS, TASK)


def write(kind: str, name: str, folder: Path) -> list[Path]:
    """Write the files of a new method or task; returns their paths.

    Arguments:
        kind: of `KINDS`.
        name: of the method or task, and of its module: small letters, digits and _.
        folder: the user's own; of a task, the checkout of the project.

    Raises:
        ValueError: for a name that can't be, or that is taken; nothing is written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or name in RESERVED:
        raise ValueError(f"name {name!r} must be small letters, digits and _, and no word of Python or YAML")
    if (CONF / kind / f"{name}.yaml").exists():
        raise ValueError(f"name {name!r} is that of {display_path(CONF / kind / f'{name}.yaml')}; choose another")
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
        _check_module(name, folder)
        places = {f"{kind}.yaml": folder / kind / f"{name}.yaml", f"{kind}.py": folder / f"{name}.py"}
    for path in places.values():
        if path.exists():
            raise ValueError(f"{display_path(path)} exists already; choose another name, or remove it")
    for text, path in places.items():
        template = Template((TEXTS / f"{text}.txt").read_text(encoding="utf-8"))
        write_text(path, template.substitute(words))
    return list(places.values())


def checkout() -> Path:
    """The checkout of the project that this package is in. Raises FileNotFoundError for an installed package."""
    if HOME != PROJECT:
        raise FileNotFoundError(
            "a task is a part of the project, and this package is not in a checkout of it: `git clone` the project,"
            " `pip install -e .` there, and run this again"
        )
    return PROJECT


def _check_module(name: str, folder: Path) -> None:
    """Raise ValueError where a module of this name in the folder would hide another."""
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != folder.resolve()]
    if name in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(name, elsewhere) is not None:
        raise ValueError(f"name {name!r} is that of a Python module that is installed; choose another")

"""A new method of one's own, to begin from."""

import importlib.machinery
import keyword
import re
import sys
from pathlib import Path
from string import Template

from sketchbench.files import display_path, write_text
from sketchbench.inspection.files import RESERVED
from sketchbench.project import CONF

TEXTS = Path(__file__).parent / "templates"
TASKS = {  # which measure a new method at once, and their sizes
    "sketch": ("moments", ""),
    "recovery": ("reconstruction", " d=2000 b=1000 task.k=50"),
    "compressor": ("compressor_contract", ""),
}


def write(kind: str, name: str, folder: Path) -> tuple[Path, Path]:
    """Write the YAML file and the module of a new method; returns their paths.

    Arguments:
        kind: of `METHODS`.
        name: of the method and of its module: small letters, digits and _.
        folder: the user's own, which is made where it is not there.

    Raises:
        ValueError: for a name that can't be, or that is taken; nothing is written.
    """
    config, module = folder / kind / f"{name}.yaml", folder / f"{name}.py"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or name in RESERVED:
        raise ValueError(f"name {name!r} must be small letters, digits and _, and no word of Python or YAML")
    if (CONF / kind / f"{name}.yaml").exists():
        raise ValueError(f"name {name!r} is that of {display_path(CONF / kind / f'{name}.yaml')}; choose another")
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != folder.resolve()]
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    if name in sys.stdlib_module_names or spec is not None:
        raise ValueError(f"name {name!r} is that of a Python module that is installed; choose another")
    for path in (config, module):
        if path.exists():
            raise ValueError(f"{display_path(path)} is there already; choose another name, or remove it")
    words = {"name": name, "label": name.replace("_", " ").capitalize()}
    words["cls"] = "".join(part.capitalize() for part in name.split("_"))
    for path, suffix in ((config, "yaml"), (module, "py")):
        text = (TEXTS / f"{kind}.{suffix}.txt").read_text(encoding="utf-8")
        write_text(path, Template(text).substitute(words))
    return config, module

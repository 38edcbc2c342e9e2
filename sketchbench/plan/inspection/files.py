"""The file names in a user's folder: a file may be ignored, hide a module, or be mistaken for another."""

import importlib.machinery
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

from sketchbench.base.files import display_path
from sketchbench.run.config.composition import METHODS, PARTS
from sketchbench.run.config.overrides import NOT_HYDRA, groups

OURS = ("results", "reports", "logs")  # folders that a run writes
LIKE_YAML = (".yml", ".json", ".toml")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# Words that mean something else in a study, in a table, on a command line or in YAML.
RESERVED = ("all", "mine", "any", "null", "none", "true", "false", "yes", "no", "on", "off", "nan", "inf")


def own_methods(folder: Path, kinds: Iterable[str] = METHODS) -> dict[str, list[str]]:
    """List by kind the names of the methods, or of the files of other groups, in a user's folder."""
    return {kind: sorted(path.stem for path in (folder / kind).glob("*.yaml")) for kind in kinds}


def mistakes(folder: Path, conf: Path) -> list[str]:
    """List the files of a user's folder with a wrong place or name, one line each.

    Arguments:
        folder: the user's, resolved.
        conf: the project's configs.
    """
    known, kinds = groups(conf), ", ".join((*METHODS, *PARTS))
    lines = list(_check_modules(folder))
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__")) or entry.name in OURS:
            continue
        if entry.is_dir() and entry.name in known:
            lines += [line for path in sorted(entry.rglob("*")) for line in _check_file(path, entry, conf)]
        elif entry.is_dir() and any(entry.glob("*.y*ml")):
            near = get_close_matches(entry.name, known, n=1, cutoff=0.5)
            remedy = f"call the folder {near[0]}" if near else f"put them into one of the folders {kinds}"
            if entry.name in NOT_HYDRA:
                remedy = f"a {entry.name} of your own belongs into conf/{entry.name} of the project"
            lines.append(f"{display_path(entry)}: its YAML files would be ignored; {remedy}")
        elif entry.is_file() and _looks_like_yaml(entry):
            lines.append(f"{display_path(entry)}: would be ignored; move it into one of the folders {kinds}")
    return lines


def _looks_like_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", *LIKE_YAML)


def _check_file(path: Path, group: Path, conf: Path) -> Iterator[str]:
    """Yield the mistakes in the name of one file of a group's folder."""
    where, inner = display_path(path), path.relative_to(group)
    ours = conf / group.name / inner
    if not path.is_file() or inner.name.startswith("."):
        return
    if path.suffix != ".yaml":
        if _looks_like_yaml(path):
            yield f"{where}: would be ignored, since only .yaml is read; rename it to {path.stem}.yaml"
        return
    if ours.is_file():
        yield f"{where}: has the name of {display_path(ours)}, which takes precedence; rename yours"
    if len(inner.parts) > 1:
        role = "; negative controls are the project's" if inner.parts[0] == "control" else ""
        yield f"{where}: would be ignored in a subfolder; move it up to {display_path(group)}{role}"
    elif not NAME.fullmatch(path.stem):
        yield f"{where}: the name {path.stem!r} must have letters, digits, _ and -, and begin with a letter; rename it"
    elif path.stem.lower() in RESERVED:
        yield f"{where}: the name {path.stem!r} is reserved by studies or YAML; choose another"


def _check_modules(folder: Path) -> Iterator[str]:
    """Yield a line for each module of the folder that hides another module, since Python looks there first."""
    elsewhere = [entry for entry in sys.path if Path(entry or ".").resolve() != folder]
    for path in sorted(folder.iterdir()):
        name = path.stem if path.suffix == ".py" else path.name
        if not (path.suffix == ".py" or (path / "__init__.py").is_file()) or not name.isidentifier():
            continue
        spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
        if name == "sketchbench":
            yield f"{display_path(path)}: would hide sketchbench itself; rename it"
        elif name in sys.builtin_module_names or name in sys.stdlib_module_names:
            yield f"{display_path(path)}: would hide Python's own module {name}; rename it"
        elif spec is not None and spec.origin:
            yield f"{display_path(path)}: would hide the module {name} in {spec.origin}; rename it"

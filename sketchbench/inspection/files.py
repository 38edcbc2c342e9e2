"""The names of a user's files, before any is read for its content: what would be ignored, hidden or mixed up."""

import importlib.machinery
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

import yaml

from sketchbench.config.composition import METHODS, YAML
from sketchbench.config.overrides import NOT_HYDRA, groups
from sketchbench.files import display_path

OURS = ("results", "reports", "logs")  # folders that a run writes
LIKE_YAML = (".yml", ".json", ".toml")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# Words that mean something else in a study, in a table, on a command line or in YAML.
RESERVED = ("all", "mine", "any", "null", "none", "true", "false", "yes", "no", "on", "off", "nan", "inf")


def mistakes(folder: Path, conf: Path) -> list[str]:
    """A line for each file of a user's folder that can't be what its place and name say.

    Arguments:
        folder: the user's, resolved.
        conf: the project's configs.
    """
    known = groups(conf)
    found = list(_modules(folder))
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__")) or entry.name in OURS:
            continue
        if entry.is_dir() and entry.name in known:
            for path in sorted(entry.rglob("*")):
                found += _file(path, entry, conf / entry.name)
        elif entry.is_dir() and any(entry.glob("*.y*ml")):
            found.append(f"{display_path(entry)}: its YAML files would be ignored; {_advice(entry.name, known)}")
        elif entry.is_file() and (entry.suffix.lower() == ".yaml" or entry.suffix in LIKE_YAML):
            found.append(
                f"{display_path(entry)}: would be ignored; move it into one of the folders {', '.join(METHODS)}"
            )
    return found


def methods(folder: Path) -> dict[str, list[str]]:
    """The methods of a user's folder by kind: the names of their files."""
    return {kind: sorted(path.stem for path in (folder / kind).glob("*.yaml")) for kind in METHODS}


def _advice(name: str, groups: list[str]) -> str:
    if name in NOT_HYDRA:
        return f"a {name} of your own belongs into conf/{name} of the project"
    near = get_close_matches(name, groups, n=1, cutoff=0.5)
    return f"call the folder {near[0]}" if near else f"put them into one of the folders {', '.join(METHODS)}"


def _file(path: Path, group: Path, ours: Path) -> Iterator[str]:
    """What is wrong with one file of a group's folder; `ours` is the project's folder of the group."""
    where = display_path(path)
    inner = path.relative_to(group)
    if not path.is_file() or inner.name.startswith("."):
        return
    if path.suffix != ".yaml":
        if path.suffix in LIKE_YAML or path.suffix.lower() == ".yaml":
            yield f"{where}: would be ignored, since only .yaml is read; rename it to {path.stem}.yaml"
        return
    if (ours / inner).is_file():
        yield f"{where}: has the name of {display_path(ours / inner)}, which would be taken instead; rename yours"
    if len(inner.parts) > 1:
        role = "; negative controls are the project's" if inner.parts[0] == "control" else ""
        up = display_path(group)
        yield f"{where}: would be ignored, since it is in a folder of its own; move it up to {up}{role}"
    elif not NAME.fullmatch(path.stem):
        yield f"{where}: the name {path.stem!r} must be letters, digits, _ and -, and begin with a letter; rename it"
    elif path.stem.lower() in RESERVED:
        yield f"{where}: the name {path.stem!r} means something else to a study or to YAML; choose another"
    if group.name in METHODS:
        yield from _content(path)


def _content(path: Path) -> Iterator[str]:
    """Whether a method's file is YAML that maps keys to values, and states no other name than its own."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), YAML)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        yield f"{display_path(path)}{line}: {error.problem or error.context}; it must be YAML"
        return
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        yield f"{display_path(path)}: {' '.join(str(error).split())}; it must be YAML in UTF-8"
        return
    if not isinstance(content, dict):
        said = "nothing" if content is None else type(content).__name__
        keys = ", ".join(METHODS[path.parent.name])
        yield f"{display_path(path)}: holds {said}; it must map the keys {keys} to values"
    elif "name" in content and content["name"] != path.stem:
        yield (
            f"{display_path(path)}: name: {content['name']!r} must be the file's name, {path.stem};"
            " correct it, or leave it out"
        )


def _modules(folder: Path) -> Iterator[str]:
    """Python modules of the folder that would hide another, since they are looked up there first."""
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

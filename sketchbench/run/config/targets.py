"""The code that a config names, and the code that a user's folder may name.

Hydra calls whatever a `_target_` names, also while a folder is only checked. So the YAML files of a folder may name the
folder's own modules, the methods, parts and tasks of the project, and layers of torch.nn. A reader can then judge a
foreign folder by its Python files.
"""

import functools
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sketchbench.base.errors import ConfigError
from sketchbench.base.project import CONF
from sketchbench.run.digest import CodeDigest, locate, parse

ANY_TARGET = "SKETCHBENCH_ANY_TARGET"  # a user sets this variable to 1 to allow all targets
LOOKUPS = tuple(f"hydra.utils.get_{kind}" for kind in ("class", "method", "object", "static_method"))
LAYER = re.compile(r"torch\.nn\.[A-Z]\w*")
NAMED = re.compile(rb"_target_: *(sketchbench\.[\w.]+)")
READERS = "sketchbench.learning.dataset.own.arrays"  # of a user's images; no file of conf names them


def any_target() -> bool:
    """Return whether the user allows all targets."""
    return os.environ.get(ANY_TARGET) == "1"


def targets(node: Any) -> Iterator[str]:
    """Yield every `_target_` in a config, and the code that it looks up by name. Raises ConfigError for a `_target_`
    that is no string."""
    if isinstance(node, dict) and "_target_" in node:
        if not isinstance(target := node["_target_"], str):
            raise ConfigError(f"_target_: {target!r:.60} must be the name of a class, with its module")
        yield target
        if target in LOOKUPS:
            yield from map(str, (node.get("path"), *(node.get("_args_") or ())))
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from targets(value)


def strings(node: Any) -> Iterator[str]:
    """Yield every string in a config, keys excepted."""
    if isinstance(node, str):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from strings(value)


def check_targets(node: Any, folder: Path | None) -> None:
    """Raise ConfigError, in one line, for a target in a config of a user's folder that the folder may not name. Targets
    that no module answers to pass: they run nothing, and later checks explain them."""
    for target in targets(node):
        if folder and not any_target() and not _is_allowed(target, folder):
            raise ConfigError(
                f"_target_: {target} is outside of the folder's modules, sketchbench's methods and torch.nn; read what"
                f" it does, and set {ANY_TARGET}=1 to allow it"
            )


@functools.cache
def _is_allowed(target: str, folder: Path, asked: frozenset[str] = frozenset()) -> bool:
    top = target.partition(".")[0]
    if top == "sketchbench":
        return _is_public(target)
    if target in LOOKUPS or LAYER.fullmatch(target):
        return True
    try:
        found = importlib.util.find_spec(top)
    except ValueError:  # __main__
        return False
    if found is None:
        return True
    places = [found.origin, *(found.submodule_search_locations or ())]
    own = all(place is None or Path(place).is_relative_to(folder) for place in places)
    file = locate(target, (folder,)) if own and any(places) else None
    others = () if file is None or target in asked else _imported(target, file, folder)
    return file is not None and all(
        name.startswith("sketchbench.") or _is_allowed(name, folder, asked | {target}) for name in others
    )


def _imported(target: str, file: Path, folder: Path) -> Iterator[str]:
    """Yield the full names of what a module imports by the name of a target, or by `*`, and does not define."""
    wanted, package = target.rpartition(".")[2], file.parent.relative_to(folder).parts
    if re.search(rf"^(?:(?:class|def) {wanted}\b|{wanted} *[:=])", file.read_text(encoding="utf-8"), re.MULTILINE):
        return
    try:
        imports = parse(file).imports
    except ValueError:  # no Python: nothing can import it, as later checks say
        return
    for local, name in imports:
        if local in (wanted, "*"):
            bare = name.lstrip(".")
            above = package[: len(package) - (len(name) - len(bare)) + 1] if bare != name else ()
            yield ".".join((*above, bare if local == wanted else f"{bare[:-1]}{wanted}"))


def _is_public(target: str) -> bool:
    """Return whether a class or function is defined in a module that the project's own configs name."""
    file, name = CodeDigest().find(target), target.rpartition(".")[2]
    if file not in _public_files() or name.startswith("_"):
        return False
    return re.search(rf"^(class|def) {name}\b", file.read_text(encoding="utf-8"), re.MULTILINE) is not None


@functools.cache
def _public_files() -> frozenset[Path]:
    named = {name.decode() for path in CONF.rglob("*.yaml") for name in NAMED.findall(path.read_bytes())}
    return frozenset(file for name in (*named, READERS) if (file := CodeDigest().find(name)))

"""The chapters of conf: claims, errata, figures and studies stand in conf/KIND/CHAPTER, as their tasks do."""

import re
from pathlib import Path
from typing import Any

from sketchbench.base.errors import ConfigError

ID = re.compile(r"^([A-Z][\w-]*):$", re.MULTILINE)  # of a claim in a family's file


def files(conf: Path, kind: str) -> list[Path]:
    """The YAML files of a kind, in its folder and in its chapters, in alphabetical order of their names."""
    return sorted((conf / kind).rglob("*.yaml"), key=lambda path: (path.stem, path))


def named(conf: Path, kind: str) -> dict[str, Path]:
    """The files of a kind by name. Raise ConfigError for a name that two chapters have."""
    found: dict[str, Path] = {}
    for path in files(conf, kind):
        if path.stem in found:
            raise ConfigError(f"{path} has the name of {found[path.stem]}; rename one")
        found[path.stem] = path
    return found


def entries_of(path: Path, content: Any) -> list[tuple[str, Any]]:
    """The entries in a file's content, each with its place for error messages.

    A file holds one entry, with an `id`, or several by id, whose common values are under `shared`.
    """
    if not isinstance(content, dict) or not content or not all(isinstance(one, dict) for one in content.values()):
        return [(str(path), content)]
    shared = content.get("shared", {})
    own = ((name, one) for name, one in content.items() if name != "shared")
    return [(f"{path}: {name}", {"id": name, **shared, **one}) for name, one in own]


def claims(conf: Path) -> dict[str, Path]:
    """The file of each claim by its id, found by the lines that begin entries, so that no YAML is parsed."""
    return {
        name: path
        for path in files(conf, "claim")
        for name in (ID.findall(path.read_text(encoding="utf-8")) or [path.stem])
    }

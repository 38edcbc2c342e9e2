"""The YAML files of a user's folder, checked before Hydra reads them: a file may hang Hydra, fill other sections than
its own, or hide text from a reader."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sketchbench.base.files import display_path
from sketchbench.base.project import CONF
from sketchbench.run.config.overrides import groups
from sketchbench.run.config.schema import SchemaError, load

MOST = 1 << 20  # bytes of a file
LINE = 1000  # characters of a string
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters without ink
HEADER = re.compile(r"^\s*#\s*@package.*", re.MULTILINE)  # Hydra's, by which a file fills another section
PLACE = re.compile(r"(?:(?:override|optional) +)*/([^/@:]*)")  # of an entry of `defaults` in another group


def own_files(folder: Path, conf: Path = CONF) -> list[Path]:
    """List the YAML files of a user's folder that Hydra may read: those in folders with the names of its groups."""
    return sorted(path for group in groups(conf) for path in (folder / group).rglob("*.yaml"))


def mistakes(folder: Path, conf: Path = CONF) -> list[str]:
    """List the YAML files of a user's folder that can't be read, one line each."""
    files = own_files(folder, conf)
    hidden = [path for path in files if not path.name.isprintable()]
    lines = [f"{display_path(path)!a}: the name must have printable characters; rename it" for path in hidden]
    return lines or [line for path in files for line in _check(path, conf)]


def _check(path: Path, conf: Path) -> Iterator[str]:
    where = display_path(path)
    if not path.is_file():
        yield f"{where}: is no plain file; rename it"
    elif (size := path.stat().st_size) > MOST:
        yield f"{where}: has {size} bytes, and the most is {MOST}; shorten it"
    else:
        try:
            content = load(path)
        except SchemaError as error:
            yield f"{where}{str(error).removeprefix(str(path))}"
            return
        if header := HEADER.search(path.read_text(encoding="utf-8")):
            yield f"{where}: the header {header[0].strip()!r:.60} fills another section; remove it"
        for text in filter(lambda text: not is_plain(text), _texts(content)):
            yield f"{where}: {text!r:.60} must have printable characters, and at most {LINE}; change it"
        for entry in content.get("defaults") or () if isinstance(content, dict) else ():
            for text in entry if isinstance(entry, dict) else (entry,):
                if isinstance(text, str) and (place := PLACE.match(text)) and place[1] not in groups(conf):
                    yield f"{where}: defaults: {text!r:.60} is in none of {', '.join(groups(conf))}; remove it"


def is_plain(text: str, most: int = LINE) -> bool:
    """Return whether a terminal shows all of a string as it is: no escape sequences, control characters, marks of
    another direction of writing, blank letters or towers of accents, and at most so many characters."""
    seen = all(letter in "\n\t" or (letter.isprintable() and letter not in BLANK) for letter in text)
    marks = "".join("m" if unicodedata.combining(letter) else " " for letter in text)
    return len(text) <= most and seen and "mmm" not in marks


def _texts(content: Any) -> Iterator[str]:
    """Yield all strings and keys."""
    if isinstance(content, str):
        yield content
    parts = (*content, *content.values()) if isinstance(content, dict) else content
    for part in parts if isinstance(parts, list | tuple) else ():
        yield from _texts(part)

"""The catalogue of figures: conf/figure, one file for each, read and checked."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sketchbench.base.parameters import choose
from sketchbench.base.project import HOME
from sketchbench.report.printed.transcription import FOLDER as PRINTED
from sketchbench.run.config import schema
from sketchbench.run.config.chapters import named
from sketchbench.run.config.schema import SchemaError
from sketchbench.run.digest import CodeDigest

FOLDER = HOME / "conf" / "figure"
INTERVALS = "All intervals of the figure hold at once, except with probability 1e-3; very long ones leave the frame."
LOOKS = Path(__file__).with_name("looks.yaml").read_text("utf-8")
PLOT = re.compile(r"^def (plot\w*)\(\s*tables:", re.MULTILINE)
FUNCTIONS = sorted(
    f"{path.stem}.{name}"
    for path in Path(__file__).parent.glob("*.py")
    for name in PLOT.findall(path.read_text("utf-8"))
)


@dataclass(frozen=True)
class Entry:
    """A figure of the catalogue: the keys of workflow/schemas/figure.schema.yaml. The call
    `function(tables, **arguments)` plots it."""

    function: str
    studies: tuple[str, ...]
    title: str
    caption: str
    data: str
    bars: str = "none"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The dotted name of the module that has the function."""
        return f"sketchbench.report.figure.{self.function.partition('.')[0]}"

    def at(self, scale: str) -> "Entry":
        """The entry with the changes of this scale."""
        changes = self.scales.get(scale, {})
        arguments = {**self.arguments, **changes.get("arguments", {})}
        words = {name: changes.get(name, getattr(self, name)) for name in ("title", "data")}
        return replace(self, arguments=arguments, **words)

    def digest(self, code: CodeDigest) -> str:
        """16 hex digits that change with the texts, studies and arguments, and with the code that plots."""
        drawing = code(("sketchbench.report.figure.drawing", self.module))
        words = [self.function, self.title, self.caption, self.data, self.bars]
        given = [self.arguments, *(changes.get("arguments", {}) for changes in self.scales.values())]
        cells = sorted({arguments["cells"] for arguments in given if "cells" in arguments})  # files of conf/printed
        typed = {name: (PRINTED / f"{name}.yaml").read_text("utf-8") for name in cells}
        content = json.dumps([self.studies, self.arguments, self.scales, words, drawing, LOOKS, typed])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def read_catalogue(folder: Path = FOLDER) -> dict[str, Entry]:
    """The entries of a folder, by the names of their files, in alphabetical order.

    Raises SchemaError, in one line, for a file that is not YAML, violates the schema, or names an unknown function.
    """
    return {name: _read(path) for name, path in named(folder.parent, folder.name).items()}


def available(
    catalogue: Mapping[str, Entry], studies: Iterable[str], changed: Iterable[str] | None = None
) -> list[str]:
    """The names of the figures whose studies are all among `studies`. If `changed` is given, at least one of them is
    among `changed`, too."""
    finished = set(studies)
    new = finished if changed is None else finished.intersection(changed)
    drawn = {name: set(entry.studies) for name, entry in catalogue.items()}
    return [name for name, needed in drawn.items() if needed <= finished and needed & new]


def _read(path: Path) -> Entry:
    content = schema.read(path, "figure")
    try:
        choose("function", content["function"], FUNCTIONS)
    except ValueError as error:
        raise SchemaError(f"{path}: {error}") from None
    if content.get("bars") in ("simultaneous", "both"):
        content["caption"] += f" {INTERVALS}"
    return Entry(**{**content, "studies": tuple(content["studies"])})

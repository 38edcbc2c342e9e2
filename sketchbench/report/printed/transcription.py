"""Read and check the cells of the papers' tables and figures, transcribed in conf/printed."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from sketchbench.base.parameters import choose, did_you_mean
from sketchbench.base.project import CONF, HOME
from sketchbench.measure.column import COLUMNS, Column
from sketchbench.run.config import schema
from sketchbench.run.config.chapters import named

FOLDER = HOME / "conf" / "printed"
NUMBER = re.compile(r"-?\d+(\.\d+)?")
# The keys that a cell needs for a criterion, beside its name.
NEEDS = {
    "draw": ("printed", "study", "where", "tolerance"),
    "digits": ("printed", "study", "where"),
    "bound": ("printed", "study", "claim", "method"),
    "claim": ("printed", "study", "claim"),
    "open": ("reason",),
}
OF_NUMBERS = ("draw", "digits", "bound")
OF_CLAIMS = ("bound", "claim")
SELECTING = ("where", "over", "column")


class PrintedError(ValueError):
    """A cell that can't be compared as written; the message is for the user."""


class Tolerance(NamedTuple):
    """The tolerance stated before any measurement; its fields are in the schema `printed`."""

    amount: float
    widest: float
    reason: str


class Spread(NamedTuple):
    """The rows that a single trial borrows its spread from; its fields are in the schema `printed`."""

    study: str
    where: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class PrintedCell:
    """A cell of a table, or a statement of the text about a figure: the keys of workflow/schemas/printed.schema.yaml,
    with `paper`, `place` and `about` of its file. `printed` is None if the paper gives no number and no words."""

    paper: str
    place: str
    about: str
    cell: str
    printed: str | None
    criterion: str
    unit: str = ""
    draws: int = 1
    size: str = "papers"
    study: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    over: Mapping[str, Any] = field(default_factory=dict)
    column: str = str(Column.MEAN)
    claim: str = ""
    stand_in: bool = False
    method: str = ""
    tolerance: Tolerance | None = None
    spread: Spread | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """The cell's name in messages."""
        return f"{self.paper} {self.place}: {self.cell}"

    @property
    def number(self) -> float:
        """The printed number."""
        return float(Decimal(self.printed or "nan"))

    @property
    def rounding(self) -> float:
        """Half a unit of its last printed digit."""
        exponent = Decimal(self.printed or "nan").as_tuple().exponent
        return 0.5 * 10.0 ** int(exponent)


def read_printed(paths: Iterable[Path], studies: Iterable[str] = ()) -> list[PrintedCell]:
    """The cells of YAML files, in order of the files' names; `studies` are the names of all studies, by default the
    names in conf/study.

    Raises, in one line, SchemaError for a file that violates the schema `printed`, and PrintedError for a cell that
    lacks a key of its criterion, or names an unknown study or column.
    """
    known = sorted(studies) or list(named(CONF, "study"))
    cells = []
    for path in sorted(paths):
        content = schema.read(path, "printed")
        names = Counter(cell["cell"] for cell in content["cells"])
        if twice := [name for name, count in names.items() if count > 1]:
            raise PrintedError(f"{path}: duplicate cell {twice[0]!r}; remove one")
        cells += [_cell(path, content, cell, known) for cell in content["cells"]]
    return cells


def studies_printed(folder: Path = FOLDER) -> set[str]:
    """The studies that measure the cells of a folder's files; errors as `read_printed`."""
    return {cell.study for cell in read_printed(folder.glob("*.yaml")) if cell.study}


def _cell(path: Path, content: Mapping[str, Any], own: Mapping[str, Any], studies: Sequence[str]) -> PrintedCell:
    """A cell of a file, joined with the keys that all cells of the file share."""
    common = content.get("common", {})
    cell = {"printed": None, **common, **own}
    try:
        if cell.get("criterion") in OF_CLAIMS:
            for key in SELECTING:
                if key in own:
                    raise ValueError(f"criterion={cell['criterion']} reads verdicts and ignores {key}; remove it")
                cell.pop(key, None)
        if "where" in cell:
            cell["where"] = {**common.get("where", {}), **own.get("where", {})}
        if "over" in cell:
            cell["over"] = {**cell.get("where", {}), **cell["over"]}
        _check(cell, studies)
    except ValueError as error:
        raise PrintedError(f"{path}: cell {own['cell']!r}: {error}") from None
    tolerance = Tolerance(**cell.pop("tolerance")) if "tolerance" in cell else None
    spread = Spread(**cell.pop("spread")) if "spread" in cell else None
    about = {key: content[key] for key in ("paper", "place", "about")}
    return PrintedCell(**about, tolerance=tolerance, spread=spread, **cell)


def _check(cell: Mapping[str, Any], studies: Sequence[str]) -> None:
    """Raise ValueError for a cell that lacks a key of its criterion, or names an unknown study or column."""
    if "criterion" not in cell:
        raise ValueError(f"criterion is missing; choose one of {', '.join(NEEDS)}")
    criterion = cell["criterion"]
    for key in NEEDS[criterion]:
        if cell.get(key) is None:
            raise ValueError(f"criterion={criterion} needs {key}; add it")
    if criterion in OF_NUMBERS and not NUMBER.fullmatch(cell["printed"]):
        raise ValueError(f"printed={cell['printed']} must be a number for criterion={criterion}, such as '0.50'")
    spread = cell.get("spread", {"where": {}})
    for study in (one["study"] for one in (cell, spread) if "study" in one):
        if study not in studies:
            raise ValueError(f"study={study} is unknown{did_you_mean(study, studies)}; name one of conf/study")
    named = (*cell.get("where", {}), *cell.get("over", {}), *spread["where"], cell.get("column", Column.MEAN))
    for column in named:
        choose("column", column, COLUMNS)
    if "where" in cell and Column.QUANTITY not in cell["where"]:
        raise ValueError("where needs a quantity; add it")

"""The cells of the papers' tables and figures, transcribed in conf/printed; read and checked here."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from sketchbench.config import schema
from sketchbench.measure.column import COLUMNS, Column
from sketchbench.parameters import choose, did_you_mean
from sketchbench.project import HOME

FOLDER = HOME / "conf" / "printed"
STUDIES = HOME / "conf" / "study"
NUMBER = re.compile(r"-?\d+(\.\d+)?")
# What a cell needs beside its name to be judged by a criterion.
NEEDS = {
    "draw": ("printed", "study", "where", "tolerance"),
    "digits": ("printed", "study", "where"),
    "bound": ("printed", "study", "claim", "method"),
    "claim": ("printed", "study", "claim"),
    "open": ("reason",),
}
OF_NUMBERS = ("draw", "digits", "bound")
OF_CLAIMS = ("bound", "claim")


class PrintedError(ValueError):
    """A cell that can't be compared as written; the message is for the user."""


@dataclass(frozen=True)
class Tolerance:
    """A tolerance, which was stated before anything was measured.

    Attributes:
        amount: by which the printed number may lie outside of the interval, in its unit.
        widest: half of the widest interval that still says something, over the printed number.
        reason: in words.
    """

    amount: float
    widest: float
    reason: str


@dataclass(frozen=True)
class PrintedCell:
    """A cell of a table, or what the text says of a figure.

    Attributes:
        paper, place, cell: where it is printed.
        about: what that table or figure shows.
        printed: the number, with its digits, or the words; None where the text gives none.
        criterion: a key of NEEDS, how it is judged (see `agreement`).
        unit: of the number.
        draws: of how many draws it is the mean.
        size: `papers` where it is of the papers' size, which only the scale `paper` measures; `any` for others.
        study: whose table measures the same.
        where, over: the columns that select the row, and that by whose value it is divided, if any.
        column: what is compared of these rows.
        claim, method: whose verdict judges it; no method: all of the claim's.
        tolerance: what is granted.
        reason: what was chosen, or why there is no number.
    """

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
    method: str = ""
    tolerance: Tolerance | None = None
    reason: str = ""

    @property
    def name(self) -> str:
        """What it is called in messages."""
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
    """The cells of these files, in order of the files' names and as they stand there.

    Arguments:
        paths: YAML files that fit the schema `printed`.
        studies: the names of all studies; by default those of conf/study.

    Raises:
        SchemaError: in one line, for a file that does not fit the schema.
        PrintedError: in one line, for a cell that lacks what its criterion needs, or names an unknown study or column.
    """
    known = sorted(studies) or sorted(path.stem for path in STUDIES.glob("*.yaml"))
    cells = []
    for path in sorted(paths):
        content = schema.read(path, "printed")
        found = [_cell(path, content, cell, known) for cell in content["cells"]]
        names = [cell.cell for cell in found]
        for name in names:
            if names.count(name) > 1:
                raise PrintedError(f"{path}: cell {name!r} is there twice; remove one")
        cells += found
    return cells


def studies_printed(folder: Path = FOLDER) -> set[str]:
    """The studies that measure the cells of a folder's files; errors as `read_printed`."""
    return {cell.study for cell in read_printed(folder.glob("*.yaml")) if cell.study}


def _cell(path: Path, content: Mapping[str, Any], own: Mapping[str, Any], studies: Sequence[str]) -> PrintedCell:
    """The cell of a file's content; PrintedError, with the file's name, as above."""
    cell = {"printed": None, **content.get("common", {}), **own}
    try:
        _select(cell, content.get("common", {}), own)
        _check(cell, studies)
    except ValueError as error:
        raise PrintedError(f"{path}: cell {own['cell']!r}: {error}") from None
    tolerance = Tolerance(**cell.pop("tolerance")) if "tolerance" in cell else None
    return PrintedCell(**{key: content[key] for key in ("paper", "place", "about")}, tolerance=tolerance, **cell)


def _select(cell: dict[str, Any], common: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Join what selects the cell's rows with what all cells of its file have; ValueError where it selects none."""
    if cell.get("criterion") in OF_CLAIMS:
        for key in ("where", "over", "column"):
            if key in own:
                raise ValueError(f"{key} has no use for criterion={cell['criterion']}, which reads verdicts; remove it")
            cell.pop(key, None)
        return
    if "where" in cell:
        cell["where"] = {**common.get("where", {}), **own.get("where", {})}
    if "over" in cell:
        cell["over"] = {**cell.get("where", {}), **cell["over"]}


def _check(cell: Mapping[str, Any], studies: Sequence[str]) -> None:
    """ValueError for a cell that lacks a key that its criterion needs, or names an unknown study or column."""
    if "criterion" not in cell:
        raise ValueError(f"criterion is missing; choose one of {', '.join(NEEDS)}")
    criterion = cell["criterion"]
    for key in NEEDS[criterion]:
        if cell.get(key) is None:
            raise ValueError(f"criterion={criterion} needs {key}; add it")
    if criterion in OF_NUMBERS and not NUMBER.fullmatch(cell["printed"]):
        raise ValueError(f"printed={cell['printed']} must be a number for criterion={criterion}, such as '0.50'")
    if "study" in cell and cell["study"] not in studies:
        raise ValueError(
            f"study={cell['study']} is unknown{did_you_mean(cell['study'], studies)}; name one that is there"
        )
    for column in (*cell.get("where", {}), *cell.get("over", {}), cell.get("column", Column.MEAN)):
        choose("column", column, COLUMNS)
    if "where" in cell and Column.QUANTITY not in cell["where"]:
        raise ValueError("where needs a quantity; add it")

"""The page of printed against measured: how often they agree, the rule, and every cell."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from sketchbench.claim.markup import Block, Bullets, Cell, Heading, Paragraph, Table
from sketchbench.printed.agreement import AGREES, DIFFERS, ERROR, OPEN
from sketchbench.printed.typed import PrintedCell

TITLE = "Printed against measured"
COLOURS = {AGREES: "#d9f0e3", DIFFERS: "#fbe0d5", OPEN: "#eee"}
COLUMNS = ("cell", "printed", "measured", "interval", "trials", "agrees", "reason")
RULE = f"""\
A number that a paper prints without a spread is one draw, or the mean of as many as it says, of what it measured. It
is held against the interval in which another such draw would lie with a probability of {1 - ERROR:.0%}, were it of the
distribution that was measured here: mean ± t · sd · √(1/draws + 1/trials), with Student's t, widened by half a unit of
the last printed digit and by the tolerance that was stated in advance. Of something positive, such as a number of
rounds, the same is done with logarithms, since of few trials nobody can see whether draws are normal or their
logarithms are; where the two disagree the cell is open. Every cell stands for itself: were all printed numbers draws of
what was measured, at most one in twenty would differ."""
MEANINGS = (
    "**agrees**: inside of both, and they are narrow enough to have told; a number without randomness rounds to the"
    " printed digits; the claim that says so in words holds.",
    "**differs**: outside of both intervals; does not round to the printed digits; the claim fails.",
    "**open**: not measured, or not at the size that the cell is of; fewer than 2 trials; inside of one interval only,"
    " or of one that is too wide to say anything; a claim without a verdict; or a figure, of which the text gives"
    " no number.",
    "Of a claim there are the verdict, the statistic in its interval, and the bound; see the page of claims.",
)


def content(cells: Sequence[PrintedCell], joined: pd.DataFrame, scale: str) -> list[Block]:
    """The blocks of the page, for `claim.markup`.

    Arguments:
        cells: as typed.
        joined: of `cells.join`, a row for each of them.
        scale: that was measured at.
    """
    blocks: list[Block] = [
        Heading(TITLE, level=1),
        Paragraph(f"Every cell of the papers' tables, and what their texts say of the figures. Scale: {scale}."),
        _counts(joined),
        Heading("How to read it"),
        Paragraph(" ".join(RULE.split())),
        Bullets(MEANINGS),
    ]
    for (paper, place), rows in joined.groupby(["paper", "place"], sort=False):
        here = [cell for cell in cells if (cell.paper, cell.place) == (paper, place)]
        blocks += [Heading(f"{paper}, {place}"), Paragraph(f"{here[0].about}."), *_notes(here, rows)]
        blocks.append(Table(COLUMNS, [_line(row) for row in rows.to_dict("records")]))
    return blocks


def _counts(joined: pd.DataFrame) -> Table:
    """How many cells agree, differ and are open, and how many have no number in the text, by paper."""
    rows = []
    for paper, group in joined.groupby("paper", sort=False):
        counts = group["agrees"].value_counts()
        untold = int(group["printed"].isna().sum())
        rows.append([Cell(str(paper)), *(Cell(str(counts.get(name, 0)), COLOURS[name]) for name in COLOURS)])
        rows[-1].append(Cell(str(untold)))
    return Table(["paper", *COLOURS, "no number in the text"], rows)


def _notes(cells: Sequence[PrintedCell], rows: pd.DataFrame) -> list[Block]:
    """What was stated in advance, and the commands that measure these cells."""
    granted = {cell.tolerance for cell in cells if cell.tolerance is not None}
    items = [
        f"Stated in advance: a tolerance of {tolerance.amount:g}, and an interval of at most ± {tolerance.widest:.0%}"
        f" of the printed number. {tolerance.reason}"
        for tolerance in sorted(granted, key=lambda tolerance: (tolerance.amount, tolerance.widest))
    ]
    items += [f"Measured by `{command}`" for command in rows["command"].unique() if command]
    return [Bullets(items)] if items else []


def _line(row: Mapping[Any, Any]) -> list[Cell]:
    """A row of the table."""
    unit = f" {row['unit']}" if row["unit"] else ""
    texts = {
        "cell": str(row["cell"]),
        "printed": "–" if pd.isna(row["printed"]) else f"{row['printed']}{unit}",
        "measured": _number(row["measured"]),
        "interval": "" if pd.isna(row["low"]) else f"{_number(row['low'])} to {_number(row['high'])}",
        "trials": "" if pd.isna(row["trials"]) else str(row["trials"]),
        "agrees": str(row["agrees"]),
        "reason": str(row["reason"]),
    }
    return [Cell(texts[name], COLOURS[str(row["agrees"])] if name == "agrees" else "") for name in COLUMNS]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"

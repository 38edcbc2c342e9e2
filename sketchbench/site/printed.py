"""Printed against measured: what the papers' tables and figures say, beside what came out here, cell by cell."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from sketchbench.report.printed.agreement import AGREES, DIFFERS, ERROR, OPEN
from sketchbench.report.printed.cells import MEANINGS
from sketchbench.report.printed.transcription import read_printed
from sketchbench.report.table.reading import read_table
from sketchbench.site import figures
from sketchbench.site.lists import Column, listing
from sketchbench.site.page import Asset, Page, Scale, table_address
from sketchbench.site.verdicts import escaped

AGREEMENTS = (AGREES, DIFFERS, OPEN)
RULE = f"""\
A number that a paper prints without a spread is one draw, or the mean of as many as it says, of what it measured. It
is held against the interval in which another such draw would lie with a probability of {1 - ERROR:.0%}, were it of the
distribution that was measured here: mean ± t · sd · √(1/draws + 1/trials), with Student's t, widened by half a unit of
the last printed digit and by the tolerance that was stated in advance. Of something positive, such as a number of
rounds, the same is done with logarithms, since of few trials nobody can see whether draws are normal or their
logarithms are; where the two disagree the cell is open. Every cell stands for itself: were all printed numbers draws of
what was measured, at most one in twenty would differ.

- **agrees**: inside of both, and they are narrow enough to have told; a number without randomness rounds to the
  printed digits; the claim that says so in words holds.
- **differs**: outside of both intervals; does not round to the printed digits; the claim fails.
- **open**: not measured, or not at the size that the cell is of; fewer than 2 trials; inside of one interval only, or
  of one that is too wide to say anything; a claim without a verdict; or a figure, of which the text gives no number."""
COLUMNS = (
    Column("paper", "Paper", MEANINGS["paper"]),
    Column("place", "Place", MEANINGS["place"]),
    Column("cell", "Cell", MEANINGS["cell"]),
    Column("printed", "Printed", MEANINGS["printed"]),
    Column("unit", "Unit", MEANINGS["unit"]),
    Column("measured", "Measured", MEANINGS["measured"], kind="number"),
    Column("low", "From", MEANINGS["low"], kind="number"),
    Column("high", "To", MEANINGS["high"], kind="number"),
    Column("trials", "Trials", MEANINGS["trials"], kind="number"),
    Column("agrees", "Agrees", MEANINGS["agrees"], kind="verdict"),
    Column("reason", "Why", MEANINGS["reason"]),
    Column("claim", "Claim", MEANINGS["claim"], link="claim_page"),
    Column("study", "Study", MEANINGS["study"], link="study_page"),
    Column("scale", "Scale", MEANINGS["scale"]),
    Column("command", "Command", MEANINGS["command"]),
)


def pages(scales: Sequence[Scale], conf: Path) -> Iterator[Page | Asset]:
    """The page, and the figure on it; nothing where no cell was compared."""
    found = [
        (scale, read_table(path, "printed", scale=scale.name))
        for scale in scales
        if (path := scale.reports / "printed.csv").is_file()
    ]
    if not found:
        return
    joined = pd.concat([frame for _, frame in found], ignore_index=True)
    blocks = [
        "Every cell of the papers' tables, and what their texts say of their figures, beside what was measured here.",
        *(_counts(scale, frame) for scale, frame in found),
    ]
    drawn = [scale for scale, _ in found if figures.place(scale, "printed").is_file()]
    for scale in drawn:
        picture = figures.asset(scale, "printed")
        blocks.append(figures.shown(picture, "printed", scale, 'More: <a href="figures.html#printed">figures</a>.'))
    rows = [
        {
            **{str(name): value for name, value in row.items()},
            "claim_page": None if pd.isna(row["claim"]) else f"claims/{row['claim']}.html",
            "study_page": _study_page(row["study"], row["scale"], scales),
        }
        for row in joined.to_dict("records")
    ]
    blocks += ["## Every cell { #cells }", listing("printed", COLUMNS, rows), "## How to read it", RULE]
    yield Page("printed.md", "Printed against measured", "\n\n".join([*blocks, *_stated(conf)]))


def _study_page(study: object, scale: str, scales: Sequence[Scale]) -> str | None:
    there = any(place.name == scale and (place.reports / "tables" / f"{study}.csv").is_file() for place in scales)
    return table_address(str(study), scale) if there else None


def _counts(scale: Scale, frame: pd.DataFrame) -> str:
    """How many cells agree, differ and are open, by paper and place; a number leads to its cells."""
    rows = []
    for (paper, place), group in frame.groupby(["paper", "place"], sort=False):
        counts = group["agrees"].value_counts()
        cells = "".join(
            f'<td><a href="printed.html#paper={paper}&amp;place={escaped(place).replace(" ", "+")}'
            f'&amp;agrees={said}&amp;scale={scale.name}" class="{said}">{counts[said]}</a></td>'
            if said in counts
            else "<td></td>"
            for said in AGREEMENTS
        )
        untold = int(group["printed"].isna().sum()) or ""
        rows.append(f"<tr><td>{paper}</td><td>{escaped(place)}</td>{cells}<td>{untold}</td></tr>")
    head = "".join(f"<th>{name}</th>" for name in ("paper", "place", *AGREEMENTS, "no number in the text"))
    total = ", ".join(f"{said} {int((frame['agrees'] == said).sum())}" for said in AGREEMENTS)
    title = f"<p>Scale {scale.name}, {len(frame)} cells: <strong>{total}</strong>.</p>"
    return f'{title}\n\n<div class="box"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _stated(conf: Path) -> Iterator[str]:
    """What was stated in advance of some cells: a tolerance, and how wide an interval may be to tell."""
    granted: dict[str, list[str]] = {}
    for cell in read_printed(sorted((conf / "printed").glob("*.yaml"))):
        if cell.tolerance is not None:
            said = f"{cell.tolerance.amount:g}, an interval of at most ± {cell.tolerance.widest:.0%}"
            granted.setdefault(f"{said}: {cell.tolerance.reason}", []).append(f"{cell.paper} {cell.place}")
    if granted:
        yield "## Tolerances stated in advance"
        yield "\n".join(f"- {', '.join(dict.fromkeys(where))}: {text}" for text, where in granted.items())

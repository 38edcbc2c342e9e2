"""The page of printed numbers: each number of the papers' tables and figures, beside our measured number."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sketchbench.report.evidence.outcomes import ReportedScale
from sketchbench.report.printed.agreement import AGREES, DIFFERS, ERROR, ON_A_STAND_IN, OPEN, UNPRINTED
from sketchbench.report.printed.cells import MEANINGS
from sketchbench.report.printed.transcription import PrintedCell, read_printed
from sketchbench.report.site import figures
from sketchbench.report.site.lists import Kind, ListColumn, listing
from sketchbench.report.site.page import Asset, Page, table_address
from sketchbench.report.site.verdicts import badge, escape, number, row_of, table_of
from sketchbench.report.table.reading import read_table

AGREEMENTS = (AGREES, DIFFERS, *ON_A_STAND_IN.values(), OPEN, UNPRINTED)
RULE = f"""\
A number that a paper prints without a spread counts as one draw, or as the mean of the number of draws that the paper
states. It is compared with a prediction interval: if the paper's draws and our trials have the same distribution, the
printed number lies inside with probability {1 - ERROR:.0%}. The interval is mean ± t · sd · √(1/draws + 1/trials), with
Student's t. It is widened by half a unit of the last printed digit, and by the tolerance stated in advance. Positive
quantities, such as numbers of rounds, have a second interval from logarithms, since few trials do not show which of the
two distributions is closer to normal. If the two intervals disagree, the cell is open. Each cell is judged by itself:
if all papers' draws had our distribution, at most one cell in twenty would differ.

- **agrees**: the printed number is inside all intervals, which are narrow enough to exclude other numbers; or a number
  without randomness rounds to the printed digits; or the claim that states the sentence holds.
- **differs**: the printed number is outside all intervals; or a number without randomness does not round to the printed
  digits; or the claim fails.
- **agrees on a stand-in**, **differs on a stand-in**: the claim that states the sentence holds or fails in a smaller
  setting, which stands for the paper's: error feedback by itself, or fewer parameters. The cell's own setting may
  differ.
- **open**: nothing was measured at the cell's size; or there are fewer than 2 trials and no rows to borrow a spread
  from; or the number is inside only one of two intervals, or the interval is too wide; or the claim has no verdict.
- **unprinted**: a curve or picture without a number or words in the text; only the authors' data would decide it.

A single trial borrows its spread from the rows that the cell names. Its relative spread is at most that of the most
variable row: the largest upper limit of their coefficients of variation, each with an error of {ERROR / 2:.1%}. The
draw itself has the same error, on logarithms. Rows are not pooled, since they need not be alike."""
LAYOUT = """\
Each table and figure is laid out as in the paper. A cell has the printed number in bold, and below it the measured
number, its prediction interval, and whether the two agree. A number beside *open* refers to a note with the reason."""
TITLES = {"low": "From", "high": "To", "reason": "Why"}
KINDS: dict[str, Kind] = {**dict.fromkeys(("measured", "low", "high", "trials"), "number"), "agrees": "verdict"}
LINKS = {"claim": "claim_page", "study": "study_page"}
SHOWN = (  # of MEANINGS, in the order of the list
    *("paper", "place", "cell", "printed", "unit", "measured", "low", "high", "trials"),
    *("agrees", "reason", "claim", "study", "scale", "command"),
)
COLUMNS = [
    ListColumn(name, TITLES.get(name, name.capitalize()), MEANINGS[name], KINDS.get(name, "text"), LINKS.get(name, ""))
    for name in SHOWN
]


def pages(scales: Sequence[ReportedScale], conf: Path) -> Iterator[Page | Asset]:
    """The page and its figure; nothing if no cell was compared."""
    frames = [
        (scale, read_table(path, "printed", scale=scale.name))
        for scale in scales
        if (path := scale.reports / "printed.csv").is_file()
    ]
    if not frames:
        return
    cells = pd.concat([frame for _, frame in frames], ignore_index=True)
    transcribed = read_printed(sorted((conf / "printed").glob("*.yaml")))
    blocks = [
        "Every cell of the papers' tables, and every number that a text gives for a figure, beside our measurement.",
        *(_counts(scale, frame) for scale, frame in frames),
    ]
    with_figure = [scale for scale, _ in frames if figures.place(scale, "printed").is_file()]
    for scale in with_figure:
        picture = figures.asset(scale, "printed")
        more = 'More: <a href="figures.html#printed">figures</a>.'
        blocks.append(figures.figure_html(picture, "printed", scale, more))
    rows = [
        {
            **{str(name): value for name, value in row.items()},
            "claim_page": None if pd.isna(row["claim"]) else f"claims/{row['claim']}.html",
            "study_page": _study_page(row["study"], row["scale"], scales),
        }
        for row in cells.to_dict("records")
    ]
    blocks.append(LAYOUT)
    for (paper, place), own in cells.groupby(["paper", "place"], sort=False):
        about = next(cell.about for cell in transcribed if (cell.paper, cell.place) == (paper, place))
        blocks += [
            f"## {paper}, {place} {{ #{_anchor(str(paper), str(place))} }}",
            f"{about[:1].upper()}{about[1:]}.",
            grid_of(own),
        ]
    blocks += ["## Every cell { #cells }", listing("printed", COLUMNS, rows), "## How cells are judged", RULE]
    yield Page("printed.md", "Printed against measured", "\n\n".join([*blocks, *_tolerances(transcribed)]))


def _anchor(paper: str, place: str) -> str:
    return f"{paper}-{place}".lower().replace(" ", "-").replace(".", "-")


def split(name: str) -> tuple[str, str]:
    """The row and the column in a cell's name, such as `MLP, c = 1 %`, `‖x‖²: semi-smooth` or `(a) loss, plain`; the
    column is "" for a single cell."""
    line, _, column = name.rpartition(": " if ": " in name else ", ")
    return (line, column) if line else (name, "")


def grid_of(cells: pd.DataFrame) -> str:
    """The cells of a table or figure in HTML: rows and columns if names have both, or else a list. A line with a single
    cell, in no column of other lines, has it across all columns. A cell has the printed number, and for each scale the
    measured number; a footnote says why a cell is open."""
    records: dict[str, list[Mapping[Any, Any]]] = {}
    for row in cells.to_dict("records"):
        records.setdefault(str(row["cell"]), []).append(row)
    places = {name: split(name) for name in records}
    shared = Counter(column for _, column in places.values() if column)
    grid = {name: place for name, place in places.items() if shared[place[1]] > 1}
    lines = Counter(line for line, _ in grid.values())
    columns = dict.fromkeys(column for line, column in grid.values() if lines[line] > 1)
    notes: dict[str, int] = {}
    named = {place: _cell(records[name], notes) for name, place in grid.items()}
    parts = []
    if grid:
        head = "".join(f"<th scope=col>{escape(column)}</th>" for column in columns)
        body = ""
        for line in lines:
            texts = "".join(f"<td>{named.get((line, column), '')}</td>" for column in columns)
            if whole := [place for place in named if place[0] == line and place[1] not in columns]:
                texts = f"<td colspan={len(columns) or 1}>{escape(whole[0][1])}: {named[whole[0]]}</td>"
            body += f"<tr><th scope=row>{escape(line)}</th>{texts}</tr>"
        parts.append(f'<div class="box grid"><table><tr><td></td>{head}</tr>{body}</table></div>')
    if alone := [name for name in records if name not in grid]:
        body = "".join(
            f"<tr><th scope=row>{escape(name)}</th><td>{_cell(records[name], notes)}</td></tr>" for name in alone
        )
        parts.append(f'<div class="box grid"><table>{body}</table></div>')
    if notes:
        parts.append(f"<ol>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ol>")
    return "".join(parts)


def _cell(rows: Sequence[Mapping[Any, Any]], notes: dict[str, int]) -> str:
    """A cell: the printed number, and the measured number of each scale; an open cell points to its note."""
    printed = rows[0]["printed"]
    lines = [f"<strong>{'no number' if pd.isna(printed) else escape(printed)}</strong>"]
    for row in rows:
        measured = "" if pd.isna(row["measured"]) else number(row["measured"])
        if measured and not pd.isna(row["low"]):
            measured += f" [{number(row['low'], 3)}, {number(row['high'], 3)}]"
        word = f'<span class="{badge(row["agrees"])}">{row["agrees"]}</span>'
        if row["agrees"] == OPEN and not pd.isna(row["reason"]):
            word += f"<sup>{notes.setdefault(str(row['reason']), len(notes) + 1)}</sup>"
        page = f'<a href="claims/{row["claim"]}.html">{row["claim"]}</a>' if not pd.isna(row["claim"]) else ""
        lines.append(" ".join(filter(None, (row["scale"] + ":", measured, word, page))))
    return "<br>".join(dict.fromkeys(lines))


def _study_page(study: object, scale: str, scales: Sequence[ReportedScale]) -> str | None:
    available = any(place.name == scale and (place.reports / "tables" / f"{study}.csv").is_file() for place in scales)
    return table_address(str(study), scale) if available else None


def _counts(scale: ReportedScale, frame: pd.DataFrame) -> str:
    """The counts of cells that agree, differ and are open, by paper and place, with links to the cells."""
    rows = []
    for (paper, place), group in frame.groupby(["paper", "place"], sort=False):
        counts = group["agrees"].value_counts()
        here = f"printed.html#paper={paper}&amp;place={escape(place).replace(' ', '+')}"
        cells = (
            f'<a href="{here}&amp;agrees={word.replace(" ", "+")}&amp;scale={scale.name}" class="{badge(word)}">'
            f"{counts[word]}</a>"
            if word in counts
            else ""
            for word in AGREEMENTS
        )
        rows.append(row_of((paper, f'<a href="#{_anchor(str(paper), str(place))}">{escape(place)}</a>', *cells)))
    total = ", ".join(f"{word} {int((frame['agrees'] == word).sum())}" for word in AGREEMENTS)
    title = f"<p>Scale {scale.name}, {len(frame)} cells: <strong>{total}</strong>.</p>"
    return f"{title}\n\n{table_of(('paper', 'place', *AGREEMENTS), rows)}"


def _tolerances(cells: Sequence[PrintedCell]) -> Iterator[str]:
    """The tolerances stated in advance, each with the widest interval that may judge the cell."""
    granted: dict[str, list[str]] = {}
    for cell in cells:
        if cell.tolerance is not None:
            word = f"{cell.tolerance.amount:g}, an interval of at most ± {cell.tolerance.widest:.0%}"
            granted.setdefault(f"{word}: {cell.tolerance.reason}", []).append(f"{cell.paper} {cell.place}")
    if granted:
        yield "## Tolerances stated in advance"
        yield "\n".join(f"- {', '.join(dict.fromkeys(where))}: {text}" for text, where in granted.items())

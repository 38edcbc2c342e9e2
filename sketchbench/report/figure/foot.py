"""The title of every figure, and the small print at its foot: scale, sizes, trials, data, meaning of bars."""

import textwrap
from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column

SIZE = 6.0  # points
LINE = 1.35 * SIZE / 72  # inches from line to line
LETTER = 0.54 * SIZE / 72  # inches, about the mean width of a letter
MARGIN = 0.06  # inches around the text
TITLE: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold"}
TITLE_LINE, TITLE_LETTER = 1.3 * 8.5 / 72, 0.6 * 8.5 / 72  # inches, as above
FEW = 10  # trials; fewer have no useful interval
BARS = {  # by the key `bars` of conf/figure
    "simultaneous": "intervals that all hold at once, except with probability 1e-3",
    "proportions": "Clopper-Pearson intervals that all hold at once, except with probability 1e-3",
    "both": "intervals that all hold at once, except with probability 1e-3; intervals of shares are Clopper-Pearson",
    "prediction": "intervals that each contain one more log-normal training with probability 95 %",
    "range": "from the least to the largest training; no intervals",
    "single": "none, because there is a single training",
    "none": "none",
}


def bars(kind: str, tables: Iterable[pd.DataFrame]) -> str:
    """The meaning of bars and bands: `kind` is a key of BARS, or `few`, which means `range` if tables have fewer than
    ten trials, and `simultaneous` otherwise."""
    most = max(trials(tables), default=FEW)
    if kind == "few":
        kind = "range" if most < FEW else "simultaneous"
    return BARS["single" if kind == "simultaneous" and most == 1 else kind]


def trials(tables: Iterable[pd.DataFrame]) -> list[int]:
    """The commonest number of trials of each table that has any, in ascending order."""
    counts = [table[Column.TRIALS].mode() for table in tables if Column.TRIALS in table]
    return sorted({int(count.iloc[0]) for count in counts if len(count)})


def text(scale: str, tables: Iterable[pd.DataFrame], data: str, kind: str) -> str:
    """The small print of a figure of these tables of a scale: `data` names the sketched or training data; `kind` is as
    in `bars`."""
    tables = list(tables)
    facts = []
    for name in (Column.D, Column.B):  # attacks vary what is observed instead
        sizes = [table[name].dropna() for table in tables if name in table and Column.OBSERVED not in table]
        if values := sorted({int(value) for column in sizes for value in column}):
            facts.append(f"{name} = {_range(values)}")
    if counts := trials(tables):
        facts.append(f"{_range(counts)} trial{'s' * (counts != [1])}")
    known = f" ({', '.join(facts)})" if facts else ""
    return f"Scale: {scale}{known}. Data: {data}. Bars and bands: {bars(kind, tables)}."


def write(figure: Figure, content: str, title: str = "") -> None:
    """Write the title above everything else, and the small print below; the figure's height grows with both."""
    width, height = figure.get_size_inches()
    head = _balanced(title, int((width - 2 * MARGIN) / TITLE_LETTER))
    lines = textwrap.wrap(content, int((width - 2 * MARGIN) / LETTER))
    above = 2 * MARGIN + TITLE_LINE * len(head) if head else 0.0
    added = 2 * MARGIN + LINE * len(lines)
    whole = height + added + above
    figure.set_figheight(whole)
    share, top = added / whole, 1 - above / whole
    below = 0.0
    for legend in figure.legends:  # those outside the axes lie at the figure's edge, whatever the layout
        below = max(below, legend.get_window_extent().height / figure.dpi / whole)
        legend.set_in_layout(False)
        legend.set_bbox_to_anchor((0, share, 1, top - share), transform=figure.transFigure)
    figure.set_layout_engine("constrained", rect=(0, share + below, 1, top - share - below))
    left, gap = MARGIN / width, MARGIN / whole
    figure.text(left, 1 - gap, "\n".join(head), va="top", linespacing=1.3, **TITLE)
    figure.text(left, gap, "\n".join(lines), fontsize=SIZE, color="0.35", va="bottom", linespacing=1.35)


def _balanced(text: str, most: int) -> list[str]:
    """The lines of a text, of at most `most` letters, and about equally long."""
    count = len(textwrap.wrap(text, most))
    wrapped = (textwrap.wrap(text, width) for width in range(1, most + 1))
    return next(lines for lines in wrapped if len(lines) == count)


def _range(values: list[int]) -> str:
    low, high = values[0], values[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

"""The small print at the foot of every figure: scale, sizes, trials, data, and what bars and bands are."""

import textwrap
from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column

SIZE = 6.0  # points
LINE = 1.35 * SIZE / 72  # inches from line to line
LETTER = 0.54 * SIZE / 72  # inches, about the mean width of a letter
MARGIN = 0.06  # inches around the text
FEW = 10  # trials; fewer have no useful interval
BARS = {  # by the key `bars` of conf/figure
    "simultaneous": "intervals that all hold at once, except with probability 1e-3",
    "proportions": "Clopper-Pearson intervals that all hold at once, except with probability 1e-3",
    "both": "intervals that all hold at once, except with probability 1e-3; those of shares are Clopper-Pearson",
    "prediction": "where one more training would lie with a probability of 95 %, for log-normal ones; each by itself",
    "range": "from the least to the largest training; no intervals",
    "single": "none, as there is a single training",
    "none": "none",
}


def bars(kind: str, tables: Iterable[pd.DataFrame]) -> str:
    """What bars and bands are, in words: `kind` is a key of BARS, or `few`, which stands for `range` where tables have
    fewer than ten trials, and for `simultaneous` else."""
    most = max(trials(tables), default=FEW)
    if kind == "few":
        kind = "range" if most < FEW else "simultaneous"
    return BARS["single" if kind == "simultaneous" and most == 1 else kind]


def trials(tables: Iterable[pd.DataFrame]) -> list[int]:
    """The commonest number of trials of each table that has any, in ascending order."""
    counts = [table[Column.TRIALS].mode() for table in tables if Column.TRIALS in table]
    return sorted({int(count.iloc[0]) for count in counts if len(count)})


def text(scale: str, tables: Iterable[pd.DataFrame], data: str, kind: str) -> str:
    """The small print of a figure drawn from these tables of a scale: `data` says what was sketched or trained on, and
    `kind` what bars and bands are, as `bars` takes it."""
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


def write(figure: Figure, content: str) -> None:
    """Write the small print below everything else; the figure's height grows with it."""
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(content, int((width - 2 * MARGIN) / LETTER))
    added = 2 * MARGIN + LINE * len(lines)
    figure.set_figheight(height + added)
    share = added / (height + added)
    below = 0.0
    for legend in figure.legends:  # those outside the axes lie at the figure's edge, whatever the layout
        below = max(below, legend.get_window_extent().height / figure.dpi / (height + added))
        legend.set_in_layout(False)
        legend.set_bbox_to_anchor((0, share, 1, 1 - share), transform=figure.transFigure)
    figure.set_layout_engine("constrained", rect=(0, share + below, 1, 1 - share - below))
    place = (MARGIN / width, MARGIN / (height + added))
    figure.text(*place, "\n".join(lines), fontsize=SIZE, color="0.35", va="bottom", linespacing=1.35)


def _range(values: list[int]) -> str:
    low, high = values[0], values[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

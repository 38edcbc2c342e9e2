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
    """What bars and bands are, in words.

    Arguments:
        kind: `simultaneous`; `few`, which is the same but for fewer than ten trials, where it is the range; or another
            key of BARS.
        tables: the tables that the figure is drawn from.
    """
    most = max(trials(tables), default=FEW)
    if kind == "few":
        kind = "range" if most < FEW else "simultaneous"
    if kind == "simultaneous" and most == 1:
        kind = "single"
    return BARS[kind]


def trials(tables: Iterable[pd.DataFrame]) -> list[int]:
    """The commonest number of trials of each table that has any, in ascending order."""
    counts = [table[Column.TRIALS].mode() for table in tables if Column.TRIALS in table]
    return sorted({int(count.iloc[0]) for count in counts if len(count)})


def text(scale: str, tables: Iterable[pd.DataFrame], data: str, kind: str) -> str:
    """The small print.

    Arguments:
        scale: name of the scale, such as quick.
        tables: the tables that the figure is drawn from.
        data: what was sketched or trained on.
        kind: what bars and bands are, as `bars` takes it.
    """
    tables = list(tables)
    sizes = [_range(name, _values(tables, name)) for name in (Column.D, Column.B)]
    sizes += [f"{_numbers(trials(tables))} trial{'s' * (trials(tables) != [1])}"] if trials(tables) else []
    known = ", ".join(size for size in sizes if size)
    return f"Scale: {scale}{f' ({known})' if known else ''}. Data: {data}. Bars and bands: {bars(kind, tables)}."


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


def _values(tables: list[pd.DataFrame], name: str) -> list[int]:
    """The sizes that tables have in a column, in ascending order; attacks vary what is observed instead."""
    return sorted(
        {
            int(value)
            for table in tables
            if name in table and Column.OBSERVED not in table
            for value in table[name].dropna()
        }
    )


def _range(name: str, values: list[int]) -> str:
    return f"{name} = {_numbers(values)}" if values else ""


def _numbers(values: list[int]) -> str:
    low, high = values[0], values[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"

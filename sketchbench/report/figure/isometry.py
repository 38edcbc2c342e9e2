"""The isometry constants of sketches on sparse vectors, over the sketch size."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PROPOSITION = ("srht", "srht_replacement", "srct")  # rows of an orthogonal matrix
THICK, THIN = 1.5, 0.5
GUIDE: dict[str, Any] = {"color": style.INK, "linewidth": 0.9, "linestyle": "--"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study isometry, over b: the mean isometry constant of random supports (quantity isometry)
    with the guide 1/√b; right, the same times √b, for the families where it stays small.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["isometry"]
    rows = table[(table[Column.QUANTITY] == "isometry") & (table[Column.D] == table[Column.D].max())]
    drawn = style.with_intervals(rows)
    shown = style.families(drawn)
    scaled = _times_root(drawn)
    largest = scaled.groupby(Column.METHOD)[Column.MEAN].max()
    small = [f for f in shown if largest[f.method] <= 3 * scaled[Column.MEAN].median()]
    height = _height(scaled)
    figure = style.new_figure(2.7)
    panels = figure.subplots(1, 2 if small else 1, squeeze=False)[0]
    _all(panels[0], drawn, shown, height)
    if small:
        _enlarged(panels[1], scaled, small, height)
    for axes in panels:
        axes.set_xlabel("sketch size $b$")
    lines = [style.handle(r"guide $\propto 1/\sqrt{b}$", **GUIDE)]
    if any(family.method in PROPOSITION for family in shown):
        lines.append(style.handle("thick: Proposition 1", color=style.EXACT, linewidth=THICK))
    style.legend(figure, shown, lines)
    return figure


def _times_root(drawn: pd.DataFrame) -> pd.DataFrame:
    root = np.sqrt(drawn[Column.B])
    return drawn.assign(**{name: drawn[name] * root for name in style.MEASURED})


def _height(scaled: pd.DataFrame) -> float:
    """The height of the guide: the median of the proposition's families (else of all) at the smallest size."""
    first = scaled[scaled[Column.B] == scaled[Column.B].min()]
    meant = first[first[Column.METHOD].isin(PROPOSITION)]
    return float((first if meant.empty else meant)[Column.MEAN].median())


def _width(family: style.MethodStyle) -> float:
    """The width of a family's line: thin where the proposition says nothing of it."""
    return THICK if family.method in PROPOSITION else THIN


def _size(family: style.MethodStyle) -> float:
    return 4.6 if family.method in PROPOSITION else 3.0


def _all(axes: Axes, drawn: pd.DataFrame, shown: list[style.MethodStyle], height: float) -> None:
    axes.set_yscale("log")
    for family in shown:
        series = drawn[(drawn[Column.METHOD] == family.method) & (drawn[Column.MEAN] > 0)].sort_values(Column.B)
        style.joined(axes, series[Column.B], series, family, size=_size(family), width=_width(family))
    style.sizes(axes, drawn[Column.B])
    ends = np.array(axes.get_xlim())
    axes.plot(ends, height / np.sqrt(ends), zorder=6, **GUIDE)
    axes.set_xlim(*ends)
    style.plain_log(axes)
    axes.set_ylabel(r"mean isometry constant $\delta_S$")
    axes.set_title("all families")


def _enlarged(axes: Axes, scaled: pd.DataFrame, small: list[style.MethodStyle], height: float) -> None:
    """Draw these families side by side, on a linear scale."""
    rows = scaled[scaled[Column.METHOD].isin([family.method for family in small])]
    axes.axhline(height, zorder=1, **GUIDE)
    for index, family in enumerate(small):
        series = family.rows(rows).sort_values(Column.B)
        x = style.dodge(series[Column.B], index, len(small), decades=0.2)
        style.joined(axes, x, series, family, size=_size(family), width=_width(family))
    style.sizes(axes, rows[Column.B], margin=1.6)
    style.limits(axes, rows, include=height)
    axes.set_ylabel(r"$\sqrt{b}\,\delta_S$")
    axes.set_title(r"times $\sqrt{b}$" + (", where small" if len(rows) < len(scaled) else ""))

"""The embedding constant over the dimension: uniform sampling against all others."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study growth: per family and dimension the largest mean of b (gᵀRᵀRh - gᵀh)² over pairs
    and sizes, and the exact value of that pair. Left, all families and the line a = d; right, those
    that stay small, enlarged.

    All intervals of the figure hold at once, except with probability 1e-3, whichever pair was worst.
    """
    table = tables["growth"]
    rows = style.without_constants(table[table[Column.QUANTITY] == "embedding_constant"])
    drawn = style.with_intervals(style.worst(rows, [Column.METHOD, Column.D]), candidates=len(rows))
    shown = style.families(drawn)
    largest = drawn.groupby(Column.METHOD)[Column.MEAN].max()
    small = [f for f in shown if largest[f.method] <= 3 * drawn[Column.MEAN].median()]
    figure = style.new_figure(2.5)
    panels = figure.subplots(1, 2 if small else 1, squeeze=False)[0]
    _all(panels[0], drawn, shown)
    lines = [
        style.handle("exact", color=style.EXACT, linewidth=1.0),
        style.handle("$a=d$", color=style.INK, linewidth=0.9, linestyle="--"),
    ]
    if small:
        _enlarged(panels[1], drawn, small)
    style.legend(figure, shown, lines)
    return figure


def _all(axes: Axes, drawn: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    dimensions = np.array(sorted(drawn[Column.D].unique()))
    axes.set_yscale("log")
    style.sizes(axes, dimensions)
    ends = np.array(axes.get_xlim())
    axes.plot(ends, ends, color=style.INK, linewidth=0.9, linestyle="--")
    axes.set_xlim(*ends)
    for family in shown:
        series = drawn[(drawn[Column.METHOD] == family.method) & (drawn[Column.MEAN] > 0)].sort_values(Column.D)
        axes.plot(series[Column.D], series[Column.EXACT], color=style.EXACT, linewidth=1.0, zorder=2)
        style.points(axes, series[Column.D], series, family)
    lowest = float(drawn[Column.MEAN].where(drawn[Column.MEAN] > 0).min())
    axes.set_ylim(min(1.0, lowest / 1.2), 1.6 * float(dimensions.max()))
    axes.set_xlabel("dimension $d$")
    axes.set_ylabel("embedding constant $a$ (worst pair)")
    axes.set_title("all families")


def _enlarged(axes: Axes, drawn: pd.DataFrame, small: list[style.MethodStyle]) -> None:
    """Draw these families side by side, on a linear scale."""
    rows = drawn[drawn[Column.METHOD].isin([family.method for family in small])]
    for index, family in enumerate(small):
        series = family.rows(rows).sort_values(Column.D)
        axes.plot(series[Column.D], series[Column.EXACT], color=style.EXACT, linewidth=1.0, zorder=2)
        x = style.dodge(series[Column.D], index, len(small), decades=0.36)
        style.points(axes, x, series, family, size=3.4)
    style.sizes(axes, rows[Column.D], margin=1.75)
    style.limits(axes, rows, include=float(rows[Column.MEAN].median()))
    axes.set_xlabel("dimension $d$")
    axes.set_title("enlarged: the families that stay small" if len(rows) < len(drawn) else "linear")

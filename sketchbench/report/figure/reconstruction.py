"""The relative error of recovered signals over the compression."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study reconstruction, over the compression: the relative error, with that of the best k
    terms (quantity floor).

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["reconstruction"]
    table = table[table[Column.D] == table[Column.D].max()]
    errors = style.with_intervals(table[table[Column.QUANTITY] == "relative_error"])
    shown = style.families(table, looks=style.RECOVERY_LOOKS)
    figure = style.new_figure(3.2)
    axes = figure.subplots()
    _errors(axes, errors, shown)
    _floor(axes, table[table[Column.QUANTITY] == "floor"])
    axes.margins(y=0.08)
    style.plain_log(axes)
    style.compressions(axes, table[Column.COMPRESSION].dropna(), apart=0.06, margin=1.08)
    style.legend(
        figure,
        shown,
        [
            style.handle("best $k$ terms", color=style.EXACT, linewidth=1.4),
            style.handle("nothing recovered", color=style.INK, linewidth=0.7, linestyle=":"),
        ],
    )
    return figure


def _weight(family: style.MethodStyle) -> dict[str, Any]:
    """Width of the line and size of the markers: larger for the two recoveries that the paper compares."""
    return {"width": 1.6, "size": 5.0} if family.filled else {"width": 0.7, "size": 4.0}


def _errors(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    axes.set_yscale("log")
    axes.axhline(1, color=style.INK, linewidth=0.7, linestyle=":", zorder=1)
    for family in shown:
        series = rows[(rows[Column.METHOD] == family.method) & (rows[Column.MEAN] > 0)]
        series = series.sort_values(Column.COMPRESSION)
        style.joined(axes, series[Column.COMPRESSION], series, family, **_weight(family))
    axes.set_ylabel(r"relative error $\|x-\hat{x}\|^2/\|x\|^2$")


def _floor(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the error of the best k terms: one line, as the signals are the same for every recovery."""
    floor = rows[rows[Column.MEAN] > 0].groupby(Column.COMPRESSION)[Column.MEAN].first()
    single = "_" if len(floor) == 1 else None  # a line through one point is invisible
    axes.plot(floor.index, floor, color=style.EXACT, linewidth=1.4, marker=single, markersize=12, zorder=1)

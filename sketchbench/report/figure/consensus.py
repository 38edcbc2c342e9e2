"""Rounds until all nodes of a graph have the mean, over its diameter."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

GRAPHS = {"ring": ("o", 0), "grid": ("s", 1), "star": ("*", 2), "complete": ("D", 3)}
PANELS = {
    "relayed": "passing on what was heard",
    "gossiped": "averaging with neighbours, to 1e-3",
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study consensus, over the diameter: the rounds until all nodes have the mean, and the bound."""
    table = tables["consensus"]
    table = table[table[Column.METHOD] == table[Column.METHOD].min()]  # the same for every sketch
    figure = style.new_figure(2.7)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (quantity, title) in zip(panels, PANELS.items(), strict=True):
        _panel(axes, table[table[Column.QUANTITY] == quantity])
        axes.set_title(title)
    style.plain_log(panels[0])
    panels[0].set_ylabel("rounds")
    handles = [
        style.handle(name, color=style.COLOURS[colour], marker=marker, markersize=4)
        for name, (marker, colour) in GRAPHS.items()
    ]
    style.legend(
        figure,
        [],
        [*handles, style.handle("bound", color=style.INK, linestyle="--", linewidth=0.9)],
    )
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    bound = rows.groupby(Column.DIAMETER)[Column.BOUND].max()
    axes.plot(bound.index, bound, color=style.INK, linestyle="--", linewidth=0.9)
    for name, (marker, colour) in GRAPHS.items():
        series = rows[rows[Column.CASE] == name].sort_values(Column.NODES)
        axes.plot(
            series[Column.DIAMETER],
            series[Column.VALUE],
            color=style.COLOURS[colour],
            marker=marker,
            markersize=4,
            linewidth=0.7,
        )
    style.sizes(axes, rows[Column.DIAMETER].unique())
    axes.set_xlabel("diameter")

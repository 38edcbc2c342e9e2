"""Rounds until all nodes of a graph have the mean, over its diameter."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

GRAPHS: dict[str, style.Line] = {
    name: {"color": colour, "marker": marker, "markersize": 4}
    for name, marker, colour in zip(("ring", "grid", "star", "complete"), "os*D", style.COLOURS, strict=False)
}
PANELS = {"relayed": "relaying every message", "gossiped": "averaging with neighbours, to 1e-3"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study consensus, over the diameter: the rounds until all nodes have the mean, and the bound."""
    table = tables["consensus"]
    table = style.select(table, method=table[Column.METHOD].min())  # the same for every sketch
    figure, panels = style.subplots(2.7, 1, 2, sharey=True)
    for axes, (quantity, title) in zip(panels, PANELS.items(), strict=True):
        rows = style.select(table, quantity=quantity)
        bound = rows.groupby(Column.DIAMETER)[Column.BOUND].max()
        axes.set(xscale="log", yscale="log", title=title, xlabel="diameter")
        axes.plot(bound.index, bound, **style.BOUND)
        for name, look in GRAPHS.items():
            series = style.select(rows, case=name).sort_values(Column.NODES)
            axes.plot(series[Column.DIAMETER], series[Column.VALUE], linewidth=0.7, **look)
        style.size_ticks(axes, rows[Column.DIAMETER].unique())
    style.plain_log(panels[0])
    panels[0].set_ylabel("rounds")
    style.legend(figure, [], {**GRAPHS, "bound": style.BOUND})
    return figure

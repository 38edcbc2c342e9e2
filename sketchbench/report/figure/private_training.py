"""Accuracy and loss of private training over ε."""

from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PANELS = {"accuracy": "accuracy, held out", "excess": r"$f(w) - f(w^*)$"}
SIDE_BY_SIDE = 0.08  # decades
NONE = "none"  # the case without noise


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study private_training: a panel for each quantity, over ε; horizontal lines are runs without noise.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["private_training"]
    drawn = style.with_intervals(table[table[Column.QUANTITY].isin(list(PANELS))])
    sent = table.groupby(Column.METHOD)[Column.BYTES_UP].max()
    shown = [
        replace(family, label=f"{family.label}: {sent[family.method] / 1e3:.0f} kB sent by a client")
        for family in style.families(drawn)
    ]
    figure = style.new_figure(2.7)
    grid = figure.subplots(1, 2)
    for axes, (quantity, label) in zip(grid, PANELS.items(), strict=True):
        _panel(axes, drawn[drawn[Column.QUANTITY] == quantity], shown)
        axes.set_xlabel(r"$\varepsilon$, accounted")
        axes.set_ylabel(label)
    grid[0].set_ylim(0, 1)
    grid[1].set_yscale("log")
    style.plain_log(grid[1])
    style.legend(figure, shown, [style.handle("without noise", color="0.4", linewidth=1.0)])
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    private = rows[rows[Column.CASE] != NONE]
    style.sizes(axes, private[Column.EPSILON].dropna(), margin=1.6)
    for index, family in enumerate(shown):
        series = family.rows(private).sort_values(Column.EPSILON)
        free = rows[(rows[Column.CASE] == NONE) & (rows[Column.METHOD] == family.method)]
        for value in free[Column.MEAN]:
            axes.axhline(value, color=family.colour, linewidth=0.9, zorder=1)
        x = style.dodge(series[Column.EPSILON], index, len(shown), decades=SIDE_BY_SIDE)
        axes.plot(x, series[Column.MEAN], color=family.colour, linewidth=0.7, linestyle="--", zorder=2)
        style.points(axes, x, series, family)

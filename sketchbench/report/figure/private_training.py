"""Accuracy and loss of private training over ε."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PANELS = {"accuracy": "accuracy, held out", "excess": r"$f(w) - f(w^*)$"}
NONE = "none"  # the case without noise


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study private_training: a panel for each quantity, over ε; horizontal lines are runs without noise."""
    table = tables["private_training"]
    rows = style.with_intervals(style.select(table, quantity=list(PANELS)))
    sent = table.groupby(Column.METHOD)[Column.BYTES_UP].max() / 1e3
    labels = rows[Column.LABEL] + ": " + rows[Column.METHOD].map(sent).map("{:.0f}".format) + " kB sent by a client"
    methods = style.methods(rows.assign(**{Column.LABEL: labels}))
    figure, grid = style.subplots(2.7, 1, 2)
    for axes, (quantity, label) in zip(grid, PANELS.items(), strict=True):
        _panel(axes, style.select(rows, quantity=quantity), methods)
        axes.set(xlabel=r"$\varepsilon$, accounted", ylabel=label)
    grid[0].set_ylim(0, 1)
    style.plain_log(grid[1])
    style.legend(figure, methods, {"without noise": {"color": "0.4", "linewidth": 1.0}})
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    private, free = rows[rows[Column.CASE] != NONE], style.select(rows, case=NONE)
    budgets = private[Column.EPSILON].dropna()
    style.categories(axes, budgets)
    for method, series, x in style.series(private, methods, Column.EPSILON, among=budgets):
        for value in method.rows(free)[Column.MEAN]:
            axes.axhline(value, color=method.colour, linewidth=0.9, zorder=1)
        style.trace(axes, x, series, method, linewidth=0.7, linestyle="--")

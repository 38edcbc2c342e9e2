"""Networks trained plainly and through sketches: accuracy, ROC curves, and a client's estimates of updates."""

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PLAIN = {"color": style.EXACT, "marker": "o", "markersize": 3}
FEW = 10  # trainings; fewer have no useful interval
OPTIONS = {"option I": "-", "option II": ":"}
LEGEND: dict[str, style.Line] = {
    "plain": PLAIN | {"linewidth": 0.8},
    "option I, $WSS^T$": {"color": style.INK, "linestyle": "-", "linewidth": 0.8},
    "option II, $WSS^+$": {"color": style.INK, "linestyle": ":", "linewidth": 0.8},
    "estimate of zero": style.BOUND,
}
ROC: dict[str, style.Line] = {
    "plain": {"color": style.EXACT, "marker": "o", "linewidth": 0.8},
    "sketched": {"color": style.COLOURS[3], "marker": "^", "linewidth": 0.8},
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot a study of the task `training`, with a row of panels for each share of clients in a round: the accuracy by
    case, over rounds and over the megabytes of all clients, and the error by option, over rounds. Each method has a
    curve. With fewer than ten trainings, bands go from the least to the largest training."""
    (table,) = tables.values()
    rows = style.with_intervals(style.select(table, quantity=["accuracy", "error"]))
    rows = rows.where(rows[Column.TRIALS] >= FEW, style.with_range(rows))
    rows = rows.assign(sent=rows[Column.BYTES_UP] / 1e6)
    methods = style.methods(table)
    shares = sorted(rows[Column.PARTICIPATION].unique())
    height = 2.7 if len(shares) == 1 else 0.5 + 1.45 * len(shares)
    figure, grid = style.subplots(height, len(shares), 3, squeeze=False, sharex="col", sharey="col")
    for panels, share in zip(grid, shares, strict=True):
        _row(panels, style.select(rows, participation=share), methods)
        panels[0].set_ylabel(f"test accuracy,\n{100 * share:g} % of clients")
    lowest = style.select(rows, quantity="accuracy")["low"].min()
    bottom = max(0.0, math.floor(10 * lowest) / 10) if lowest < 1 else 0.0
    for axes in grid[0, :2]:
        axes.set_ylim(bottom, 1.02)
    for axes, text in zip(grid[-1], ("round", "sent by all clients, MB", "round"), strict=True):
        style.plain_log(axes, "x")
        axes.set_xlabel(text)
    style.legend(figure, methods, LEGEND)
    return figure


def _row(panels: Sequence[Axes], rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    """Draw the accuracy over rounds and over traffic, and the error, of one share of participants."""
    accuracy = style.select(rows, quantity="accuracy")
    plain = style.select(accuracy, case="plain")
    plain = plain[plain[Column.METHOD] == plain[Column.METHOD].iloc[0]]  # the same for all
    for axes, over in zip(panels, (Column.ROUND, "sent"), strict=False):
        _curve(axes, plain, over, PLAIN)
        for method in methods:
            _curve(axes, method.rows(style.select(accuracy, case="sketched")), over, method.marks(3))
    for method in methods:
        for option, line in OPTIONS.items():
            series = style.select(method.rows(rows), quantity="error", case=option)
            _curve(panels[2], series, Column.ROUND, {**method.marks(3), "linestyle": line})
    panels[2].axhline(1, zorder=1, **style.BOUND)
    panels[2].set(yscale="log", ylabel=r"$\|\hat\Delta-\Delta\|\;/\;\|\Delta\|$")


def _curve(axes: Axes, rows: pd.DataFrame, over: str, look: style.Line) -> None:
    """Draw means with a band, a curve for each sketch size."""
    for _, series in rows.groupby([Column.METHOD, Column.B]):
        run = series.sort_values(over)
        style.curve(axes, run[over], run, band=0.15, linewidth=0.8, **look)


def plot_roc(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot from study federated_lfw, by case, the quantity roc over false_positives, and the area under the curve
    (quantity auc) over the rounds: means of the few trainings, with bands from the least to the largest."""
    rows = style.with_range(tables["federated_lfw"])
    figure, (curves, areas) = style.subplots(2.9, 1, 2)
    for case, look in ROC.items():
        for axes, quantity, over in ((curves, "roc", Column.FALSE_POSITIVES), (areas, "auc", Column.ROUND)):
            series = style.select(rows, quantity=quantity, case=case).sort_values(over)
            style.curve(axes, series[over], series, band=0.15, markersize=3, **look)
    curves.plot([0, 1], [0, 1], zorder=1, **style.BOUND)
    curves.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="false positives", ylabel="true positives")
    areas.set(xscale="log", ylim=(0.4, 1.02), xlabel="round", ylabel="area under the ROC curve")
    style.legend(figure, [], {**ROC, "guessing": style.BOUND})
    return figure

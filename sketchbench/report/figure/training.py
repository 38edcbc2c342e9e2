"""Networks trained plainly and through sketches: accuracy over rounds and traffic, a client's estimates."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PLAIN = {"color": style.EXACT, "marker": "o", "markersize": 3}
FEW = 10  # trainings; fewer have no useful interval
OPTIONS = {
    "option I": ("-", r"option I, $WSS^T$"),
    "option II": (":", r"option II, $WSS^+$"),
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From a study of the task `training`, with a row of panels for each share of clients in a round: the quantity
    accuracy by case, over rounds and over what all clients have sent; and the quantity error by option, over rounds.
    A curve for every method.

    All intervals of the figure hold at once, except with probability 1e-3; of fewer than ten trainings the bands
    are no intervals, but go from the least to the largest.
    """
    (table,) = tables.values()
    rows = style.with_intervals(table[table[Column.QUANTITY].isin(["accuracy", "error"])])
    few = rows[Column.TRIALS] < FEW
    rows = rows.assign(
        low=rows["low"].where(~few, rows[Column.MINIMUM]),
        high=rows["high"].where(~few, rows[Column.MAXIMUM]),
        sent=rows[Column.BYTES_UP] / 1e6,
    )
    families = style.families(table)
    shares = sorted(rows[Column.PARTICIPATION].unique())
    figure = style.new_figure(2.7 if len(shares) == 1 else 0.5 + 1.45 * len(shares))
    grid = figure.subplots(len(shares), 3, squeeze=False, sharex="col", sharey="col")
    for panels, share in zip(grid, shares, strict=True):
        _row(panels, rows[rows[Column.PARTICIPATION] == share], families)
        panels[0].set_ylabel(f"{100 * share:g} % of clients\ntest accuracy")
    lowest = rows.loc[rows[Column.QUANTITY] == "accuracy", "low"].min()
    bottom = max(0.0, math.floor(10 * lowest) / 10) if lowest < 1 else 0.0
    for axes in grid[0, :2]:
        axes.set_ylim(bottom, 1.02)
    for axes, text in zip(grid[-1], ("round", "sent by all clients, MB", "round"), strict=True):
        axes.set_xscale("log")
        style.plain_log(axes, "x")
        axes.set_xlabel(text)
    handles = [style.handle("plain", linewidth=0.8, **PLAIN)]
    handles += [style.handle(label, color=style.INK, linestyle=line, linewidth=0.8) for line, label in OPTIONS.values()]
    nothing = style.handle("estimate of zero", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, families, [*handles, nothing])
    return figure


def _row(panels: Sequence[Axes], rows: pd.DataFrame, families: list[style.MethodStyle]) -> None:
    """Draw the accuracy over rounds and over traffic, and the error, of one share of participants."""
    accuracy = rows[rows[Column.QUANTITY] == "accuracy"]
    rounds, traffic, error = panels
    plain = accuracy[accuracy[Column.CASE] == "plain"]
    plain = plain[plain[Column.METHOD] == plain[Column.METHOD].iloc[0]]  # the same for all
    for axes, over in ((rounds, Column.ROUND), (traffic, "sent")):
        _curve(axes, plain, over, PLAIN)
        for family in families:
            _curve(axes, family.rows(accuracy[accuracy[Column.CASE] == "sketched"]), over, family.marks(3))
    for family in families:
        for option, (line, _) in OPTIONS.items():
            series = rows[(rows[Column.QUANTITY] == "error") & (rows[Column.CASE] == option)]
            _curve(error, family.rows(series), Column.ROUND, {**family.marks(3), "linestyle": line})
    error.set_yscale("log")
    error.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    error.set_ylabel(r"$\|\hat\Delta-\Delta\|\;/\;\|\Delta\|$")


def _curve(axes: Axes, rows: pd.DataFrame, over: str, look: dict[str, Any]) -> None:
    """Draw means with a band, a curve for each sketch size."""
    for _, series in rows.groupby([Column.METHOD, Column.B]):
        run = series.sort_values(over)
        style.curve(axes, run[over], run, band=0.15, linewidth=0.8, **look)

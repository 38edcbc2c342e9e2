"""Networks trained plainly and through sketches: accuracy over rounds and traffic, a client's estimates."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style
from sketchbench.measure.row import Column

PLAIN = {"color": style.EXACT, "marker": "o", "markersize": 3}
FEW = 10  # trainings; fewer have no useful interval
OPTIONS = {
    "option I": ("-", r"option I, $WSS^T$"),
    "option II": (":", r"option II, $WSS^+$"),
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From a study of the task `training`: the quantity accuracy by case, over rounds and over what all clients
    have sent; and the quantity error by option, over rounds. A curve for every method and share of participants.

    All intervals of the figure hold at once, except with probability 1e-3; of fewer than ten trainings the bands
    are no intervals, but go from the least to the largest.
    """
    (table,) = tables.values()
    rows = style.with_intervals(table[table[Column.QUANTITY].isin(["accuracy", "error"])])
    few = rows[Column.TRIALS] < FEW
    rows = rows.assign(
        low=rows["low"].where(~few, rows[Column.MINIMUM]), high=rows["high"].where(~few, rows[Column.MAXIMUM])
    )
    accuracy = rows[rows[Column.QUANTITY] == "accuracy"]
    accuracy = accuracy.assign(sent=accuracy[Column.BYTES_UP] / 1e6)
    families = style.families(table)
    figure = style.new_figure(2.7)
    rounds, traffic, error = figure.subplots(1, 3)
    plain = accuracy[(accuracy[Column.CASE] == "plain")]
    plain = plain[plain[Column.METHOD] == plain[Column.METHOD].iloc[0]]  # the same for all
    for axes, over in ((rounds, Column.ROUND), (traffic, "sent")):
        _curves(axes, plain, over, PLAIN)
    for family in families:
        series = family.rows(rows)
        look = family.marks(3)
        sketched = accuracy[(accuracy[Column.CASE] == "sketched") & (accuracy[Column.METHOD] == family.method)]
        for axes, over in ((rounds, Column.ROUND), (traffic, "sent")):
            _curves(axes, sketched, over, look)
        for option, (line, _) in OPTIONS.items():
            _curves(error, series[series[Column.CASE] == option], Column.ROUND, {**look, "linestyle": line})
    for axes in (rounds, traffic):
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("test accuracy")
    error.set_yscale("log")
    error.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    error.set_ylabel(r"$\|\hat\Delta-\Delta\|\;/\;\|\Delta\|$")
    for axes, text in ((rounds, "round"), (traffic, "sent by clients, MB"), (error, "round")):
        axes.set_xscale("log")
        axes.set_xlabel(text)
    handles = [style.handle("plain", linewidth=0.8, **PLAIN)]
    handles += [style.handle(label, color=style.INK, linestyle=line, linewidth=0.8) for line, label in OPTIONS.values()]
    nothing = style.handle("knowing nothing", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, families, [*handles, nothing])
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, over: str, look: dict[str, Any]) -> None:
    """Draw means with bands, a curve for each method, sketch size and participation."""
    for _, series in rows.groupby([Column.METHOD, Column.B, Column.PARTICIPATION]):
        run = series.sort_values(over)
        style.curve(axes, run[over], run, band=0.15, linewidth=0.8, **look)

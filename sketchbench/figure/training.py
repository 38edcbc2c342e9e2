"""Networks trained plainly and through sketches: accuracy over rounds and traffic, a client's estimates."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

CASES = {"plain": (style.EXACT, "o"), "sketched": (style.COLOURS[3], "^")}
OPTIONS = {
    "option I": (style.COLOURS[0], "o", r"option I, $WSS^T$"),
    "option II": (style.COLOURS[2], "D", r"option II, $WSS^+$"),
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From a study of the task `training`: the quantity accuracy by case, over rounds and over what all clients
    have sent; and the quantity error by option, over rounds. A curve for every subject and share of participants.

    All intervals of the figure hold at once, but with probability 1e-3.
    """
    (table,) = tables.values()
    rows = style.with_intervals(table[table["quantity"].isin(["accuracy", "error"])])
    accuracy = rows[rows["quantity"] == "accuracy"]
    figure = style.new_figure(2.7)
    rounds, traffic, error = figure.subplots(1, 3)
    for case, (colour, marker) in CASES.items():
        own = accuracy[accuracy["case"] == case]
        _curves(rounds, own, "round", colour, marker)
        _curves(traffic, own.assign(sent=own["bytes_up"] / 1e6), "sent", colour, marker)
    for option, (colour, marker, _) in OPTIONS.items():
        _curves(error, rows[rows["case"] == option], "round", colour, marker)
    for axes in (rounds, traffic):
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("test accuracy")
    error.set_yscale("log")
    error.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    error.set_ylabel(r"$\|\hat\Delta-\Delta\|\;/\;\|\Delta\|$")
    for axes, text in ((rounds, "round"), (traffic, "sent by clients, MB"), (error, "round")):
        axes.set_xscale("log")
        axes.set_xlabel(text)
    entries = [(case, *look) for case, look in CASES.items()]
    entries += [(label, colour, marker) for colour, marker, label in OPTIONS.values()]
    handles = [style.handle(text, color=c, marker=m, linewidth=0.8) for text, c, m in entries]
    nothing = style.handle("knowing nothing", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, [], [*handles, nothing])
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, over: str, colour: object, marker: str) -> None:
    """Means with bands, one curve for each run."""
    for _, own in rows.groupby(["subject", "b", "participation"]):
        run = own.sort_values(over)
        look = {"color": colour, "marker": marker, "markersize": 3, "linewidth": 0.8}
        style.curve(axes, run[over], run, band=0.15, **look)

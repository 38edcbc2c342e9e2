"""FIHT, CountSketch and RᵀR at equal bytes on the same objective; and losses by algorithm, for other figures, too."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

FIHT, COUNT_SKETCH = style.RECOVERY_LOOKS["fiht"][1], style.RECOVERY_LOOKS["count_sketch"][1]
LINES: Mapping[str, tuple[str, style.Line]] = {  # by case, with the label
    "uncompressed": ("uncompressed", {"color": style.EXACT, "linewidth": 1.2}),
    "recovery": ("FIHT, feedback", {"color": FIHT, "linewidth": 1.2}),
    "count_sketch": ("CountSketch, feedback", {"color": COUNT_SKETCH, "linewidth": 1.2}),
    "desketch": ("$R^TR$, new each round", {"color": style.LOOKS["srht"][1], "linewidth": 1.2}),
}
DIVERGED: style.Line = {"linewidth": 0.7, "linestyle": ":"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study equal_bytes: the loss over the rounds, and over the bytes that a client has sent."""
    rows = with_bands(tables["equal_bytes"])
    figure, (rounds, sent) = style.subplots(2.6, 1, 2, sharey=True)
    curves(rounds, rows, Column.ROUND)
    curves(sent, rows.assign(kilobytes=rows[Column.BYTES_UP] / 1000), "kilobytes")
    for axes, label in ((rounds, "round"), (sent, "sent by a client, kB")):
        axes.set(xscale="log", yscale="log", xlabel=label)
    means = rows[Column.MEAN]
    start = means[rows[Column.ROUND] == 0].max()
    rounds.set(ylim=(0.8 * means.min(), 1.25 * start), ylabel="loss")  # a diverging curve leaves the frame
    style.plain_log(rounds)
    style.legend(figure, [], lines(rows))
    return figure


def curves(axes: Axes, rows: pd.DataFrame, over: str) -> None:
    """Draw mean losses over a column, with their intervals as bands, and a dotted line where an algorithm diverged."""
    for case, (_, line) in LINES.items():
        series = style.select(rows, case=case).sort_values(Column.ROUND)
        means = series[series[Column.MEAN].notna() & (series[over] > 0)]
        style.curve(axes, means[over], means, zorder=3, **line)
        for at in style.select(series, status="diverged")[over]:
            axes.axvline(at, color=line["color"], **DIVERGED)


def lines(rows: pd.DataFrame) -> dict[str, style.Line]:
    """The legend's lines of the algorithms in these rows, by label."""
    cases = set(rows[Column.CASE])
    diverged = {"diverged": {"color": style.INK, **DIVERGED}} if (rows[Column.STATUS] == "diverged").any() else {}
    return {label: line for case, (label, line) in LINES.items() if case in cases} | diverged


def with_bands(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the quantity loss: first rows with a mean and its interval, then rows that diverged."""
    rows = style.select(table, quantity="loss")
    return pd.concat([style.with_intervals(rows), rows[rows[Column.MEAN].isna()]])

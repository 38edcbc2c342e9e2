"""Losses by algorithm at equal bytes, and Figure 1 of tang2021, measured again."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
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
SPARSITIES = {"sparsity": ("sp$(p(t))$", 0), "gradient_sparsity": ("sp$(g(t))$", 2)}
SHADES, LIGHTEST = "viridis_r", 0.41  # a map of colours, and where it begins to stand out from white
BELOW: dict[str, Any] = {"fontsize": 6, "loc": "upper center", "bbox_to_anchor": (0.5, -0.26)}  # a legend, off the data


def plot_equal_bytes(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the loss over the rounds, and over the bytes that a client has sent, from study equal_bytes."""
    rows = _with_bands(tables["equal_bytes"])
    figure, (rounds, sent) = style.subplots(2.6, 1, 2, sharey=True)
    _curves(rounds, rows, Column.ROUND)
    _curves(sent, rows.assign(kilobytes=rows[Column.BYTES_UP] / 1000), "kilobytes")
    for axes, label in ((rounds, "round"), (sent, "sent by a client, kB")):
        axes.set(xscale="log", yscale="log", xlabel=label)
    means = rows[Column.MEAN]
    start = means[rows[Column.ROUND] == 0].max()
    rounds.set(ylim=(0.8 * means.min(), 1.25 * start), ylabel="loss")  # a diverging curve leaves the frame
    style.plain_log(rounds)
    style.legend(figure, [], _lines(rows))
    return figure


def plot_sparse_gradients(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot from studies sparse_gradients and channel_noise, over the rounds: the losses by algorithm, the sparsities in
    the run of FIHT, and the losses of FIHT by the noise in the channel."""
    table, noisy = tables["sparse_gradients"], tables["channel_noise"]
    figure, (first, second, third) = style.subplots(2.9, 1, 3)
    rows = _with_bands(table)
    _curves(first, rows, Column.ROUND)
    first.set(title="(a) loss at equal bytes", ylabel="loss")
    first.legend(handles=style.entries(_lines(rows)), **BELOW)
    _sparsities(second, table)
    _noises(third, style.select(_with_bands(noisy), case="recovery"), style.select(rows, case="recovery"))
    third.sharey(first)
    start = style.select(rows, round=0)[Column.MEAN].max()
    first.set_ylim(0, 1.05 * start)  # a diverging curve leaves the frame
    for axes in (first, second, third):
        axes.set_xlabel("round")
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, over: str) -> None:
    """Draw mean losses over a column, with intervals as bands, and a dotted line where an algorithm diverged."""
    for case, (_, line) in LINES.items():
        series = style.select(rows, case=case).sort_values(Column.ROUND)
        means = series[series[Column.MEAN].notna() & (series[over] > 0)]
        style.curve(axes, means[over], means, zorder=3, **line)
        for at in style.select(series, status="diverged")[over]:
            axes.axvline(at, color=line["color"], **DIVERGED)


def _lines(rows: pd.DataFrame) -> dict[str, style.Line]:
    """The legend's lines of the algorithms in these rows, by label."""
    cases = set(rows[Column.CASE])
    diverged = {"diverged": {"color": style.INK, **DIVERGED}} if (rows[Column.STATUS] == "diverged").any() else {}
    return {label: line for case, (label, line) in LINES.items() if case in cases} | diverged


def _with_bands(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the quantity loss: first rows with a mean and its interval, then rows that diverged."""
    rows = style.select(table, quantity="loss")
    return pd.concat([style.with_intervals(rows), rows[rows[Column.MEAN].isna()]])


def _sparsities(axes: Axes, table: pd.DataFrame) -> None:
    rows = style.with_intervals(style.select(table, quantity=list(SPARSITIES)))
    for quantity, (label, colour) in SPARSITIES.items():
        series = style.select(rows, quantity=quantity).sort_values(Column.ROUND)
        look = {"color": style.COLOURS[colour], "linewidth": 1.2, "label": label}
        style.curve(axes, series[Column.ROUND], series, **look)
    allowed = style.select(table, quantity="start")[Column.BOUND].max()
    axes.axhline(allowed, label="$2K/d$", **style.BOUND)
    axes.set_ylim(bottom=0)
    axes.set(title="(b) sparsity in the run of FIHT", ylabel="sparsity sp")
    axes.legend(ncols=3, **BELOW)


def _noises(axes: Axes, rows: pd.DataFrame, silent: pd.DataFrame) -> None:
    """Draw the losses by the noise in the channel: darker for more noise, and grey without noise."""
    rows = pd.concat([silent.assign(**{Column.CHANNEL_NOISE: 0.0}), rows])
    rows = rows[rows[Column.MEAN].notna() & (rows[Column.ROUND] > 0)].sort_values(Column.ROUND)
    most = float(rows[Column.CHANNEL_NOISE].max()) or 1.0
    for noise in sorted(rows[Column.CHANNEL_NOISE].unique()):
        series = style.select(rows, channel_noise=noise)
        shade = mpl.colormaps[SHADES](LIGHTEST + (1 - LIGHTEST) * noise / most) if noise else style.EXACT
        style.curve(axes, series[Column.ROUND], series, color=shade, linewidth=1.2, label=f"{noise:g}")
    axes.set(title="(c) FIHT, noise in the channel", ylabel="loss")
    axes.legend(title="noise $W$", ncols=3, title_fontsize=6, **BELOW)

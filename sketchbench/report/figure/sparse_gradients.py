"""Figure 1 of tang2021, measured again."""

from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import equal_bytes, style

SPARSITIES = {"sparsity": ("sp$(p(t))$", 0), "gradient_sparsity": ("sp$(g(t))$", 2)}
SHADES, LIGHTEST = "viridis_r", 0.41  # a map of colours, and where it begins to stand out from white
BELOW: dict[str, Any] = {"fontsize": 6, "loc": "upper center", "bbox_to_anchor": (0.5, -0.26)}  # a legend, off the data


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies sparse_gradients and channel_noise, over the rounds: the losses by algorithm; the sparsities in
    the run of FIHT; its losses by the noise in the channel."""
    table, noisy = tables["sparse_gradients"], tables["channel_noise"]
    figure, (first, second, third) = style.subplots(2.9, 1, 3)
    rows = equal_bytes.with_bands(table)
    equal_bytes.curves(first, rows, Column.ROUND)
    first.set(title="(a) loss at equal bytes", ylabel="loss")
    first.legend(handles=style.entries(equal_bytes.lines(rows)), **BELOW)
    _sparsities(second, table)
    _noises(third, style.select(equal_bytes.with_bands(noisy), case="recovery"), style.select(rows, case="recovery"))
    third.sharey(first)
    start = style.select(rows, round=0)[Column.MEAN].max()
    first.set_ylim(0, 1.05 * start)  # a diverging curve leaves the frame
    for axes in (first, second, third):
        axes.set_xlabel("round")
    return figure


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
    """Draw the losses by the noise in the channel: darker for more noise, and grey without any."""
    rows = pd.concat([silent.assign(**{Column.CHANNEL_NOISE: 0.0}), rows])
    rows = rows[rows[Column.MEAN].notna() & (rows[Column.ROUND] > 0)].sort_values(Column.ROUND)
    most = float(rows[Column.CHANNEL_NOISE].max()) or 1.0
    for noise in sorted(rows[Column.CHANNEL_NOISE].unique()):
        series = style.select(rows, channel_noise=noise)
        shade = mpl.colormaps[SHADES](LIGHTEST + (1 - LIGHTEST) * noise / most) if noise else style.EXACT
        style.curve(axes, series[Column.ROUND], series, color=shade, linewidth=1.2, label=f"{noise:g}")
    axes.set(title="(c) FIHT, noise in the channel", ylabel="loss")
    axes.legend(title="noise $W$", ncols=3, title_fontsize=6, **BELOW)

"""Figure 1 of tang2021, measured again."""

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import losses, style

SPARSITIES = {"sparsity": ("sp$(p(t))$", 0), "gradient_sparsity": ("sp$(g(t))$", 2)}
SHADES, LIGHTEST = "viridis_r", 0.41  # a map of colours, and where it begins to stand out from white


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies sparse_gradients and channel_noise, over the rounds: the losses by algorithm; the sparsities in
    the run of FIHT; its losses by the noise in the channel.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table, noisy = tables["sparse_gradients"], tables["channel_noise"]
    figure = style.new_figure(2.6)
    first, second, third = figure.subplots(1, 3)
    rows = losses.with_bands(table)
    losses.curves(first, rows, Column.ROUND)
    first.set_title("(a) loss")
    first.legend(handles=losses.handles(rows), fontsize=6, loc="upper right", frameon=True)
    _sparsities(second, table)
    _noises(third, _recovered(losses.with_bands(noisy)), _recovered(rows))
    third.sharey(first)
    start = rows.loc[rows[Column.ROUND] == 0, Column.MEAN].max()
    first.set_ylim(0, 1.05 * start)  # a diverging curve leaves the frame
    for axes in (first, second, third):
        axes.set_xlabel("round")
    return figure


def _recovered(rows: pd.DataFrame) -> pd.DataFrame:
    """Of FIHT, and not of what runs beside it."""
    return rows[rows[Column.CASE] == "recovery"]


def _sparsities(axes: Axes, table: pd.DataFrame) -> None:
    drawn = style.with_intervals(table[table[Column.QUANTITY].isin(SPARSITIES)])
    for quantity, (label, colour) in SPARSITIES.items():
        series = drawn[drawn[Column.QUANTITY] == quantity].sort_values(Column.ROUND)
        look = {"color": style.COLOURS[colour], "linewidth": 1.2, "label": label}
        style.curve(axes, series[Column.ROUND], series, **look)
    allowed = table.loc[table[Column.QUANTITY] == "start", Column.BOUND].max()
    axes.axhline(allowed, color=style.INK, linewidth=0.9, linestyle="--", label="$2K/d$")
    axes.set_ylim(bottom=0)
    axes.set_title("(b) sparsity of FIHT's run")
    axes.legend(fontsize=6, loc="center right")


def _noises(axes: Axes, rows: pd.DataFrame, silent: pd.DataFrame) -> None:
    """Draw the losses by the noise in the channel: darker for more noise, and grey without any."""
    runs = [(0.0, silent)]
    for noise in sorted(rows[Column.CHANNEL_NOISE].unique()):
        runs.append((noise, rows[rows[Column.CHANNEL_NOISE] == noise]))
    shades = mpl.colormaps[SHADES]
    most = max(noise for noise, _ in runs) or 1.0
    for noise, series in runs:
        means = series[series[Column.MEAN].notna() & (series[Column.ROUND] > 0)].sort_values(Column.ROUND)
        colour = shades(LIGHTEST + (1 - LIGHTEST) * noise / most) if noise else style.EXACT
        text = f"{noise:g}"
        style.curve(axes, means[Column.ROUND], means, color=colour, linewidth=1.2, label=text)
    axes.set_title("(c) FIHT, noise in the channel")
    axes.legend(title="$W$", fontsize=6, title_fontsize=6, loc="upper right")

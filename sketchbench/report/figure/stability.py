"""The error of a recovery over the noise in the measurements, and over the signal's tail."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

KINDS = {"noise": "norm of the noise", "tail": "norm of the tail"}
SIDE_BY_SIDE = 0.24  # decades


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study stability, over the amount of noise and of tail: the error (quantities noise_error,
    tail_error) with the line of slope 1; below, the error over the amount (noise_ratio, tail_ratio).

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["stability"]
    quantities = [f"{kind}_{what}" for kind in KINDS for what in ("error", "ratio")]
    random = table[Column.CASE].isna() if Column.CASE in table else True  # directions, not the worst ones
    drawn = style.with_intervals(table[table[Column.QUANTITY].isin(quantities) & random])
    shown = style.families(drawn, looks=style.RECOVERY_LOOKS)
    figure = style.new_figure(4.2)
    grid = figure.subplots(2, 2, sharex="col", height_ratios=[1.3, 1], squeeze=False)
    grid[0, 1].sharey(grid[0, 0])
    for (kind, text), error, ratio in zip(KINDS.items(), grid[0], grid[1], strict=True):
        _errors(error, drawn[drawn[Column.QUANTITY] == f"{kind}_error"], shown)
        _ratios(ratio, drawn[drawn[Column.QUANTITY] == f"{kind}_ratio"], shown)
        ratio.set_xlabel(text)
    style.plain_log(grid[0, 0])
    grid[0, 0].set_ylabel(r"error $\|x-\hat{x}\|$")
    grid[1, 0].set_ylabel("error / amount")
    figure.align_ylabels(grid[:, 0])
    guide = style.handle("error = amount", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, shown, [guide])
    return figure


def _errors(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    axes.set_yscale("log")
    amounts = np.array(sorted(rows[Column.AMOUNT].unique()))
    ends = amounts[[0, -1]] * [0.7, 1.4] if amounts.size else amounts
    axes.plot(ends, ends, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    for index, family in enumerate(shown):
        series = rows[(rows[Column.METHOD] == family.method) & (rows[Column.MEAN] > 0)].sort_values(Column.AMOUNT)
        axes.plot(series[Column.AMOUNT], series[Column.MEAN], color=family.colour, linewidth=0.7, zorder=2)
        # Larger and larger, so that all are seen where they coincide.
        style.points(axes, series[Column.AMOUNT], series, family, size=4.0, ring=1.2 + 0.2 * index)


def _ratios(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    axes.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    for index, family in enumerate(shown):
        series = family.rows(rows).sort_values(Column.AMOUNT)
        x = style.dodge(series[Column.AMOUNT], index, len(shown), decades=SIDE_BY_SIDE)
        style.points(axes, x, series, family, size=3.4)
    style.limits(axes, rows, include=1)
    amounts = sorted(rows[Column.AMOUNT].unique())
    style.sizes(axes, amounts, margin=1.6)
    axes.set_xticks(amounts, [f"{amount:g}" for amount in amounts])

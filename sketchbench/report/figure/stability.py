"""The error of a recovery over the noise in the measurements, and over the signal's tail."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

KINDS = {"noise": "norm of the noise", "tail": "norm of the tail"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study stability, over the amount of noise and of tail: the error (quantities noise_error,
    tail_error) with the line of slope 1; below, the error over the amount (noise_ratio, tail_ratio)."""
    table = tables["stability"]
    table = table[table[Column.CASE].isna()] if Column.CASE in table else table  # directions at random, not the worst
    rows = style.with_intervals(style.select(table, quantity=[f"{k}_{w}" for k in KINDS for w in ("error", "ratio")]))
    methods = style.methods(rows, looks=style.RECOVERY_LOOKS)
    figure, grid = style.subplots(4.4, 2, 2, height_ratios=[1.3, 1], squeeze=False)
    grid[0, 1].sharey(grid[0, 0])
    for (kind, text), error, ratio in zip(KINDS.items(), *grid, strict=True):
        _errors(error, style.select(rows, quantity=f"{kind}_error"), methods)
        _ratios(ratio, style.select(rows, quantity=f"{kind}_ratio"), methods)
        ratio.set_xlabel(text)
    style.plain_log(grid[0, 0])
    grid[0, 0].set_ylabel(r"error $\|x-\hat{x}\|$")
    grid[1, 0].set_ylabel("error / norm")
    figure.align_ylabels(grid[:, 0])
    style.legend(figure, methods, {"error = norm": style.BOUND})
    return figure


def _errors(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    axes.set_yscale("log")
    amounts = np.array(sorted(rows[Column.AMOUNT].unique()))
    ends = amounts[[0, -1]] * [0.7, 1.4] if amounts.size else amounts
    axes.plot(ends, ends, zorder=1, **style.BOUND)
    for index, (method, series, x) in enumerate(style.series(rows[rows[Column.MEAN] > 0], methods, Column.AMOUNT)):
        ring = 1.2 + 0.2 * index  # larger and larger, so that all are seen where they coincide
        style.trace(axes, x, series, method, ring=ring, linewidth=0.7)
    style.size_ticks(axes, amounts, margin=1.6, text="{:g}")


def _ratios(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    axes.axhline(1, zorder=1, **style.BOUND)
    amounts = rows[Column.AMOUNT]
    for method, series, x in style.series(rows, methods, Column.AMOUNT, among=amounts):
        style.points(axes, x, series, method, size=3.4)
    style.limits(axes, rows, include=1)
    style.categories(axes, amounts, "{:g}")

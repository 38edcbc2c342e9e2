"""Errors of recoveries: over the compression, noise, tail and unit of signals, and by where the support may lie."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

BEST = style.TRUE | {"linewidth": 1.4}
NOTHING: style.Line = {"color": style.INK, "linewidth": 0.7, "linestyle": ":"}
RELATIVE = r"relative error $\|x-\hat{x}\|^2/\|x\|^2$"
SIGNALS = {"sparse": "sparse signals", "heavy_tail": "heavy tails"}
AMOUNTS = {"noise": "norm of the noise", "tail": "norm of the tail"}


def plot_reconstruction(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the relative error over the compression, from study reconstruction, with the error of the best k terms
    (quantity floor). The floor is one line, since all recoveries get the same signals."""
    table = style.at_largest(tables["reconstruction"], Column.D)
    methods = style.methods(table, looks=style.RECOVERY_LOOKS)
    errors = style.with_intervals(style.select(table, quantity="relative_error"))
    figure, axes = style.subplots(3.2)
    axes.set(yscale="log", ylabel=RELATIVE)
    axes.axhline(1, zorder=1, **NOTHING)
    for method, series, x in style.series(errors[errors[Column.MEAN] > 0], methods, Column.COMPRESSION):
        # Larger for the two recoveries that the paper compares.
        weight = {"linewidth": 1.6, "size": 5.0} if method.filled else {"linewidth": 0.7, "size": 4.0}
        style.trace(axes, x, series, method, **weight)
    positive = table[table[Column.MEAN] > 0]
    floor = style.select(positive, quantity="floor").groupby(Column.COMPRESSION)[Column.MEAN].first()
    style.stated(axes, floor.index.to_series(), floor, zorder=1, **BEST)
    axes.margins(y=0.08)
    style.plain_log(axes)
    style.compression_ticks(axes, table[Column.COMPRESSION].dropna(), apart=0.06, margin=1.08)
    style.legend(figure, methods, {"best $k$ terms": BEST, "nothing recovered": NOTHING})
    return figure


def plot_units(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the relative error of each recovery over the unit of the signals, a power of two, from study units."""
    rows = style.select(style.at_largest(tables["units"], Column.D), quantity="relative_error")
    rows = style.with_intervals(rows)
    methods = style.methods(rows, looks=style.RECOVERY_LOOKS)
    figure, axes = style.subplots(2.9, width=4.8)
    units = rows[Column.UNIT].unique()
    for method, series, x in style.series(rows[rows[Column.MEAN] > 0], methods, Column.UNIT, among=units):
        style.trace(axes, x, series, method, size=4.4, linewidth=0.9)
    style.plain_log(axes)
    style.categories(axes, units, lambda unit: "1" if unit == 1 else f"$2^{{{round(math.log2(unit))}}}$")
    axes.set(xlabel="unit of the signals", ylabel=RELATIVE)
    style.legend(figure, methods)
    return figure


def plot_stability(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the error over the norm of the noise and of the tail, from study stability, with the line of slope 1. Below:
    the error divided by that norm."""
    table = tables["stability"]
    table = table[table[Column.CASE].isna()] if Column.CASE in table else table  # random directions, not the worst
    quantities = [f"{kind}_{what}" for kind in AMOUNTS for what in ("error", "ratio")]
    rows = style.with_intervals(style.select(table, quantity=quantities))
    methods = style.methods(rows, looks=style.RECOVERY_LOOKS)
    figure, grid = style.subplots(4.4, 2, 2, height_ratios=[1.3, 1], squeeze=False)
    grid[0, 1].sharey(grid[0, 0])
    for (kind, text), error, ratio in zip(AMOUNTS.items(), *grid, strict=True):
        _errors(error, style.select(rows, quantity=f"{kind}_error"), methods)
        ratio.axhline(1, zorder=1, **style.BOUND)
        ratios = style.select(rows, quantity=f"{kind}_ratio")
        style.scatter(ratio, ratios, methods, Column.AMOUNT, among=ratios[Column.AMOUNT], size=3.4)
        style.limits(ratio, ratios, include=1)
        style.categories(ratio, ratios[Column.AMOUNT], "{:g}")
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
        ring = 1.2 + 0.2 * index  # larger and larger, so that coinciding markers are all visible
        style.trace(axes, x, series, method, ring=ring, linewidth=0.7)
    style.size_ticks(axes, amounts, margin=1.6, text="{:g}")


def plot_padding(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the error with the support kept out of the padding, divided by the error without (quantity ratio), over the
    compression, from studies padding and padding_starved, a column for each kind of signal. Below: the share of the
    support that falls into the padding (quantity wasted)."""
    table = pd.concat([tables["padding"], tables["padding_starved"]], ignore_index=True)
    table = style.with_compression(style.at_largest(table, Column.D))
    wasted = (table[Column.QUANTITY] == "wasted") & (table[Column.SUPPORT] == "padded")
    rows = style.with_intervals(table[(table[Column.QUANTITY] == "ratio") | wasted])
    methods = style.methods(rows, looks=style.RECOVERY_LOOKS)
    compressions = rows[Column.COMPRESSION].dropna()
    kinds = [kind for kind in SIGNALS if (rows[Column.CASE] == kind).any()]
    kinds = kinds or sorted(rows[Column.CASE].unique())
    d = int(table[Column.D].max())
    padding = 1 - d / 2 ** (d - 1).bit_length()  # the Walsh-Hadamard transform pads to a power of two
    figure, grid = style.subplots(3.6, 2, len(kinds), sharey="row", squeeze=False)
    for kind, ratio, share in zip(kinds, *grid, strict=True):
        ratios = style.select(rows, case=kind, quantity="ratio")
        ratio.axhline(1, zorder=1, **style.TRUE)
        for bound in ratios[Column.BOUND].dropna().unique():
            ratio.axhline(bound, zorder=1, **style.BOUND)
        style.scatter(ratio, ratios, methods, Column.COMPRESSION, among=compressions)
        ratio.set_title(SIGNALS.get(kind, kind))
        share.axhline(padding, zorder=1, **style.TRUE)
        place = {"xycoords": share.get_yaxis_transform(), "xytext": (0, -3), "textcoords": "offset points"}
        text = {"verticalalignment": "top", "fontsize": 7, "color": "0.35"}
        share.annotate("share of the coordinates in the padding", (0.02, padding), **place, **text)
        shares = style.select(rows, case=kind, quantity="wasted")
        style.scatter(share, shares, methods, Column.COMPRESSION, among=compressions)
        style.categories(share, compressions, style.compression)
        style.categories(ratio, compressions, "")
        share.set_xlabel("compression $d/b$")
    style.limits(grid[0, 0], style.select(rows, quantity="ratio"), include=1)
    grid[1, 0].set_ylim(bottom=0)
    grid[0, 0].set_ylabel("error, unpadded / padded")
    grid[1, 0].set_ylabel("share of the support\nin the padding")
    figure.align_ylabels(grid[:, 0])
    claimed = {"at most, as claimed": style.BOUND} if rows[Column.BOUND].notna().any() else {}
    style.legend(figure, methods, {"no difference": style.TRUE, **claimed})
    return figure

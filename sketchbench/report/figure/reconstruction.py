"""The relative error of recovered signals over the compression."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

BEST = style.TRUE | {"linewidth": 1.4}
NOTHING: style.Line = {"color": style.INK, "linewidth": 0.7, "linestyle": ":"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study reconstruction, over the compression: the relative error, with that of the best k terms (quantity
    floor), which is one line, as the signals are the same for every recovery."""
    table = style.at_largest(tables["reconstruction"], Column.D)
    methods = style.methods(table, looks=style.RECOVERY_LOOKS)
    errors = style.with_intervals(style.select(table, quantity="relative_error"))
    figure, axes = style.subplots(3.2)
    axes.set(yscale="log", ylabel=r"relative error $\|x-\hat{x}\|^2/\|x\|^2$")
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

"""The relative error over the unit that the signals are measured in."""

import math

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study units: the relative error per recovery over the unit, a power of two."""
    rows = style.select(style.at_largest(tables["units"], Column.D), quantity="relative_error")
    rows = style.with_intervals(rows)
    methods = style.methods(rows, looks=style.RECOVERY_LOOKS)
    figure, axes = style.subplots(2.9, width=4.8)
    units = rows[Column.UNIT].unique()
    for method, series, x in style.series(rows[rows[Column.MEAN] > 0], methods, Column.UNIT, among=units):
        style.trace(axes, x, series, method, size=4.4, linewidth=0.9)
    style.plain_log(axes)
    style.categories(axes, units, lambda unit: "1" if unit == 1 else f"$2^{{{round(math.log2(unit))}}}$")
    axes.set(xlabel="unit of the signals", ylabel=r"relative error $\|x-\hat{x}\|^2/\|x\|^2$")
    style.legend(figure, methods)
    return figure

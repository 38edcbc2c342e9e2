"""The relative error over the unit that the signals are measured in."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study units: the relative error per recovery over the unit, a power of two.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["units"]
    rows = table[(table[Column.QUANTITY] == "relative_error") & (table[Column.D] == table[Column.D].max())]
    drawn = style.with_intervals(rows)
    shown = style.families(drawn, looks=style.RECOVERY_LOOKS)
    figure = style.new_figure(2.9, 4.8)
    axes = figure.subplots()
    axes.set_yscale("log")
    for index, family in enumerate(shown):
        series = drawn[(drawn[Column.METHOD] == family.method) & (drawn[Column.MEAN] > 0)].sort_values(Column.UNIT)
        x = style.dodge(series[Column.UNIT], index, len(shown), decades=1.8)
        style.joined(axes, x, series, family, size=4.4, width=0.9)
    style.plain_log(axes)
    _units(axes, sorted(drawn[Column.UNIT].unique()))
    axes.set_ylabel(r"relative error $\|x-\hat{x}\|^2/\|x\|^2$")
    style.legend(figure, shown)
    return figure


def _units(axes: Axes, units: list[float]) -> None:
    style.sizes(axes, units, margin=100)
    exponents = [round(math.log2(unit)) for unit in units]
    axes.set_xticks(units, [f"$2^{{{exponent}}}$" if exponent else "1" for exponent in exponents])
    axes.set_xlabel("unit of the signals")

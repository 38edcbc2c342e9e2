"""The embedding constant over the dimension: uniform sampling against all others."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study growth: per family and dimension the largest mean of b (gᵀRᵀRh - gᵀh)² over pairs and sizes, and the
    exact value of that pair. Left, all families and the line a = d; right, the families that stay small, enlarged. The
    intervals hold whichever pair was worst."""
    rows = style.without_constants(style.select(tables["growth"], quantity="embedding_constant"))
    worst = style.with_intervals(style.worst(rows, [Column.METHOD, Column.D]), candidates=len(rows))
    methods = style.methods(worst)
    small = style.small(methods, worst)
    figure, (panels,) = style.subplots(2.5, 1, 2 if small else 1, squeeze=False)
    _all(panels[0], worst, methods)
    if small:
        _enlarged(panels[1], worst, small)
    for axes in panels:
        axes.set_xlabel("dimension $d$")
    style.legend(figure, methods, {"exact": style.TRUE, "$a=d$": style.BOUND})
    return figure


def _all(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    axes.set_yscale("log")
    style.size_ticks(axes, rows[Column.D])
    ends = np.array(axes.get_xlim())
    axes.plot(ends, ends, **style.BOUND)
    positive = rows[rows[Column.MEAN] > 0]
    for method, series, x in style.series(positive, methods, Column.D):
        axes.plot(x, series[Column.EXACT], **style.TRUE)
        style.points(axes, x, series, method)
    low, high = min(1.0, float(positive[Column.MEAN].min()) / 1.2), 1.6 * float(rows[Column.D].max())
    axes.set(xlim=ends, ylim=(low, high), ylabel="embedding constant $a$ (worst pair)", title="all families")


def _enlarged(axes: Axes, rows: pd.DataFrame, small: list[style.MethodStyle]) -> None:
    """Draw the families of small constants side by side, on a linear scale."""
    own = rows[rows[Column.METHOD].isin([method.method for method in small])]
    for method, series, x in style.series(own, small, Column.D, among=own[Column.D]):
        axes.plot(x, series[Column.EXACT], marker="_", markersize=7, **style.TRUE | {"linestyle": "none"})
        style.points(axes, x, series, method, size=3.4)
    style.categories(axes, own[Column.D])
    style.limits(axes, own, include=float(own[Column.MEAN].median()))
    axes.set_title("enlarged: the families that stay small" if len(own) < len(rows) else "linear")

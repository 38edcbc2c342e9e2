"""The isometry constants of sketches on sparse vectors, over the sketch size."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PROPOSITION = ("srht", "srht_replacement", "srct")  # rows of an orthogonal matrix
THICK, THIN = {"linewidth": 1.5, "size": 4.6}, {"linewidth": 0.5, "size": 3.0}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study isometry, over b: the mean isometry constant of random supports (quantity isometry) with the guide
    1/√b; right, the same times √b, for the families where it stays small."""
    rows = style.select(style.at_largest(tables["isometry"], Column.D), quantity="isometry")
    rows = style.with_intervals(rows)
    methods = style.methods(rows)
    scaled = style.scale(rows, np.sqrt(rows[Column.B]))
    small = style.small(methods, scaled)
    height = _height(scaled)
    figure, (panels,) = style.subplots(2.7, 1, 2 if small else 1, squeeze=False)
    _all(panels[0], rows, methods, height)
    if small:
        _enlarged(panels[1], scaled, small, height)
    for axes in panels:
        axes.set_xlabel("sketch size $b$")
    lines = {r"guide $\propto 1/\sqrt{b}$": style.BOUND}
    if any(method.method in PROPOSITION for method in methods):
        lines["thick: Proposition 1"] = {"color": style.EXACT, "linewidth": THICK["linewidth"]}
    style.legend(figure, methods, lines)
    return figure


def _height(scaled: pd.DataFrame) -> float:
    """The height of the guide: the median of the proposition's families (else of all) at the smallest size."""
    first = scaled[scaled[Column.B] == scaled[Column.B].min()]
    of_proposition = first[first[Column.METHOD].isin(PROPOSITION)]
    return float((first if of_proposition.empty else of_proposition)[Column.MEAN].median())


def _weight(method: style.MethodStyle) -> dict[str, float]:
    """The width of a family's line and the size of its markers: thin where the proposition says nothing of it."""
    return THICK if method.method in PROPOSITION else THIN


def _all(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle], height: float) -> None:
    axes.set_yscale("log")
    for method, series, x in style.series(rows[rows[Column.MEAN] > 0], methods, Column.B):
        style.trace(axes, x, series, method, **_weight(method))
    style.size_ticks(axes, rows[Column.B])
    ends = np.array(axes.get_xlim())
    axes.plot(ends, height / np.sqrt(ends), zorder=6, **style.BOUND)
    axes.set(xlim=ends, ylabel=r"mean isometry constant $\delta_S$", title="all families")
    style.plain_log(axes)


def _enlarged(axes: Axes, scaled: pd.DataFrame, small: list[style.MethodStyle], height: float) -> None:
    """Draw the families of small constants side by side, on a linear scale."""
    rows = scaled[scaled[Column.METHOD].isin([method.method for method in small])]
    axes.axhline(height, zorder=1, **style.BOUND)
    for method, series, x in style.series(rows, small, Column.B, among=rows[Column.B]):
        style.trace(axes, x, series, method, **_weight(method))
    style.categories(axes, rows[Column.B])
    style.limits(axes, rows, include=height)
    title = r"times $\sqrt{b}$" + (", where small" if len(rows) < len(scaled) else "")
    axes.set(ylabel=r"$\sqrt{b}\,\delta_S$", title=title)

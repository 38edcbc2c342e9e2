"""Constants of all families: the embedding constant over pairs and dimensions, and the isometry constant."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.figure.moments import relative

PROPOSITION = ("srht", "srht_replacement", "srct")  # rows of an orthogonal matrix
THICK, THIN = {"linewidth": 1.5, "size": 4.6}, {"linewidth": 0.5, "size": 3.0}


def plot_embedding_constant(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the largest mean of b (gᵀRᵀRh - gᵀh)² of each family over pairs and sizes, from study embedding, with its
    exact value and the claimed constant. Right: the ratio to the exact value. Intervals hold whichever pair is
    worst."""
    rows = style.select(tables["embedding"], quantity="embedding_constant")
    worst = style.with_intervals_of_worst(rows, [Column.METHOD])
    methods = style.methods(worst)
    figure, (left, right) = style.subplots(1.1 + 0.19 * len(methods), 1, 2, sharey=True, width_ratios=[1.7, 1])
    for place, method in enumerate(methods):
        row = method.rows(worst)
        left.plot(row[Column.BOUND], [place], "|", color=style.INK, markersize=11, markeredgewidth=1.8)
        left.plot(row[Column.EXACT], [place], "|", color=style.EXACT, markersize=11, markeredgewidth=1)
        for axes, point in ((left, row), (right, relative(row))):
            if not point.empty:
                bar = {"xerr": style.error_bars(point), "linestyle": "none", "elinewidth": 0.9}
                axes.errorbar(point[Column.MEAN], [place], **bar, **method.marks())
    left.set_yticks(range(len(methods)), [method.label for method in methods])
    left.set_ylim(len(methods) - 0.4, -0.6)
    _constants(left, float(worst[[Column.MEAN, Column.BOUND]].max().max()))
    left.set_xlabel("embedding constant $a$: worst pair and size\n(logarithmic above 1)")
    right.axvline(1, color=style.EXACT, linewidth=1, zorder=1)
    right.set_xlabel("measured / exact")
    right.tick_params(axis="y", length=0)
    tick = {"marker": "|", "linestyle": "none", "markersize": 9}
    lines: dict[str, style.Line] = {
        "measured": {"color": style.INK, "marker": "o", "markersize": 4, "linewidth": 0.8},
        "exact": {"color": style.EXACT, "markeredgewidth": 1, **tick},
        "claimed": {"color": style.INK, "markeredgewidth": 1.8, **tick},
    }
    figure.legend(handles=style.entries(lines), loc="outside lower center", ncols=3)
    return figure


def _constants(axes: Axes, largest: float) -> None:
    """Scale the x axis from 0 on (No sketch), logarithmic above 1 (uniform sampling: a = d)."""
    ticks = [t for t in (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= 1.5 * largest]
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    style.only_ticks(axes, ticks)
    axes.set_xlim(-0.2, 1.35 * max(largest, 1))


def plot_growth(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the largest mean of b (gᵀRᵀRh - gᵀh)² of each family and dimension, over pairs and sizes, from study growth,
    with the exact value of that pair. Left: all families and the line a = d; right: the families with small constants,
    enlarged. Intervals hold whichever pair is worst."""
    rows = style.without_constants(style.select(tables["growth"], quantity="embedding_constant"))
    worst = style.with_intervals_of_worst(rows, [Column.METHOD, Column.D])
    methods = style.methods(worst)
    small = style.small(methods, worst)
    figure, (panels,) = style.subplots(2.5, 1, 2 if small else 1, squeeze=False)
    _grown(panels[0], worst, methods)
    if small:
        own = style.about(worst, small)
        for method, series, x in style.series(own, small, Column.D, among=own[Column.D]):
            panels[1].plot(x, series[Column.EXACT], marker="_", markersize=7, **style.TRUE | {"linestyle": "none"})
            style.points(panels[1], x, series, method, size=3.4)
        title = "enlarged: the families that stay small" if len(own) < len(worst) else "linear"
        _side_by_side(panels[1], own, Column.D, float(own[Column.MEAN].median()), title=title)
    _finish(figure, panels, "dimension $d$", methods, {"exact": style.TRUE, "$a=d$": style.BOUND})
    return figure


def _grown(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    """Plot the constants of all families, and the line a = d."""
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


def plot_isometry(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the mean isometry constant of random supports (quantity isometry) over b, from study isometry, with the
    guide 1/√b. Right: the constant times √b, for the families with small values."""
    rows = style.with_intervals(style.select(style.at_largest(tables["isometry"], Column.D), quantity="isometry"))
    methods = style.methods(rows)
    scaled = style.scale(rows, np.sqrt(rows[Column.B]))
    small = style.small(methods, scaled)
    height = _height(scaled)
    figure, (panels,) = style.subplots(2.7, 1, 2 if small else 1, squeeze=False)
    panels[0].set_yscale("log")
    for method, series, x in style.series(rows[rows[Column.MEAN] > 0], methods, Column.B):
        style.trace(panels[0], x, series, method, **_weight(method))
    style.size_ticks(panels[0], rows[Column.B])
    ends = np.array(panels[0].get_xlim())
    panels[0].plot(ends, height / np.sqrt(ends), zorder=6, **style.BOUND)
    panels[0].set(xlim=ends, ylabel=r"mean isometry constant $\delta_S$", title="all families")
    style.plain_log(panels[0])
    if small:
        own = style.about(scaled, small)
        panels[1].axhline(height, zorder=1, **style.BOUND)
        for method, series, x in style.series(own, small, Column.B, among=own[Column.B]):
            style.trace(panels[1], x, series, method, **_weight(method))
        title = r"times $\sqrt{b}$" + (", where small" if len(own) < len(scaled) else "")
        _side_by_side(panels[1], own, Column.B, height, title=title, ylabel=r"$\sqrt{b}\,\delta_S$")
    lines = {r"guide $\propto 1/\sqrt{b}$": style.BOUND}
    if any(method.method in PROPOSITION for method in methods):
        lines["thick: Proposition 1"] = {"color": style.EXACT, "linewidth": THICK["linewidth"]}
    _finish(figure, panels, "sketch size $b$", methods, lines)
    return figure


def _height(scaled: pd.DataFrame) -> float:
    """The height of the guide: the median at the smallest size, of the proposition's families or else of all."""
    first = scaled[scaled[Column.B] == scaled[Column.B].min()]
    of_proposition = first[first[Column.METHOD].isin(PROPOSITION)]
    return float((first if of_proposition.empty else of_proposition)[Column.MEAN].median())


def _weight(method: style.MethodStyle) -> dict[str, float]:
    """The width of a family's line and the size of its markers: thin unless the proposition covers the family."""
    return THICK if method.method in PROPOSITION else THIN


def _side_by_side(axes: Axes, rows: pd.DataFrame, over: str, include: float, **texts: str) -> None:
    """Make the x axis one of categories, and give the y axis linear limits that include a value."""
    style.categories(axes, rows[over])
    style.limits(axes, rows, include=include)
    axes.set(**texts)


def _finish(
    figure: Figure, panels: Any, label: str, methods: list[style.MethodStyle], lines: Mapping[str, style.Line]
) -> None:
    for axes in panels:
        axes.set_xlabel(label)
    style.legend(figure, methods, lines)

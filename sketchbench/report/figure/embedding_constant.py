"""The embedding constant of every family, against the constants that the papers state."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import by_size, style


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study embedding: for every family the pair and size with the largest mean of b (gᵀRᵀRh - gᵀh)²; its exact
    value; the constant claimed. Right: the ratio to the exact value. The intervals hold whichever pair was worst."""
    rows = style.select(tables["embedding"], quantity="embedding_constant")
    worst = style.with_intervals(style.worst(rows, [Column.METHOD]), candidates=len(rows))
    methods = style.methods(worst)
    figure, (left, right) = style.subplots(1.1 + 0.19 * len(methods), 1, 2, sharey=True, width_ratios=[1.7, 1])
    for place, method in enumerate(methods):
        row = method.rows(worst)
        left.plot(row[Column.BOUND], [place], "|", color=style.INK, markersize=11, markeredgewidth=1.8)
        left.plot(row[Column.EXACT], [place], "|", color=style.EXACT, markersize=11, markeredgewidth=1)
        for axes, point in ((left, row), (right, by_size.relative(row))):
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
    """A scale from 0 on (No sketch) that is logarithmic above 1 (uniform sampling: a = d)."""
    ticks = [t for t in (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= 1.5 * largest]
    axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_xticks(ticks, [str(t) for t in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(-0.2, 1.35 * max(largest, 1))

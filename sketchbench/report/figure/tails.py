"""The frequency of errors above t in inner products, against the tail lemmas."""

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CASES: dict[str, tuple[str, style.Line]] = {  # by pair of vectors, with the label
    "random": ("random $g$, $h$", {"color": style.COLOURS[0]}),
    "equal": ("$g=h$ random", {"color": style.COLOURS[1], "linestyle": "--"}),
    "flat": ("$g=h$ flat", {"color": style.COLOURS[2], "linestyle": "-."}),
    "spike": ("$g=h$ spike", {"color": style.COLOURS[3], "linestyle": (0, (1, 1))}),
    "two_spikes": ("$g=h$ two spikes", {"color": style.COLOURS[4], "linestyle": (0, (4, 1, 1, 1, 1, 1))}),
    "disjoint": ("disjoint $g$, $h$", {"color": style.COLOURS[5], "linestyle": (0, (3, 2))}),
    "gradient": ("real gradients", {"color": style.COLOURS[7], "linestyle": (0, (5, 1))}),
}
ALLOWED: style.Line = {"color": style.INK, "linewidth": 0.6, "markersize": 3.2}
MARKERS = "os^Dv"
ROUNDING = 1e-9  # errors below it are due to rounding
COLUMNS = 4


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot study tails, a panel per family: the shares `count` / `trials` of errors that reach t (quantity tail), with
    a band of Clopper-Pearson intervals; the lemmas' thresholds at their allowed height 2δ (quantity exceedance); and
    the threshold that no error reaches (quantity largest_error), a vertical line."""
    table = style.at_largest(tables["tails"], Column.D)
    if table.empty:
        return style.new_figure(1.0)
    b = sorted(table[Column.B].unique())[table[Column.B].nunique() // 2]
    table = style.select(table, b=b, case=list(CASES))
    tails = style.select(table[table[Column.THRESHOLD] > ROUNDING], quantity="tail")
    tails = style.with_shares(tails, tails[Column.COUNT], len(tails))
    methods = style.methods(table)
    columns = min(COLUMNS, len(methods))
    rows = -(-len(methods) // columns)
    figure = style.new_figure(0.5 + 1.45 * rows, min(style.WIDE, max(4.8, 1.75 * columns)))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, method in zip(grid.flat, methods, strict=False):
        axes.set_title(textwrap.fill(method.label, 30))
        for case, (_, line) in CASES.items():
            positive = style.select(method.rows(tails[tails[Column.COUNT] > 0]), case=case)
            series = positive.sort_values(Column.THRESHOLD)
            style.curve(axes, series[Column.THRESHOLD], series, band=0.15, linewidth=1.1, **line)
        _lemmas(axes, method.rows(table))
        axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(methods) :]:
        axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel("error $t$")
    _scales(grid[0, 0], table, tails)
    probability = "$\\mathrm{P}(|g^TR^TRh-g^Th|\\geq t)$\n"
    d = table[Column.D].max()
    figure.supylabel(probability + rf"$d={d}$, $b={b}$, $\|g\|=\|h\|=1$", fontsize=8)
    cases = set(tails[Column.CASE])
    lines = {label: {"linewidth": 1.1, **line} for case, (label, line) in CASES.items() if case in cases}
    style.legend(figure, [], {**lines, "allowed by the lemma": {"marker": "o", **ALLOWED}})
    return figure


def _lemmas(axes: Axes, rows: pd.DataFrame) -> None:
    allowed = style.select(rows, quantity="exceedance").drop_duplicates([Column.LEMMA, Column.DELTA])
    allowed = allowed.sort_values(Column.THRESHOLD)
    for index, (lemma, series) in enumerate(allowed.groupby(Column.LEMMA)):
        marker = MARKERS[index % len(MARKERS)]
        axes.plot(series[Column.THRESHOLD], series[Column.BOUND], marker=marker, **ALLOWED)
        end = 0 if index == 0 else -1
        _name(axes, lemma, series[Column.THRESHOLD].iloc[end], series[Column.BOUND].iloc[end], right=index == 0)
    for lemma, series in style.select(rows, quantity="largest_error").groupby(Column.LEMMA):
        axes.axvline(series[Column.BOUND].iloc[0], color=style.INK, linewidth=0.9)
        _name(axes, lemma, series[Column.BOUND].iloc[0], 1.0)


def _name(axes: Axes, lemma: Any, x: float, y: float, *, right: bool = True) -> None:
    """Write the number of a lemma to the right of a mark, or to the left of the lowest mark, away from curves. The
    later lemma of a panel has the smaller thresholds."""
    place: dict[str, Any] = {"xytext": (3 if right else -4, 3), "textcoords": "offset points"}
    text = lemma.removeprefix("Lemma ")
    axes.annotate(text, (x, y), ha="left" if right else "right", fontsize=7, color=style.INK, **place)


def _scales(axes: Axes, table: pd.DataFrame, tails: pd.DataFrame) -> None:
    """Make both axes logarithmic: x from the smallest threshold on, y down to half an error in the most trials."""
    sure = style.select(table, quantity="largest_error")[Column.BOUND]
    right = float(pd.concat([table[Column.THRESHOLD], sure]).max())
    left = float(tails[Column.THRESHOLD].min()) if len(tails) else right / 100
    lowest = 0.5 / float(table[Column.TRIALS].max())
    axes.set(xscale="log", yscale="log", xlim=(left, 4 * right), ylim=(lowest, 4))

"""Panels over the sketch size: a column per group of families, two rows per case."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

RATIO = "measured / exact"
ZERO = 1e-12  # means below it are due to rounding


def draw(cases: Mapping[str, pd.DataFrame], bound: str | None = None) -> Figure:
    """Measured values with lines through the exact ones, on logarithmic axes, and below the ratio of the two.

    Arguments:
        cases: rows with `low`, `high`, `exact` and `bound`, by the label of their y axis.
        bound: the legend entry of the bound; None: there is none.
    """
    everything = pd.concat(list(cases.values()))
    shown = style.families(everything)
    groups = [g for g in style.GROUPS if any(family.group == g for family in shown)]
    width = min(style.WIDE, max(3.4, 0.9 + 1.25 * len(groups)))
    figure = style.new_figure(0.65 + 2.4 * len(cases), width)
    grid = figure.subplots(
        2 * len(cases),
        len(groups),
        squeeze=False,
        sharex=True,
        sharey="row",
        height_ratios=[1.6, 1] * len(cases),
    )
    for index, (text, rows) in enumerate(cases.items()):
        values, ratios = grid[2 * index], grid[2 * index + 1]
        values[0].set_ylabel(text)
        ratios[0].set_ylabel(RATIO)
        for value, ratio, group in zip(values, ratios, groups, strict=True):
            members = [family for family in shown if family.group == group]
            _panel(value, ratio, rows, members)
        style.limits(ratios[0], relative(rows), include=1)
        style.plain_log(values[0])
    for axes, group in zip(grid[0], groups, strict=True):
        axes.set_title(group)
    for axes in grid[-1]:
        style.sizes(axes, everything[Column.B])
        axes.set_xlabel("sketch size $b$")
    figure.align_ylabels(grid[:, 0])
    extra = [style.handle("exact", color=style.EXACT, linewidth=1.0)]
    if bound:
        extra.append(style.handle(bound, color=style.INK, linewidth=0.9, linestyle="--"))
    style.legend(figure, shown, extra)
    return figure


def relative(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a positive exact value, with means and intervals divided by it."""
    kept = rows[rows[Column.EXACT] > 0]
    return kept.assign(**{name: kept[name] / kept[Column.EXACT] for name in style.MEASURED})


def _panel(value: Axes, ratio: Axes, rows: pd.DataFrame, members: list[style.MethodStyle]) -> None:
    value.set_yscale("log")
    ratio.axhline(1, color=style.EXACT, linewidth=1.0)
    if not (rows[Column.METHOD].isin([f.method for f in members]) & (rows[Column.MEAN] > ZERO)).any():
        value.text(0.5, 0.5, "no error", transform=value.transAxes, ha="center", color=style.EXACT)
    for index, family in enumerate(members):
        series = family.rows(rows).sort_values(Column.B)
        single = "_" if series[Column.B].nunique() == 1 else None  # a line through one point is invisible
        line = series[series[Column.EXACT] > 0]
        value.plot(line[Column.B], line[Column.EXACT], color=style.EXACT, linewidth=1.0, marker=single, markersize=12)
        if series[Column.BOUND].notna().any():
            value.plot(
                series[Column.B],
                series[Column.BOUND],
                color=style.INK,
                linewidth=0.9,
                linestyle="--",
                marker=single,
                markersize=12,
            )
        positive = series[series[Column.MEAN] > ZERO]
        style.points(value, positive[Column.B], positive, family, size=_size(index), ring=7.8 / _size(index))
        beside = relative(positive)
        style.points(ratio, style.dodge(beside[Column.B], index, len(members)), beside, family, size=3.6)


def _size(index: int) -> float:
    """The size of the markers of a family: smaller with its index, so that all are visible where they coincide."""
    return max(6.0 - 1.2 * index, 3.0)

"""Panels over the sketch size: a column per group of families, two rows per case."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

ZERO = 1e-12  # means below it are due to rounding


def plot(cases: Mapping[str, pd.DataFrame], bound: str | None = None) -> Figure:
    """Measured values with lines through the exact ones, on logarithmic axes, and below the ratio of the two.

    `cases` has rows with `low`, `high`, `exact` and `bound`, by the label of their y axis; `bound` is the legend entry
    of the bound, None where rows have no bound.
    """
    everything = pd.concat(list(cases.values()))
    methods = style.methods(everything)
    groups = style.by_group(methods)
    width = min(style.WIDE, max(3.4, 0.9 + 1.25 * len(groups)))
    shape: dict[str, Any] = {"squeeze": False, "sharex": True, "sharey": "row", "height_ratios": [1.6, 1] * len(cases)}
    figure, grid = style.subplots(0.65 + 2.4 * len(cases), 2 * len(cases), len(groups), width=width, **shape)
    for (text, rows), values, ratios in zip(cases.items(), grid[::2], grid[1::2], strict=True):
        values[0].set_ylabel(text)
        ratios[0].set_ylabel("measured / exact")
        for value, ratio, members in zip(values, ratios, groups.values(), strict=True):
            _panel(value, ratio, rows, members, everything[Column.B])
        style.limits(ratios[0], relative(rows), include=1)
        values[0].margins(y=0.12)
        style.plain_log(values[0])
    for axes, last, group in zip(grid[0], grid[-1], groups, strict=True):
        axes.set_title(group)
        style.categories(last, everything[Column.B])
        last.set_xlabel("sketch size $b$")
    figure.align_ylabels(grid[:, 0])
    style.legend(figure, methods, {"exact": style.TRUE} | ({bound: style.BOUND} if bound else {}))
    return figure


def relative(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a positive exact value, with means and intervals divided by it."""
    rows = rows[rows[Column.EXACT] > 0]
    return rows.assign(**{name: rows[name] / rows[Column.EXACT] for name in style.MEASURED})


def _panel(value: Axes, ratio: Axes, rows: pd.DataFrame, members: list[style.MethodStyle], sizes: pd.Series) -> None:
    value.set_yscale("log")
    ratio.axhline(1, **style.TRUE)
    positive = rows[rows[Column.MEAN] > ZERO]
    if not positive[Column.METHOD].isin([method.method for method in members]).any():
        value.text(0.5, 0.5, "no error", transform=value.transAxes, ha="center", color=style.EXACT)
    for index, (method, series, _) in enumerate(style.series(rows, members, Column.B)):
        exact = series[series[Column.EXACT] > 0]
        style.stated(value, _column(exact, sizes), exact[Column.EXACT], **style.TRUE)
        if series[Column.BOUND].notna().any():
            style.stated(value, _column(series, sizes), series[Column.BOUND], **style.BOUND)
        above = series[series[Column.MEAN] > ZERO]
        size = max(6.0 - 1.2 * index, 3.0)  # smaller and smaller, so that all are visible where they coincide
        style.points(value, _column(above, sizes), above, method, size=size, ring=7.8 / size)
        beside = relative(above)
        x = style.places(beside[Column.B], sizes, index, len(members))
        style.points(ratio, x, beside, method, size=3.6)


def _column(rows: pd.DataFrame, sizes: pd.Series) -> pd.Series:
    """The columns of the rows on the axis of sizes."""
    return pd.Series(style.places(rows[Column.B], sizes, 0, 1), index=rows.index)

"""Moments over the sketch size: a column of panels for each group of families, two rows of panels for each case."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

ZERO = 1e-12  # means below it are due to rounding
CASES = {"gradient": "real gradients", "flat": "$g=h$ flat"}


def plot_second_moment(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot E(gᵀRᵀRh - gᵀh)² from study moments: the mean of `embedding_constant` divided by b, for a pair of real
    gradients and for g = h flat. The lower row of each case has the ratio to the exact value."""
    rows = style.at_largest(style.select(tables["moments"], quantity="embedding_constant"), Column.D)
    present = [case for case in CASES if (rows[Column.CASE] == case).any()]
    cases = present or sorted(rows[Column.CASE].unique())[:2]
    rows = style.with_intervals(style.without_constants(style.select(rows, case=cases)))
    for column in (*style.MEASURED, Column.EXACT):
        rows[column] /= rows[Column.B]
    rows[Column.BOUND] = float("nan")
    symbol = r"$\mathrm{E}\,(g^TR^TRh-g^Th)^2$"
    return _over_sizes({f"{symbol}\n{CASES.get(case, case)}": style.select(rows, case=case) for case in cases})


def plot_squared_norm(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot E‖RᵀRh‖² from study norms, for the worst vector h of norm 1 of each family and size, with the bound
    1 + a d/b. The intervals hold whichever vector is worst."""
    rows = style.select(style.at_largest(tables["norms"], Column.D), quantity="squared_norm")
    worst = style.with_intervals_of_worst(style.without_constants(rows), [Column.METHOD, Column.B])
    return _over_sizes({r"$\mathrm{E}\,\|R^TRh\|^2,\ \ \|h\|=1$": worst}, bound="bound $1+a\\,d/b$")


def relative(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a positive exact value; means and intervals are divided by it."""
    rows = rows[rows[Column.EXACT] > 0]
    return rows.assign(**{name: rows[name] / rows[Column.EXACT] for name in style.MEASURED})


def _over_sizes(cases: Mapping[str, pd.DataFrame], bound: str | None = None) -> Figure:
    """Plot measured values and lines through the exact values, on logarithmic axes, and below them their ratio.

    `cases` has rows with `low`, `high`, `exact` and `bound`, by the label of their y axis; `bound` is the legend entry
    of the bound, None if rows have no bound.
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
        size = max(6.0 - 1.2 * index, 3.0)  # smaller and smaller, so that coinciding markers are all visible
        style.points(value, _column(above, sizes), above, method, size=size, ring=7.8 / size)
        beside = relative(above)
        x = style.places(beside[Column.B], sizes, index, len(members))
        style.points(ratio, x, beside, method, size=3.6)


def _column(rows: pd.DataFrame, sizes: pd.Series) -> pd.Series:
    """The columns of the rows on the axis of sizes."""
    return pd.Series(style.places(rows[Column.B], sizes, 0, 1), index=rows.index)

"""Panels over the sketch size: a column per group of families, two rows per case."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

RATIO = "measured / exact"
ZERO = 1e-12  # means below it are rounding


def draw(cases: Mapping[str, pd.DataFrame], bound: str | None = None) -> Figure:
    """Measured values with exact lines on log-log axes, and the ratio of the two below.

    cases: the text of the y axis -> rows with low, high, exact and bound; bound: its legend entry.
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
        style.sizes(axes, everything["b"])
        axes.set_xlabel("sketch size $b$")
    figure.align_ylabels(grid[:, 0])
    extra = [style.handle("exact", color=style.EXACT, linewidth=1.0)]
    if bound:
        extra.append(style.handle(bound, color=style.INK, linewidth=0.9, linestyle="--"))
    style.legend(figure, shown, extra)
    return figure


def relative(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a positive exact value, everything measured divided by it."""
    kept = rows[rows["exact"] > 0]
    return kept.assign(**{name: kept[name] / kept["exact"] for name in ("mean", "low", "high")})


def _panel(value: Axes, ratio: Axes, rows: pd.DataFrame, members: list[style.Family]) -> None:
    value.set_yscale("log")
    ratio.axhline(1, color=style.EXACT, linewidth=1.0)
    if not (rows["method"].isin([f.method for f in members]) & (rows["mean"] > ZERO)).any():
        value.text(0.5, 0.5, "no error", transform=value.transAxes, ha="center", color=style.EXACT)
    for index, family in enumerate(members):
        own = rows[rows["method"] == family.method].sort_values("b")
        single = "_" if own["b"].nunique() == 1 else None  # a line through one point is invisible
        line = own[own["exact"] > 0]
        value.plot(line["b"], line["exact"], color=style.EXACT, linewidth=1.0, marker=single, markersize=12)
        if own["bound"].notna().any():
            value.plot(
                own["b"],
                own["bound"],
                color=style.INK,
                linewidth=0.9,
                linestyle="--",
                marker=single,
                markersize=12,
            )
        positive = own[own["mean"] > ZERO]
        style.points(value, positive["b"], positive, family, size=_size(index), ring=7.8 / _size(index))
        beside = relative(positive)
        style.points(ratio, style.dodge(beside["b"], index, len(members)), beside, family, size=3.6)


def _size(index: int) -> float:
    """Smaller and smaller markers, so that all are seen where the values coincide."""
    return max(6.0 - 1.2 * index, 3.0)

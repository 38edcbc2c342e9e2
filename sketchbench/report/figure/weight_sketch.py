"""The errors of sketched weights against the identities of zhang2021, and their growth in d."""

from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CASES = {"centred": style.COLOURS[0], "uncentred": style.COLOURS[3], "structured": style.COLOURS[2]}
IDENTITIES = {
    "update_error": "update error, Theorem 2",
    "product_error": "product error, Lemma 5",
    "plain_error": "plain error, Theorem 1",
    "cross_term": "cross term, Lemma 4",
}
MARKERS = "o^sDvP"


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study weight_sketch. Left, a panel per identity: what was measured over what the paper
    states (quantities update_error, product_error, plain_error, cross_term) over d. Right: the
    quantity relative_error over d, its exact value, and the d/s claimed, at the smallest s.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["weight_sketch"]
    if Column.READING in table:  # of CountSketch, the family's own exact values are the paper's
        table = table[table[Column.READING] != "family"]
    table = style.with_intervals(table)
    figure = style.new_figure(3.3)
    panels = figure.subplot_mosaic(
        [["update_error", "product_error", "growth"], ["plain_error", "cross_term", "growth"]],
        width_ratios=[1, 1, 1.35],
    )
    shown = style.families(table)
    for quantity, text in IDENTITIES.items():
        axes = panels[quantity]
        _identity(axes, table[table[Column.QUANTITY] == quantity], shown)
        axes.set_title(text)
    _growth(panels["growth"], table[table[Column.QUANTITY] == "relative_error"], shown)
    for axes in panels.values():
        axes.set_xlabel("input dimension $d$")
    style.legend(figure, [], _entries(shown))
    return figure


def _marks(index: int, case: str) -> style.MethodStyle:
    """The look of a family in one case: the colour stands for the case, and the marker for the family."""
    filled = index % 2 == 0
    return style.MethodStyle("", "", "", CASES[case], MARKERS[index // 2 % len(MARKERS)], filled)


def _identity(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    """What was measured over what the paper states; cases, families and sizes side by side."""
    cases = [case for case in CASES if (rows[Column.CASE] == case).any()]
    slots = [(case, i, b) for case in cases for i in range(len(shown)) for b in _sizes(rows)]
    for slot, (case, index, b) in enumerate(slots):
        series = rows[
            (rows[Column.CASE] == case) & (rows[Column.METHOD] == shown[index].method) & (rows[Column.B] == b)
        ]
        x = style.dodge(series[Column.D], slot, len(slots), decades=0.36)
        style.points(axes, x, series, _marks(index, case), size=3.0)
    if rows.empty:
        return
    stated = 0 if (rows[Column.QUANTITY] == "cross_term").all() else 1
    axes.axhline(stated, color=style.EXACT, linewidth=1.0, zorder=1)
    style.limits(axes, rows, include=stated)
    style.sizes(axes, rows[Column.D], margin=1.75)
    axes.set_ylabel("measured / stated" if stated else "measured / Theorem 2")


def _growth(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    if rows.empty:
        return
    size = _sizes(rows)[0]
    rows = rows[rows[Column.B] == size].sort_values(Column.D)
    claimed = rows.drop_duplicates(Column.D)
    single = "_" if len(claimed) == 1 else None  # a line through one point is invisible
    line: dict[str, Any] = {"linewidth": 0.9, "marker": single, "markersize": 12}
    axes.plot(claimed[Column.D], claimed[Column.BOUND], color=style.INK, linestyle="--", **line)
    for case in CASES:
        for index, family in enumerate(shown):
            series = rows[(rows[Column.CASE] == case) & (rows[Column.METHOD] == family.method)]
            axes.plot(series[Column.D], series[Column.EXACT], color=style.EXACT, **line)
            style.points(axes, series[Column.D], series, _marks(index, case), ring=1.6)
    axes.set_yscale("log")
    style.plain_log(axes)
    style.sizes(axes, rows[Column.D])
    axes.set_ylabel(r"$\mathrm{E}\,\|WSS^TV^T-WV^T\|^2\;/\;\|WV^T\|^2$")
    axes.set_title(f"relative error, $s={size}$")


def _sizes(rows: pd.DataFrame) -> list[int]:
    return sorted(rows[Column.B].unique())


def _entries(shown: list[style.MethodStyle]) -> list[Artist]:
    entries: list[Artist] = [style.handle(case, color=colour, linewidth=3) for case, colour in CASES.items()]
    for index, family in enumerate(shown):
        marker = {**_marks(index, "centred").marks(4.5), "color": style.INK}
        marker["markeredgecolor"] = style.INK
        if family.method and marker["markerfacecolor"] != "white":
            marker["markerfacecolor"] = style.INK
        entries.append(style.handle(family.label, linestyle="none", **marker))
    entries.append(style.handle("the paper's identity", color=style.EXACT, linewidth=1.0))
    entries.append(style.handle("$d/s$ as claimed", color=style.INK, linewidth=0.9, linestyle="--"))
    return entries

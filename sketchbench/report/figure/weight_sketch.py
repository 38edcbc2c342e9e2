"""The errors of sketched weights against the identities of zhang2021, and their growth in d."""

import itertools
from typing import Any

import pandas as pd
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


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot study weight_sketch. Left, a panel per identity: measured over stated values (quantities update_error,
    product_error, plain_error, cross_term) over d. Right: the quantity relative_error over d, its exact value, and the
    claimed d/s, at the smallest s."""
    table = tables["weight_sketch"]
    if Column.READING in table:  # of CountSketch, the family's own exact values are the paper's
        table = table[table[Column.READING] != "family"]
    table = style.with_intervals(table)
    methods = style.methods(table)
    figure = style.new_figure(3.3)
    layout: list[Any] = [["update_error", "product_error", "growth"], ["plain_error", "cross_term", "growth"]]
    panels = figure.subplot_mosaic(layout, width_ratios=[1, 1, 1.35])
    for quantity, text in IDENTITIES.items():
        _identity(panels[quantity], style.select(table, quantity=quantity), methods)
        panels[quantity].set_title(text)
    _growth(panels["growth"], style.select(table, quantity="relative_error"), methods)
    for axes in panels.values():
        axes.set_xlabel("input dimension $d$")
    style.legend(figure, [], _legend(methods))
    return figure


def _look(index: int, colour: Any) -> style.MethodStyle:
    """The look of a family in one case: the colour stands for the case, and the marker for the family."""
    return style.MethodStyle("", "", "", colour, MARKERS[index // 2 % len(MARKERS)], filled=index % 2 == 0)


def _identity(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    """Draw measured over stated values; cases, families and sizes side by side."""
    if rows.empty:
        return
    cases = [case for case in CASES if (rows[Column.CASE] == case).any()]
    slots = list(itertools.product(cases, enumerate(methods), sorted(rows[Column.B].unique())))
    for slot, (case, (index, method), b) in enumerate(slots):
        series = style.select(method.rows(rows), case=case, b=b)
        x = style.places(series[Column.D], rows[Column.D], slot, len(slots))
        style.points(axes, x, series, _look(index, CASES[case]), size=3.0)
    stated = 0 if (rows[Column.QUANTITY] == "cross_term").all() else 1
    axes.axhline(stated, zorder=1, **style.TRUE)
    style.limits(axes, rows, include=stated)
    style.categories(axes, rows[Column.D])
    axes.set_ylabel("measured / stated" if stated else "measured / Theorem 2")


def _growth(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    if rows.empty:
        return
    size = rows[Column.B].min()
    rows = style.select(rows, b=size).sort_values(Column.D)
    claimed = rows.drop_duplicates(Column.D)
    style.stated(axes, claimed[Column.D], claimed[Column.BOUND], **style.BOUND)
    for case, (index, method) in itertools.product(CASES, enumerate(methods)):
        series = style.select(method.rows(rows), case=case)
        style.stated(axes, series[Column.D], series[Column.EXACT], **style.TRUE | {"linewidth": 0.9})
        style.points(axes, series[Column.D], series, _look(index, CASES[case]), ring=1.6)
    style.plain_log(axes)
    style.size_ticks(axes, rows[Column.D])
    axes.set(ylabel=r"$\mathrm{E}\,\|WSS^TV^T-WV^T\|^2\;/\;\|WV^T\|^2$", title=f"relative error, $s={size}$")


def _legend(methods: list[style.MethodStyle]) -> dict[str, style.Line]:
    cases = {case: {"color": colour, "linewidth": 3} for case, colour in CASES.items()}
    looks = [{"linestyle": "none", **_look(index, style.INK).marks(4.5)} for index in range(len(methods))]
    families = dict(zip((method.label for method in methods), looks, strict=True))
    return cases | families | {"the paper's identity": style.TRUE, "$d/s$ as claimed": style.BOUND}

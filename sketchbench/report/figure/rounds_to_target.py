"""Rounds to a test accuracy, with and without sketches, beside those that the paper printed."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

UPPER = 0.96  # of the height: where targets that were not reached are marked
SHARES = (0.01, 0.1, 0.2, 0.5, 1)  # of the clients in a round


def draw(tables: dict[str, pd.DataFrame], printed: Mapping[str, Sequence[int]] | None = None) -> Figure:
    """From a study of the task `training`, over the share of clients in a round: the rounds to the target (quantity
    rounds_to_target) by case, and their ratio (quantity rounds_ratio). A point is the mean of all trainings, with a bar
    from the least to the largest; open markers are the numbers that the paper printed. A share at which some training
    did not reach the target has no point, but a cross at the upper edge.

    Arguments:
        tables: the table of that study.
        printed: the paper's rounds for each of SHARES, by case (plain, sketched); None where the data set is not the
            paper's, so that they say nothing of what was measured.
    """
    (table,) = tables.values()
    families = style.families(table)
    figure = style.new_figure(2.7)
    rounds, ratio = figure.subplots(1, 2)
    reached = table[table[Column.QUANTITY] == "rounds_to_target"]
    plain = reached[reached[Column.CASE] == "plain"]
    first = plain[plain[Column.METHOD] == plain[Column.METHOD].iloc[0]]  # the same for all
    _measured(rounds, first, {"color": style.EXACT, "marker": "o", "markersize": 4})
    for family in families:
        look = family.marks()
        series = reached[(reached[Column.CASE] == "sketched") & (reached[Column.METHOD] == family.method)]
        _measured(rounds, series, look)
        quotient = table[(table[Column.QUANTITY] == "rounds_ratio")]
        _measured(ratio, family.rows(quotient), look)
    if printed:
        _printed(rounds, printed["plain"], style.EXACT, "o")
        _printed(rounds, printed["sketched"], style.INK, "s")
        ratios = [sketched / plain for plain, sketched in zip(printed["plain"], printed["sketched"], strict=True)]
        _printed(ratio, ratios, style.INK, "s")
    ratio.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    for axes in (rounds, ratio):
        if printed:
            axes.set_yscale("log")
            style.plain_log(axes)
        else:  # few measured values, close together
            axes.set_ylim(bottom=0)
    rounds.set_ylabel("rounds to the target")
    ratio.set_ylabel("sketched / plain")
    for axes in (rounds, ratio):
        axes.set_xscale("log")
        axes.set_xticks(SHARES, [f"{100 * c:g} %" for c in SHARES])
        axes.set_xticks([], minor=True)
        axes.set_xlim(SHARES[0] / 1.4, SHARES[-1] * 1.4)
        axes.set_xlabel("clients in a round")
    looks = [("plain", style.EXACT, "o", style.EXACT)]
    if printed:
        looks += [("plain, as printed", style.EXACT, "o", "none"), ("sketched, as printed", style.INK, "s", "none")]
    unreached = table[Column.QUANTITY].isin(["rounds_to_target", "rounds_ratio"]) & table[Column.MEAN].isna()
    if unreached.any():
        looks.append(("not reached by all", style.INK, "x", style.INK))
    handles = [
        style.handle(label, color=colour, marker=marker, linestyle="none", markerfacecolor=face)
        for label, colour, marker, face in looks
    ]
    style.legend(figure, families, handles)
    return figure


def _measured(axes: Axes, rows: pd.DataFrame, look: dict[str, Any]) -> None:
    shares = rows.loc[rows[Column.MEAN].isna(), Column.PARTICIPATION]
    edge = axes.get_xaxis_transform()  # whose y goes from 0 to 1
    axes.plot(shares, [UPPER] * len(shares), "x", color=look["color"], transform=edge, markersize=6)
    rows = rows[rows[Column.MEAN].notna()].sort_values(Column.PARTICIPATION)
    spread = [rows[Column.MEAN] - rows[Column.MINIMUM], rows[Column.MAXIMUM] - rows[Column.MEAN]]
    axes.errorbar(rows[Column.PARTICIPATION], rows[Column.MEAN], spread, linewidth=0.8, **look)


def _printed(axes: Axes, values: Sequence[float], colour: object, marker: str) -> None:
    line: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 0.8}
    axes.plot(SHARES, values, marker=marker, markersize=5, markerfacecolor="none", **line)

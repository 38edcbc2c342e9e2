"""Rounds to a test accuracy, with and without sketches, beside the numbers that the paper prints."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

UPPER = 0.96  # of the height: where targets that were not reached are marked
SHARES = (0.01, 0.1, 0.2, 0.5, 1)  # of the clients in a round
PLAIN = {"color": style.EXACT, "marker": "o"}
SKETCHED = {"color": style.INK, "marker": "s"}


def plot(tables: dict[str, pd.DataFrame], printed: Mapping[str, Sequence[int]] | None = None) -> Figure:
    """From a study of the task `training`, over the share of clients in a round: the rounds to the target (quantity
    rounds_to_target) by case, and their ratio (quantity rounds_ratio). A point is the mean of all trainings, with a bar
    from the least to the largest; open markers are the numbers that the paper printed. A share at which some training
    did not reach the target has no point, but a cross at the upper edge.

    `printed` has the paper's rounds for each of SHARES, by case (plain, sketched); None where the data set is not the
    paper's, so that its numbers cannot be compared.
    """
    (table,) = tables.values()
    methods = style.methods(table)
    figure, (rounds, ratio) = style.subplots(2.7, 1, 2)
    rows = style.select(table, quantity=["rounds_to_target", "rounds_ratio"])
    reached = style.select(rows, quantity="rounds_to_target")
    plain = style.select(reached, case="plain")
    _measured(rounds, plain[plain[Column.METHOD] == plain[Column.METHOD].iloc[0]], PLAIN | {"markersize": 4})
    for method in methods:
        _measured(rounds, method.rows(style.select(reached, case="sketched")), method.marks())
        _measured(ratio, method.rows(style.select(rows, quantity="rounds_ratio")), method.marks())
    point = {"linestyle": "none", "markerfacecolor": "none"}
    lines: dict[str, style.Line] = {"plain": PLAIN | {"linestyle": "none"}}
    if printed:
        _printed(rounds, printed["plain"], PLAIN)
        _printed(rounds, printed["sketched"], SKETCHED)
        _printed(ratio, np.divide(printed["sketched"], printed["plain"]), SKETCHED)
        lines |= {"plain, as printed": PLAIN | point, "sketched, as printed": SKETCHED | point}
    if rows[Column.MEAN].isna().any():
        lines["target missed in some training"] = {"color": style.INK, "marker": "x", "linestyle": "none"}
    ratio.axhline(1, zorder=1, **style.BOUND)
    for axes, label in ((rounds, "rounds to the target"), (ratio, "sketched / plain")):
        if printed:
            style.plain_log(axes)
        else:  # few measured values, close together
            axes.set_ylim(bottom=0)
        axes.set_ylabel(label)
        style.participation_ticks(axes, SHARES, margin=1.4)
    style.legend(figure, methods, lines)
    return figure


def _measured(axes: Axes, rows: pd.DataFrame, look: style.Line) -> None:
    missed = rows[rows[Column.MEAN].isna()]
    edge = axes.get_xaxis_transform()  # whose y goes from 0 to 1
    cross = {"color": look["color"], "transform": edge, "markersize": 6}
    axes.plot(missed[Column.PARTICIPATION], [UPPER] * len(missed), "x", **cross)
    rows = style.with_range(rows[rows[Column.MEAN].notna()].sort_values(Column.PARTICIPATION))
    axes.errorbar(rows[Column.PARTICIPATION], rows[Column.MEAN], style.error_bars(rows), linewidth=0.8, **look)


def _printed(axes: Axes, values: ArrayLike, look: style.Line) -> None:
    line: style.Line = {"linestyle": ":", "linewidth": 0.8, "markersize": 5, "markerfacecolor": "none"}
    axes.plot(SHARES, values, **line, **look)

"""Rounds to a test accuracy, with and without sketches, beside the numbers that the paper prints."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.printed.agreement import DIFFERS, prediction_intervals
from sketchbench.report.printed.cells import PAPERS, join
from sketchbench.report.printed.transcription import FOLDER, PrintedCell, read_printed

UPPER = 0.96  # of the height: where targets that were not reached are marked
SHARES = (0.01, 0.1, 0.2, 0.5, 1)  # of the clients in a round
LOOKS: dict[str, style.Line] = {
    "plain": {"color": style.EXACT, "marker": "o"},
    "sketched": {"color": style.INK, "marker": "s"},
}
NAMES = {"federated_mlp": "MLP", "federated_cnn": "CNN"}
LINE = "differs from what was measured"
PRINTED: dict[str, style.Line] = {
    "as printed": {"color": style.INK, "markerfacecolor": "none", "marker": "o", "linestyle": "none"},
    LINE: {"color": style.INK, "linewidth": 0.8, "linestyle": ":"},
}
NO_VERDICTS = pd.DataFrame(columns=["claim"])  # none of these cells is judged by one


def plot_to_target(tables: dict[str, pd.DataFrame], printed: Mapping[str, Sequence[int]] | None = None) -> Figure:
    """Plot the rounds to the target by case, and their ratio (quantities rounds_to_target, rounds_ratio), over the
    share of clients in a round, from a study of the task `training`. A point is the mean of all trainings, with a bar
    from the least to the largest. Open markers are printed numbers. A cross at the upper edge marks a share at which
    some training missed the target.

    `printed` has the paper's rounds for each of SHARES, by case (plain, sketched); None if the data set is not the
    paper's, so that its numbers cannot be compared.
    """
    (table,) = tables.values()
    methods = style.methods(table)
    figure, (rounds, ratio) = style.subplots(2.7, 1, 2)
    rows = style.select(table, quantity=["rounds_to_target", "rounds_ratio"])
    reached = style.select(rows, quantity="rounds_to_target")
    plain = style.select(reached, case="plain")
    _means(rounds, plain[plain[Column.METHOD] == plain[Column.METHOD].iloc[0]], LOOKS["plain"] | {"markersize": 4})
    for method in methods:
        _means(rounds, method.rows(style.select(reached, case="sketched")), method.marks())
        _means(ratio, method.rows(style.select(rows, quantity="rounds_ratio")), method.marks())
    point = {"linestyle": "none", "markerfacecolor": "none"}
    lines: dict[str, style.Line] = {"plain": LOOKS["plain"] | {"linestyle": "none"}}
    if printed:
        for case, look in LOOKS.items():
            _dotted(rounds, printed[case], look)
            lines[f"{case}, as printed"] = look | point
        _dotted(ratio, np.divide(printed["sketched"], printed["plain"]), LOOKS["sketched"])
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


def _means(axes: Axes, rows: pd.DataFrame, look: style.Line) -> None:
    missed = rows[rows[Column.MEAN].isna()]
    edge = axes.get_xaxis_transform()  # whose y goes from 0 to 1
    cross = {"color": look["color"], "transform": edge, "markersize": 6}
    axes.plot(missed[Column.PARTICIPATION], [UPPER] * len(missed), "x", **cross)
    rows = style.with_range(rows[rows[Column.MEAN].notna()].sort_values(Column.PARTICIPATION))
    axes.errorbar(rows[Column.PARTICIPATION], rows[Column.MEAN], style.error_bars(rows), linewidth=0.8, **look)


def _dotted(axes: Axes, values: ArrayLike, look: style.Line) -> None:
    line: style.Line = {"linestyle": ":", "linewidth": 0.8, "markersize": 5, "markerfacecolor": "none"}
    axes.plot(SHARES, values, **line, **look)


def plot_printed(tables: dict[str, pd.DataFrame], cells: str | None = None) -> Figure:
    """Plot the rounds to the target over the share of clients in a round, by case, from studies of the task `training`,
    a panel for each study. Filled: the mean of all trainings, with the interval of one more training (see
    `printed.agreement`). Open: the printed numbers in `cells`, a file of conf/printed, with a line to the measured
    number if the two differ. `cells` is None if the study has another size than the paper.
    """
    printed = read_printed([FOLDER / f"{cells}.yaml"]) if cells else []
    figure, (panels,) = style.subplots(2.7, 1, len(tables), squeeze=False)
    for axes, (study, table) in zip(panels, tables.items(), strict=True):
        for case, look in LOOKS.items():
            _intervals(axes, _rounds(table, case), look)
        _cells(axes, [cell for cell in printed if cell.study == study], tables)
        axes.set_title(NAMES.get(study, study))
        style.plain_log(axes)
        style.participation_ticks(axes, SHARES, margin=1.5)
    panels[0].set_ylabel("rounds to the target")
    lines = {case: {**look, "linestyle": "none"} for case, look in LOOKS.items()}
    style.legend(figure, [], lines | (PRINTED if printed else {}))
    return figure


def _rounds(table: pd.DataFrame, case: str) -> pd.DataFrame:
    """The measured rounds of a case, with the sketch of the paper's listing, which comes first in the table."""
    rows = style.select(table, quantity="rounds_to_target", case=case, method=table[Column.METHOD].iloc[0])
    return rows[rows[Column.MEAN].notna()] if Column.MEAN in rows else rows.iloc[:0]


def _intervals(axes: Axes, rows: pd.DataFrame, look: style.Line) -> None:
    for row in rows.to_dict("records"):
        mean, trials, x = row[Column.MEAN], int(row[Column.TRIALS]), row[Column.PARTICIPATION]
        if trials > 1:
            low, high = prediction_intervals(mean, row[Column.SD], trials, draws=1, positive=True)[-1]
            axes.plot([x, x], [low, high], color=look["color"], linewidth=1.6)
        axes.plot(x, mean, linestyle="none", markersize=4, **look)


def _cells(axes: Axes, cells: list[PrintedCell], tables: dict[str, pd.DataFrame]) -> None:
    """Draw the printed numbers of a study, each with a line to the measured number if the two differ."""
    rows = join(cells, tables, NO_VERDICTS, PAPERS)
    for cell, row in zip(cells, rows.to_dict("records"), strict=True):
        look, x = LOOKS[cell.where[Column.CASE]], cell.where[Column.PARTICIPATION]
        axes.plot(x, cell.number, linestyle="none", markersize=5, markerfacecolor="none", **look)
        if row["agrees"] == DIFFERS:
            axes.plot([x, x], [row["measured"], cell.number], **PRINTED[LINE] | {"color": look["color"]})

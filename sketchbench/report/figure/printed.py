"""Rounds to a test accuracy as a paper prints them in a table, each beside what was measured."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.figure.rounds_to_target import SHARES
from sketchbench.report.printed.agreement import DIFFERS, another
from sketchbench.report.printed.cells import PAPERS, join
from sketchbench.report.printed.transcription import FOLDER, PrintedCell, read_printed

NAMES = {"federated_mlp": "MLP", "federated_cnn": "CNN"}
LOOKS = {"plain": ("o", style.EXACT, -1), "sketched": ("s", style.INK, 1)}
APART = 1.06  # between a printed number and what was measured, on the axis of shares
NO_VERDICTS = pd.DataFrame(columns=["claim"])  # none of these cells is judged by one


def draw(tables: dict[str, pd.DataFrame], cells: str | None = None) -> Figure:
    """From studies of the task `training`, a panel for each: the rounds to the target (quantity rounds_to_target) over
    the share of clients in a round, by case. Filled: the mean of all trainings, with a bar where one more would lie
    (see `printed.agreement`). Open: as printed, with a line to what was measured where the two differ.

    Arguments:
        tables: the tables of these studies.
        cells: the file of conf/printed that has the printed numbers; None where what was measured is of another size.
    """
    typed = read_printed([FOLDER / f"{cells}.yaml"]) if cells else []
    figure = style.new_figure(2.7)
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, (study, table) in zip(panels, tables.items(), strict=True):
        for case in LOOKS:
            _measured(axes, _rounds(table, case), case)
        _printed(axes, [cell for cell in typed if cell.study == study], tables)
        _frame(axes, NAMES.get(study, study))
    panels[0].set_ylabel("rounds to the target")
    handles = [style.handle(case, marker=LOOKS[case][0], color=LOOKS[case][1], linestyle="none") for case in LOOKS]
    if typed:
        as_printed = {"color": style.INK, "markerfacecolor": "none"}
        handles.append(style.handle("as printed", marker="o", linestyle="none", **as_printed))
        handles.append(style.handle("differs from what was measured", linewidth=0.8, **as_printed))
    style.legend(figure, [], handles)
    return figure


def _rounds(table: pd.DataFrame, case: str) -> pd.DataFrame:
    """The measured rounds of a case, with the sketch of the paper's listing, which comes first in the table."""
    rows = table[(table[Column.QUANTITY] == "rounds_to_target") & (table[Column.CASE] == case)]
    rows = rows[rows[Column.METHOD] == table[Column.METHOD].iloc[0]]
    return rows[rows[Column.MEAN].notna()] if Column.MEAN in rows else rows.iloc[:0]


def _measured(axes: Axes, rows: pd.DataFrame, case: str) -> None:
    marker, colour, side = LOOKS[case]
    for row in rows.to_dict("records"):
        mean, trials, x = row[Column.MEAN], int(row[Column.TRIALS]), row[Column.PARTICIPATION] * APART**side
        if trials > 1:
            low, high = another(mean, row[Column.SD], trials, draws=1, positive=True)[-1]
            axes.plot([x, x], [low, high], color=colour, linewidth=0.8)
        axes.plot(x, mean, marker, color=colour, markersize=4)


def _printed(axes: Axes, cells: list[PrintedCell], tables: dict[str, pd.DataFrame]) -> None:
    """The printed numbers of a study; they are not measured where the table has no row for them."""
    found = join(cells, tables, NO_VERDICTS, PAPERS)
    for cell, row in zip(cells, found.to_dict("records"), strict=True):
        marker, colour, side = LOOKS[cell.where[Column.CASE]]
        x = cell.where[Column.PARTICIPATION] * APART ** (2.5 * side)
        axes.plot(x, cell.number, marker, color=colour, markersize=5, markerfacecolor="none")
        if row["agrees"] == DIFFERS:
            near = cell.where[Column.PARTICIPATION] * APART**side
            axes.plot([near, x], [row["measured"], cell.number], color=colour, linewidth=0.8)


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title)
    axes.set_yscale("log")
    style.plain_log(axes)
    axes.set_xscale("log")
    axes.set_xticks(SHARES, [f"{100 * c:g} %" for c in SHARES])
    axes.set_xticks([], minor=True)
    axes.set_xlim(SHARES[0] / 1.5, SHARES[-1] * 1.5)
    axes.set_xlabel("clients in a round")

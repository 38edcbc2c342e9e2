"""Rounds to a test accuracy as a paper prints them in a table, each beside what was measured."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.figure.rounds_to_target import SHARES
from sketchbench.report.printed.agreement import DIFFERS, draw_intervals
from sketchbench.report.printed.cells import PAPERS, join
from sketchbench.report.printed.transcription import FOLDER, PrintedCell, read_printed

NAMES = {"federated_mlp": "MLP", "federated_cnn": "CNN"}
LOOKS = {"plain": ("o", style.EXACT), "sketched": ("s", style.INK)}
LEGEND: dict[str, style.Line] = {
    case: {"marker": marker, "color": colour, "linestyle": "none"} for case, (marker, colour) in LOOKS.items()
}
LINE = "differs from what was measured"
PRINTED: dict[str, style.Line] = {
    "as printed": {"color": style.INK, "markerfacecolor": "none", "marker": "o", "linestyle": "none"},
    LINE: {"color": style.INK, "linewidth": 0.8, "linestyle": ":"},
}
NO_VERDICTS = pd.DataFrame(columns=["claim"])  # none of these cells is judged by one


def plot(tables: dict[str, pd.DataFrame], cells: str | None = None) -> Figure:
    """From studies of the task `training`, a panel for each: the rounds to the target (quantity rounds_to_target) over
    the share of clients in a round, by case. Filled: the mean of all trainings, with a bar where one more would lie
    (see `printed.agreement`). Open: as printed in `cells`, a file of conf/printed, with a line to what was measured
    where the two differ; None where what was measured is of another size.
    """
    printed = read_printed([FOLDER / f"{cells}.yaml"]) if cells else []
    figure, (panels,) = style.subplots(2.7, 1, len(tables), squeeze=False)
    for axes, (study, table) in zip(panels, tables.items(), strict=True):
        for case in LOOKS:
            _measured(axes, _rounds(table, case), case)
        _printed(axes, [cell for cell in printed if cell.study == study], tables)
        axes.set_title(NAMES.get(study, study))
        style.plain_log(axes)
        style.participation_ticks(axes, SHARES, margin=1.5)
    panels[0].set_ylabel("rounds to the target")
    style.legend(figure, [], LEGEND | (PRINTED if printed else {}))
    return figure


def _rounds(table: pd.DataFrame, case: str) -> pd.DataFrame:
    """The measured rounds of a case, with the sketch of the paper's listing, which comes first in the table."""
    rows = style.select(table, quantity="rounds_to_target", case=case, method=table[Column.METHOD].iloc[0])
    return rows[rows[Column.MEAN].notna()] if Column.MEAN in rows else rows.iloc[:0]


def _measured(axes: Axes, rows: pd.DataFrame, case: str) -> None:
    marker, colour = LOOKS[case]
    for row in rows.to_dict("records"):
        mean, trials, x = row[Column.MEAN], int(row[Column.TRIALS]), row[Column.PARTICIPATION]
        if trials > 1:
            low, high = draw_intervals(mean, row[Column.SD], trials, draws=1, positive=True)[-1]
            axes.plot([x, x], [low, high], color=colour, linewidth=1.6)
        axes.plot(x, mean, marker, color=colour, markersize=4)


def _printed(axes: Axes, cells: list[PrintedCell], tables: dict[str, pd.DataFrame]) -> None:
    """Draw the printed numbers of a study, each with a line to what was measured where the two differ."""
    rows = join(cells, tables, NO_VERDICTS, PAPERS)
    for cell, row in zip(cells, rows.to_dict("records"), strict=True):
        marker, colour = LOOKS[cell.where[Column.CASE]]
        x = cell.where[Column.PARTICIPATION]
        axes.plot(x, cell.number, marker, color=colour, markersize=5, markerfacecolor="none")
        if row["agrees"] == DIFFERS:
            axes.plot([x, x], [row["measured"], cell.number], **PRINTED[LINE] | {"color": colour})

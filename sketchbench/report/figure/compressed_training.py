"""Figures 2 and 3 of tang2021, measured again: test accuracy of networks trained from compressed gradients."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PAPER_D = 668_426
STATED = {  # by study: workers, what the paper says, and its rounds
    "compressed_iid": (
        "iid workers",
        "paper: FIHT at 2 nearly as without;\nCountSketch diverges at 1.1 and 1.25",
        3_125,
    ),
    "compressed_noniid": (
        "one class to a worker",
        "paper: FIHT at 10 nearly as without;\nCountSketch diverges at small compression",
        5_000,
    ),
}
CASES = {
    "uncompressed": ("uncompressed", style.EXACT),
    "fiht": ("FIHT", style.RECOVERY_LOOKS["fiht"][1]),
    "count_sketch": ("CountSketch", style.RECOVERY_LOOKS["count_sketch"][1]),
}
FEW_POINTS = 10  # fewer are marked, so that they are seen as such
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))

Look = tuple[str, Any, Any]  # label, colour, line


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies compressed_iid and compressed_noniid: the quantity accuracy by algorithm and compression,
    over rounds and over what a client has sent. A cross marks the last round before some training diverged.

    All intervals of the figure hold at once, except with probability 1e-3; a single training has none.
    """
    rows = pd.concat([tables[study].assign(study=study) for study in STATED])
    rows = _with_ends(rows[rows[Column.QUANTITY] == "accuracy"])
    figure = style.new_figure(4.6)
    panels = figure.subplots(2, 2)
    looks = _looks(rows)
    for (over_rounds, over_bytes), study in zip(panels, STATED, strict=True):
        series = rows[rows["study"] == study]
        workers, statement, rounds = STATED[study]
        for (case, c), look in looks.items():
            run = series[(series[Column.CASE] == case) & (series[Column.COMPRESSION] == c)].sort_values(Column.ROUND)
            _curve(over_rounds, run, Column.ROUND, look)
            _curve(over_bytes, run, "sent", look)
        of = f" of the paper's {rounds:,}" if (series[Column.D] == PAPER_D).all() else ""
        over_rounds.set_title(f"{workers}, {int(series[Column.ROUND].max())} rounds{of}")
        over_bytes.set_title(statement)
        over_rounds.set_xlabel("round")
        over_bytes.set_xlabel("sent by a client that always takes part, MB")
        for axes in (over_rounds, over_bytes):
            axes.set_ylabel("test accuracy")
            axes.set_ylim(0, min(1.02, 1.25 * series[Column.MEAN].max()))  # few rounds stay far below 1
    handles = [style.handle(text, color=colour, linestyle=line, linewidth=1.2) for text, colour, line in looks.values()]
    if rows["last"].any():
        handles.append(style.handle("diverged", color=style.INK, marker="x", linestyle="none"))
    style.legend(figure, [], handles)
    return figure


def _with_ends(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that have a mean, with `low` and `high`, the megabytes `sent`, and whether a row is the `last` one
    before some training diverged."""
    diverged = rows.loc[rows[Column.STATUS] == "diverged", ["study", Column.CASE, Column.COMPRESSION]]
    diverging = set(diverged.itertuples(index=False, name=None))
    measured = style.with_intervals(rows)
    final = measured.groupby(["study", Column.CASE, Column.COMPRESSION])[Column.ROUND].transform("max")
    keys = measured[["study", Column.CASE, Column.COMPRESSION]].itertuples(index=False, name=None)
    last = np.array([key in diverging for key in keys]) & (measured[Column.ROUND] == final)
    return measured.assign(last=last, sent=measured[Column.BYTES_UP] / 1e6)


def _looks(rows: pd.DataFrame) -> dict[tuple[str, float], Look]:
    """Label, colour and line style of every algorithm and compression."""
    looks: dict[tuple[str, float], Look] = {}
    for case, (label, colour) in CASES.items():
        compressions = sorted(rows.loc[rows[Column.CASE] == case, Column.COMPRESSION].unique())
        for i, c in enumerate(compressions):
            text = label if case == "uncompressed" else f"{label}, {style.compression(c)}"
            looks[case, c] = (text, colour, LINES[i % len(LINES)])
    return looks


def _curve(axes: Axes, run: pd.DataFrame, over: str, look: Look) -> None:
    _, colour, line = look
    marks = {"marker": "."} if len(run) < FEW_POINTS else {}
    style.curve(axes, run[over], run, band=0.12, color=colour, linestyle=line, linewidth=1.2, **marks)
    ends = run[run["last"]]
    axes.plot(ends[over], ends[Column.MEAN], "x", color=colour, markersize=5)

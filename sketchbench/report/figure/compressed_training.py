"""Figures 2 and 3 of tang2021, measured again: test accuracy of networks trained from compressed gradients."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PAPER_D = 668_426
NEARLY = "paper: FIHT at %d nearly as without"
STATED = {  # by study: workers, what the paper says, and its rounds
    "compressed_iid": ("iid workers", f"{NEARLY % 2};\nCountSketch diverges at 1.1 and 1.25", 3_125),
    "compressed_noniid": ("one class to a worker", f"{NEARLY % 10};\nCountSketch diverges at small compression", 5_000),
}
CASES = {
    "uncompressed": ("uncompressed", style.EXACT),
    "fiht": ("FIHT", style.RECOVERY_LOOKS["fiht"][1]),
    "count_sketch": ("CountSketch", style.RECOVERY_LOOKS["count_sketch"][1]),
}
FEW_POINTS = 10  # fewer are marked, so that they are seen as such
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the accuracy by algorithm and compression from studies compressed_iid and compressed_noniid, over rounds and
    over the megabytes of a client. A cross marks the last round before some training diverged. A single training has no
    interval."""
    rows = pd.concat([tables[study].assign(study=study) for study in STATED])
    rows = _with_ends(style.select(rows, quantity="accuracy"))
    figure = style.new_figure(4.6)
    looks = _looks(rows)
    for panels, (study, (workers, statement, rounds)) in zip(figure.subplots(2, 2), STATED.items(), strict=True):
        series = rows[rows["study"] == study]
        of = f" of the paper's {rounds:,}" if (series[Column.D] == PAPER_D).all() else ""
        panels[0].set(title=f"{workers}, {int(series[Column.ROUND].max())} rounds{of}", xlabel="round")
        panels[1].set(title=statement, xlabel="sent by a client that always takes part, MB")
        for axes, over in zip(panels, (Column.ROUND, "sent"), strict=True):
            for (case, compression), (_, look) in looks.items():
                run = style.select(series, case=case, compression=compression).sort_values(Column.ROUND)
                marks = {"marker": "."} if len(run) < FEW_POINTS else {}
                style.curve(axes, run[over], run, band=0.12, **look, **marks)
                axes.plot(run[over][run["last"]], run[Column.MEAN][run["last"]], "x", color=look["color"], markersize=5)
            top = min(1.02, 1.25 * series[Column.MEAN].max())  # few rounds stay far below 1
            axes.set(ylabel="test accuracy", ylim=(0, top))
    diverged = {"diverged": {"color": style.INK, "marker": "x", "linestyle": "none"}} if rows["last"].any() else {}
    style.legend(figure, [], {**dict(looks.values()), **diverged})
    return figure


def _with_ends(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that have a mean, with `low` and `high`, the megabytes `sent`, and whether a row is the `last` one
    before some training diverged."""
    run = ["study", Column.CASE, Column.COMPRESSION]
    diverging = set(style.select(rows, status="diverged")[run].itertuples(index=False, name=None))
    rows = style.with_intervals(rows)
    diverged = np.array([key in diverging for key in rows[run].itertuples(index=False, name=None)])
    last = diverged & (rows[Column.ROUND] == rows.groupby(run)[Column.ROUND].transform("max"))
    return rows.assign(last=last, sent=rows[Column.BYTES_UP] / 1e6)


def _looks(rows: pd.DataFrame) -> dict[tuple[str, float], tuple[str, style.Line]]:
    """The label and the line of every algorithm and compression."""
    looks = {}
    for case, (label, colour) in CASES.items():
        compressions = sorted(style.select(rows, case=case)[Column.COMPRESSION].unique())
        for c, line in zip(compressions, itertools.cycle(LINES), strict=False):
            text = label if case == "uncompressed" else f"{label}, {style.compression(c)}"
            looks[case, c] = (text, {"color": colour, "linestyle": line, "linewidth": 1.2})
    return looks

"""Figures 2 and 3 of tang2021, measured again: test accuracy of networks trained from compressed gradients."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

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
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))

Look = tuple[str, Any, Any]  # label, colour, line


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies compressed_iid and compressed_noniid: the quantity accuracy by arm, over rounds and over what
    a client has sent. A cross marks the last round before some training diverged.

    All intervals of the figure hold at once, but with probability 1e-3; a single training has none.
    """
    rows = pd.concat([tables[study].assign(study=study) for study in STATED])
    rows = _with_intervals(rows[rows["quantity"] == "accuracy"])
    figure = style.new_figure(4.6)
    panels = figure.subplots(2, 2)
    looks = _looks(rows)
    for (over_rounds, over_bytes), study in zip(panels, STATED, strict=True):
        own = rows[rows["study"] == study]
        workers, statement, rounds = STATED[study]
        for (case, c), look in looks.items():
            run = own[(own["case"] == case) & (own["compression"] == c)].sort_values("round")
            _curve(over_rounds, run, "round", look)
            _curve(over_bytes, run, "sent", look)
        of = f" of the paper's {rounds:,}" if (own["d"] == PAPER_D).all() else ""
        over_rounds.set_title(f"{workers}, {int(own['round'].max())} rounds{of}")
        over_bytes.set_title(statement)
        over_rounds.set_xlabel("round")
        over_bytes.set_xlabel("sent by a client that always takes part, MB")
        for axes in (over_rounds, over_bytes):
            axes.set_ylabel("test accuracy")
            axes.set_ylim(0, 1.02)
    handles = [style.handle(text, color=colour, linestyle=line, linewidth=1.2) for text, colour, line in looks.values()]
    if rows["last"].any():
        handles.append(style.handle("diverged", color=style.INK, marker="x", linestyle="none"))
    style.legend(figure, [], handles)
    return figure


def _with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that have a mean, with `low` and `high` where there is a spread, and whether they are the `last`
    ones before a training diverged."""
    gone = rows.loc[rows["status"] == "diverged", ["study", "case", "compression"]]
    ended = set(gone.itertuples(index=False, name=None))
    several = style.with_intervals(rows[rows["trials"] > 1])
    single = rows[(rows["trials"] == 1) & rows["mean"].notna()]
    found = pd.concat([several, single.assign(low=single["mean"], high=single["mean"])])
    final = found.groupby(["study", "case", "compression"])["round"].transform("max")
    keys = found[["study", "case", "compression"]].itertuples(index=False, name=None)
    last = np.array([key in ended for key in keys]) & (found["round"] == final)
    return found.assign(last=last, sent=found["bytes_up"] / 1e6)


def _looks(rows: pd.DataFrame) -> dict[tuple[str, float], Look]:
    """Of every arm its label, its colour and its line, in the order of their compressions."""
    looks: dict[tuple[str, float], Look] = {}
    for case, (label, colour) in CASES.items():
        compressions = sorted(rows.loc[rows["case"] == case, "compression"].unique())
        for i, c in enumerate(compressions):
            text = label if case == "uncompressed" else f"{label}, {style.compression(c)}"
            looks[case, c] = (text, colour, LINES[i % len(LINES)])
    return looks


def _curve(axes: Axes, run: pd.DataFrame, over: str, look: Look) -> None:
    _, colour, line = look
    style.curve(axes, run[over], run, band=0.12, color=colour, linestyle=line, linewidth=1.2)
    ends = run[run["last"]]
    axes.plot(ends[over], ends["mean"], "x", color=colour, markersize=5)

"""Losses over rounds or bytes, by algorithm: what the figures of compressed training share."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from sketchbench.figure import style

LOOKS: Mapping[str, tuple[str, Any, str]] = {  # by case: label, colour, line
    "uncompressed": ("uncompressed", style.EXACT, "-"),
    "recovery": ("FIHT, feedback", style.RECOVERY_LOOKS["fiht"][1], "-"),
    "count_sketch": ("CountSketch, feedback", style.RECOVERY_LOOKS["count_sketch"][1], "-"),
    "desketch": ("$R^TR$, new each round", style.LOOKS["srht"][1], "-"),
}


def curves(axes: Axes, rows: pd.DataFrame, over: str) -> None:
    """Mean losses (rows with intervals) over a column, with their bands; a dotted line where one diverged."""
    for case, (_, colour, line) in LOOKS.items():
        own = rows[rows["case"] == case].sort_values("round")
        means = own[own["mean"].notna() & (own[over] > 0)]
        look = {"color": colour, "linestyle": line, "linewidth": 1.2}
        style.curve(axes, means[over], means, zorder=3, **look)
        for at in own.loc[own["status"] == "diverged", over]:
            axes.axvline(at, color=colour, linewidth=0.7, linestyle=":")


def handles(rows: pd.DataFrame) -> list[Any]:
    """Legend entries of the algorithms that are there."""
    cases = set(rows["case"].dropna())
    entries = [
        style.handle(label, color=colour, linestyle=line, linewidth=1.2)
        for case, (label, colour, line) in LOOKS.items()
        if case in cases
    ]
    if (rows["status"] == "diverged").any():
        entries.append(style.handle("diverged", color=style.INK, linewidth=0.7, linestyle=":"))
    return entries


def with_bands(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the quantity loss with simultaneous intervals; diverged ones keep their place."""
    rows = table[table["quantity"] == "loss"]
    return pd.concat([style.with_intervals(rows), rows[rows["mean"].isna()]])

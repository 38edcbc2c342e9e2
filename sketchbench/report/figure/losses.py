"""Losses over rounds or bytes, by algorithm, as several figures of compressed training show them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LOOKS: Mapping[str, tuple[str, Any, str]] = {  # by case: label, colour, line
    "uncompressed": ("uncompressed", style.EXACT, "-"),
    "recovery": ("FIHT, feedback", style.RECOVERY_LOOKS["fiht"][1], "-"),
    "count_sketch": ("CountSketch, feedback", style.RECOVERY_LOOKS["count_sketch"][1], "-"),
    "desketch": ("$R^TR$, new each round", style.LOOKS["srht"][1], "-"),
}


def curves(axes: Axes, rows: pd.DataFrame, over: str) -> None:
    """Draw mean losses over a column, with their intervals as bands, and a dotted line where an algorithm diverged."""
    for case, (_, colour, line) in LOOKS.items():
        series = rows[rows[Column.CASE] == case].sort_values(Column.ROUND)
        means = series[series[Column.MEAN].notna() & (series[over] > 0)]
        look = {"color": colour, "linestyle": line, "linewidth": 1.2}
        style.curve(axes, means[over], means, zorder=3, **look)
        for at in series.loc[series[Column.STATUS] == "diverged", over]:
            axes.axvline(at, color=colour, linewidth=0.7, linestyle=":")


def handles(rows: pd.DataFrame) -> list[Any]:
    """Legend entries of the algorithms that these rows are about."""
    cases = set(rows[Column.CASE].dropna())
    entries = [
        style.handle(label, color=colour, linestyle=line, linewidth=1.2)
        for case, (label, colour, line) in LOOKS.items()
        if case in cases
    ]
    if (rows[Column.STATUS] == "diverged").any():
        entries.append(style.handle("diverged", color=style.INK, linewidth=0.7, linestyle=":"))
    return entries


def with_bands(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the quantity loss: those with a mean with simultaneous intervals, then those that diverged."""
    rows = table[table[Column.QUANTITY] == "loss"]
    return pd.concat([style.with_intervals(rows), rows[rows[Column.MEAN].isna()]])

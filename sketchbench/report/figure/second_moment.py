"""The mean squared error of an inner product, over the sketch size."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import by_size, style

CASES = {"gradient": "real gradients", "flat": "$g=h$ flat"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study moments: E(gᵀRᵀRh - gᵀh)², which is the mean of `embedding_constant` over b, for a
    pair of real gradients and for g = h flat; below, as a ratio to the exact value.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["moments"]
    rows = table[table[Column.QUANTITY] == "embedding_constant"]
    rows = rows[rows[Column.D] == rows[Column.D].max()]
    present = [case for case in CASES if (rows[Column.CASE] == case).any()]
    chosen = present or sorted(rows[Column.CASE].unique())[:2]
    rows = style.with_intervals(style.without_constants(rows[rows[Column.CASE].isin(chosen)]))
    for column in (*style.MEASURED, Column.EXACT):
        rows[column] /= rows[Column.B]
    rows[Column.BOUND] = float("nan")
    symbol = r"$\mathrm{E}\,(g^TR^TRh-g^Th)^2$"
    return by_size.draw({f"{symbol}\n{CASES.get(case, case)}": rows[rows[Column.CASE] == case] for case in chosen})

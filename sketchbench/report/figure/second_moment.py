"""The mean squared error of an inner product, over the sketch size."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import by_size, style

CASES = {"gradient": "real gradients", "flat": "$g=h$ flat"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study moments: E(gᵀRᵀRh - gᵀh)², which is the mean of `embedding_constant` over b, for a pair of real
    gradients and for g = h flat; below, as a ratio to the exact value."""
    rows = style.at_largest(style.select(tables["moments"], quantity="embedding_constant"), Column.D)
    present = [case for case in CASES if (rows[Column.CASE] == case).any()]
    cases = present or sorted(rows[Column.CASE].unique())[:2]
    rows = style.with_intervals(style.without_constants(style.select(rows, case=cases)))
    for column in (*style.MEASURED, Column.EXACT):
        rows[column] /= rows[Column.B]
    rows[Column.BOUND] = float("nan")
    symbol = r"$\mathrm{E}\,(g^TR^TRh-g^Th)^2$"
    return by_size.plot({f"{symbol}\n{CASES.get(case, case)}": style.select(rows, case=case) for case in cases})

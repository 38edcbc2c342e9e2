"""The mean squared error of an inner product, over the sketch size."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.figure import by_size, style

CASES = {"gradient": "real gradients", "flat": "$g=h$ flat"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study moments: E(gᵀRᵀRh - gᵀh)², which is the mean of `embedding_constant` over b, for a
    pair of real gradients and for g = h flat; below, as a ratio to the exact value.

    All intervals of the figure hold at once, but with probability 1e-3.
    """
    table = tables["moments"]
    rows = table[table["quantity"] == "embedding_constant"]
    rows = rows[rows["d"] == rows["d"].max()]
    present = [case for case in CASES if (rows["case"] == case).any()]
    chosen = present or sorted(rows["case"].unique())[:2]
    rows = style.with_intervals(style.without_constants(rows[rows["case"].isin(chosen)]))
    for column in ("mean", "low", "high", "exact"):
        rows[column] /= rows["b"]
    rows["bound"] = float("nan")
    symbol = r"$\mathrm{E}\,(g^TR^TRh-g^Th)^2$"
    return by_size.draw({f"{symbol}\n{CASES.get(case, case)}": rows[rows["case"] == case] for case in chosen})

"""The share of victims whose image is visible, over the rounds that an attacker sees."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

TICKS = (1, 2, 4, 16, 64)
PLACES = {
    "server": "one client's\nmessages",
    "sum": "sums of ten\nclients' messages",
    "eavesdropper": "one client's messages,\nwithout the key",
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study frontier_leakage: the quantity visible, as a share of the trials, over the rounds; a panel for each
    place and budget. A line that ends below 1/2 is censored: the median image was not visible in the rounds tried."""
    rows = style.select(tables["frontier_leakage"], quantity="visible")
    rows = rows[rows[Column.COMPRESSION] > 1]
    methods = style.methods(rows, looks=style.COMPRESSOR_LOOKS)
    budgets = sorted(rows[Column.COMPRESSION].unique())
    figure, grid = style.subplots(5.4, len(PLACES), max(1, len(budgets)), sharex=True, sharey=True, squeeze=False)
    for (place, words), line in zip(PLACES.items(), grid, strict=True):
        for budget, axes in zip(budgets, line, strict=True):
            panel = style.select(rows, case=place, compression=budget)
            for method in methods:
                own = method.rows(panel).sort_values(Column.ROUND)
                axes.plot(own[Column.ROUND], own[Column.COUNT] / own[Column.TRIALS], linewidth=0.7, **method.marks(3.5))
            axes.axhline(0.5, zorder=1, **style.BOUND)
            axes.set(xscale="log", ylim=(-0.04, 1.04))
            axes.label_outer()
        line[0].set_ylabel(f"share visible; seen:\n{words}")
    for budget, axes in zip(budgets, grid[0], strict=True):
        axes.set_title(f"1/{budget:g} of the bytes", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("rounds")
    for axes in grid.flat:
        axes.set_xticks(TICKS, [f"{tick}" for tick in TICKS])
        axes.set_xticks([], minor=True)
    style.legend(figure, methods, {"half of the victims": style.BOUND})
    return figure

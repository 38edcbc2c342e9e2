"""Compressors at equal bytes: accuracy against what leaks."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

TICKS = (0, 5, 10, 30, 100)  # dB
CELL: list[str] = [Column.METHOD, Column.COMPRESSION]
VIEWS = (("server", "one client's message"), ("sum", "the sum of all messages"))


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From the studies frontier and frontier_leakage, for each budget: the accuracy with iid clients over the lead of
    the best attack on one message over the class mean in dB; above from one client's message, below from the sum of
    all. The axis of leads is linear up to 10 dB, and logarithmic beyond."""
    trained, leaked = tables["frontier"], tables["frontier_leakage"]
    trained = trained[trained[Column.EPSILON].isna()] if Column.EPSILON in trained else trained
    accurate = style.select(trained[trained[Column.MEAN].notna()], quantity="accuracy", case="iid")
    leads = style.with_intervals(style.select(leaked, quantity="lead", round=1))
    accuracies = accurate[[*CELL, Column.LABEL, Column.MEAN]].rename(columns={Column.MEAN.value: "accuracy"})
    both = accuracies.merge(leads[[*CELL, Column.CASE, *style.MEASURED]], on=CELL)
    methods = style.methods(both, looks=style.COMPRESSOR_LOOKS)
    budgets = sorted(both[Column.COMPRESSION].unique())
    figure, grid = style.subplots(3.8, 2, max(1, len(budgets)), sharex=True, sharey=True, squeeze=False)
    for (view, words), line in zip(VIEWS, grid, strict=True):
        for budget, axes in zip(budgets, line, strict=False):
            _panel(axes, style.select(both, case=view, compression=budget), methods)
            axes.set_title("all bytes" if budget == 1 else f"1/{budget:g} of the bytes", fontsize=8)
            axes.set_xscale("symlog", linthresh=10)
            axes.set_xticks(TICKS, [f"{tick}" for tick in TICKS])
            axes.set_xticks([], minor=True)
            axes.set_xlim(-5, 200)
            axes.label_outer()
        line[0].set_ylabel(f"accuracy; seen:\n{words}")
    for axes in grid[1]:
        axes.set_xlabel("lead of attack, dB")
    style.legend(figure, methods)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    axes.axvline(0, color=style.INK, linewidth=0.7, linestyle=":", zorder=1)
    for method in methods:
        own = method.rows(rows)
        for place in range(len(own)):
            row = own.iloc[[place]]
            lead, accuracy, bars = row[Column.MEAN], row["accuracy"], style.error_bars(row)
            axes.errorbar(lead, accuracy, xerr=bars, fmt="none", ecolor=method.colour, elinewidth=0.6)
            axes.plot(lead, accuracy, linestyle="none", zorder=4, **method.marks(4.5))

"""Iterative sketching: what each theorem bounds, relative to its bound, over the rounds."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PANELS = {
    ("convergence", "E.1"): "E.1: strongly convex\n$K=1$",
    ("convergence_flat", "E.2"): "E.2: convex\n$K=1$",
    ("convergence_saturating", "E.3"): "E.3: not convex\n$K=1$",
    ("convergence_local", "F.9"): "F.9: strongly convex\n$K>1$",
    ("convergence_local_flat", "F.7"): "F.7: convex\n$K>1$",
    ("convergence_saturating_local", "G.2-corrected"): "G.2, corrected:\nnot convex, $K>1$",
}
LOWEST = 1e-5  # of the bound; curves end below it


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From the studies of `PANELS`: a row of panels for each theorem and a column for each group of families, with the
    mean of what the theorem bounds divided by its bound, over the rounds. The families of a panel have their markers at
    different rounds, so that each is seen where they coincide.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    whole = pd.concat([table.assign(study=name) for name, table in tables.items()])
    drawn = style.with_intervals(whole)
    shown = style.families(drawn)
    groups = [group for group in style.GROUPS if any(family.group == group for family in shown)]
    figure = style.new_figure(7.6)
    grid = figure.subplots(len(PANELS), len(groups), squeeze=False, sharex=True, sharey="row")
    for panels, ((study, case), title) in zip(grid, PANELS.items(), strict=True):
        rows = drawn[(drawn["study"] == study) & (drawn[Column.CASE] == case)]
        for axes, group in zip(panels, groups, strict=True):
            _panel(axes, rows, [family for family in shown if family.group == group])
        panels[0].set_ylabel(title)
    for axes, group in zip(grid[0], groups, strict=True):
        axes.set_title(group)
    for axes in grid[-1]:
        axes.set_xlabel("round")
    figure.align_ylabels(grid[:, 0])
    limit = style.handle("the bound: measured / bound = 1", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, shown, [limit])
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, members: list[style.MethodStyle]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    for index, family in enumerate(members):
        series = family.rows(rows).sort_values(Column.ROUND)
        series = series[series[Column.MEAN] > LOWEST * series[Column.BOUND]]
        if series.empty:
            continue
        share, low, high = (series[name] / series[Column.BOUND] for name in style.MEASURED)
        every = (index, len(members)) if len(series) >= len(members) else None
        axes.plot(series[Column.ROUND], share, linewidth=0.8, zorder=3, markevery=every, **family.marks(4))
        band = low.clip(lower=LOWEST)
        axes.fill_between(series[Column.ROUND], band, high, color=family.colour, alpha=0.15, linewidth=0)

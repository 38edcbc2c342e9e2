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


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From the studies of `PANELS`: a row of panels for each theorem and a column for each group of families, with the
    mean of what the theorem bounds divided by its bound, over the rounds. The families of a panel have their markers at
    different rounds, so that each is seen where they coincide."""
    whole = pd.concat([table.assign(study=name) for name, table in tables.items()])
    rows = style.with_intervals(whole)
    methods = style.methods(rows)
    groups = style.by_group(methods)
    figure, grid = style.subplots(7.6, len(PANELS), len(groups), squeeze=False, sharex=True, sharey="row")
    for panels, ((study, case), title) in zip(grid, PANELS.items(), strict=True):
        for axes, members in zip(panels, groups.values(), strict=True):
            _panel(axes, style.select(rows, study=study, case=case), members)
        panels[0].set_ylabel(title)
    for first, last, group in zip(grid[0], grid[-1], groups, strict=True):
        first.set_title(group)
        last.set_xlabel("round")
    figure.align_ylabels(grid[:, 0])
    style.legend(figure, methods, {"the bound: measured / bound = 1": style.BOUND})
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, members: list[style.MethodStyle]) -> None:
    axes.set(xscale="log", yscale="log")
    axes.axhline(1, zorder=1, **style.BOUND)
    above = rows[rows[Column.MEAN] > LOWEST * rows[Column.BOUND]]
    for index, (method, series, x) in enumerate(style.series(above, members, Column.ROUND)):
        if series.empty:
            continue
        share, low, high = (series[name] / series[Column.BOUND] for name in style.MEASURED)
        every = (index, len(members)) if len(series) >= len(members) else None
        axes.plot(x, share, linewidth=0.8, zorder=3, markevery=every, **method.marks(4))
        axes.fill_between(x, low.clip(lower=LOWEST), high, color=method.colour, alpha=0.15, linewidth=0)

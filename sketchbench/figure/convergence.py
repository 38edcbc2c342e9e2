"""Iterative sketching: what each theorem bounds, relative to its bound, over the rounds."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style
from sketchbench.measure.row import Column

PANELS = {
    ("convergence", "E.1"): "E.1: strongly convex, K = 1",
    ("convergence_flat", "E.2"): "E.2: convex, K = 1",
    ("convergence_saturating", "E.3"): "E.3: not convex, K = 1",
    ("convergence", "F.9"): "F.9: strongly convex, K > 1",
    ("convergence_flat", "F.7"): "F.7: convex, K > 1",
    ("convergence_saturating", "G.2-corrected"): "G.2, corrected: not convex, K > 1",
}
LOWEST = 1e-8  # below it there is mostly rounding


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies convergence, convergence_flat and convergence_saturating: a panel for each theorem, with
    the mean of what it bounds divided by its bound, over the rounds.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    whole = pd.concat([table.assign(study=name) for name, table in tables.items()])
    drawn = style.with_intervals(whole)
    shown = style.families(drawn)
    figure = style.new_figure(4.4)
    grid = figure.subplots(2, 3, squeeze=False)
    for axes, ((study, case), title) in zip(grid.flat, PANELS.items(), strict=True):
        _panel(axes, drawn[(drawn["study"] == study) & (drawn[Column.CASE] == case)], shown)
        axes.set_title(title)
    for axes in grid[1]:
        axes.set_xlabel("round")
    for axes in grid[:, 0]:
        axes.set_ylabel("measured / bound")
    limit = style.handle("the bound", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, shown, [limit])
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    lowest = 1.0
    for family in shown:
        series = rows[(rows[Column.METHOD] == family.method) & (rows[Column.MEAN] > 0)].sort_values(Column.ROUND)
        series = series[series[Column.MEAN] > LOWEST * series[Column.BOUND]]
        if series.empty:
            continue
        share, low, high = (series[name] / series[Column.BOUND] for name in style.MEASURED)
        axes.plot(series[Column.ROUND], share, linewidth=0.8, zorder=3, **family.marks(2.6))
        band = low.clip(lower=LOWEST)
        axes.fill_between(series[Column.ROUND], band, high, color=family.colour, alpha=0.15, linewidth=0)
        lowest = min(lowest, float(share.min()))
    axes.set_ylim(lowest / 2, 3)

"""The embedding constant over the dimension: uniform sampling against all others."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study growth: per family and dimension the largest mean of b (gᵀRᵀRh - gᵀh)² over pairs
    and sizes, and the exact value of that pair. Left, all families and the line a = d; right, those
    that stay small, enlarged.

    All intervals of the figure hold at once, but with probability 1e-3, whichever pair was worst.
    """
    table = tables["growth"]
    rows = style.without_constants(table[table["quantity"] == "embedding_constant"])
    drawn = style.with_intervals(style.worst(rows, ["method", "d"]), candidates=len(rows))
    shown = style.families(drawn)
    largest = drawn.groupby("method")["mean"].max()
    small = [f for f in shown if largest[f.method] <= 3 * drawn["mean"].median()]
    figure = style.new_figure(2.5)
    panels = figure.subplots(1, 2 if small else 1, squeeze=False)[0]
    _all(panels[0], drawn, shown)
    lines = [
        style.handle("exact", color=style.EXACT, linewidth=1.0),
        style.handle("$a=d$", color=style.INK, linewidth=0.9, linestyle="--"),
    ]
    if small:
        _enlarged(panels[1], drawn, small)
    style.legend(figure, shown, lines)
    return figure


def _all(axes: Axes, drawn: pd.DataFrame, shown: list[style.Family]) -> None:
    dimensions = np.array(sorted(drawn["d"].unique()))
    axes.set_yscale("log")
    style.sizes(axes, dimensions)
    ends = np.array(axes.get_xlim())
    axes.plot(ends, ends, color=style.INK, linewidth=0.9, linestyle="--")
    axes.set_xlim(*ends)
    for family in shown:
        own = drawn[(drawn["method"] == family.method) & (drawn["mean"] > 0)].sort_values("d")
        axes.plot(own["d"], own["exact"], color=style.EXACT, linewidth=1.0, zorder=2)
        style.points(axes, own["d"], own, family)
    lowest = float(drawn["mean"].where(drawn["mean"] > 0).min())
    axes.set_ylim(min(1.0, lowest / 1.2), 1.6 * float(dimensions.max()))
    axes.set_xlabel("dimension $d$")
    axes.set_ylabel("embedding constant $a$ (worst pair)")
    axes.set_title("all families")


def _enlarged(axes: Axes, drawn: pd.DataFrame, small: list[style.Family]) -> None:
    """Families side by side, on a linear scale."""
    rows = drawn[drawn["method"].isin([family.method for family in small])]
    for index, family in enumerate(small):
        own = rows[rows["method"] == family.method].sort_values("d")
        axes.plot(own["d"], own["exact"], color=style.EXACT, linewidth=1.0, zorder=2)
        x = style.dodge(own["d"], index, len(small), decades=0.36)
        style.points(axes, x, own, family, size=3.4)
    style.sizes(axes, rows["d"], margin=1.75)
    style.limits(axes, rows, include=float(rows["mean"].median()))
    axes.set_xlabel("dimension $d$")
    axes.set_title("enlarged: the families that stay small" if len(rows) < len(drawn) else "linear")

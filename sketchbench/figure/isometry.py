"""How far sketches are from isometries on sparse vectors, over the sketch size."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

PROPOSITION = ("srht", "srht_replacement", "srct")  # rows of an orthogonal matrix
THICK, THIN = 1.5, 0.5
GUIDE: dict[str, Any] = {"color": style.INK, "linewidth": 0.9, "linestyle": "--"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study isometry, over b: the mean isometry constant of random supports (quantity isometry)
    with the guide 1/√b; right, the same times √b, for the families where it stays small.

    All intervals of the figure hold at once, but with probability 1e-3.
    """
    table = tables["isometry"]
    rows = table[(table["quantity"] == "isometry") & (table["d"] == table["d"].max())]
    drawn = style.with_intervals(rows)
    shown = style.families(drawn)
    scaled = _times_root(drawn)
    largest = scaled.groupby("method")["mean"].max()
    small = [f for f in shown if largest[f.method] <= 3 * scaled["mean"].median()]
    height = _height(scaled)
    figure = style.new_figure(2.7)
    panels = figure.subplots(1, 2 if small else 1, squeeze=False)[0]
    _all(panels[0], drawn, shown, height)
    if small:
        _enlarged(panels[1], scaled, small, height)
    for axes in panels:
        axes.set_xlabel("sketch size $b$")
    lines = [style.handle(r"guide $\propto 1/\sqrt{b}$", **GUIDE)]
    if any(family.method in PROPOSITION for family in shown):
        lines.append(style.handle("thick: Proposition 1", color=style.EXACT, linewidth=THICK))
    style.legend(figure, shown, lines)
    return figure


def _times_root(drawn: pd.DataFrame) -> pd.DataFrame:
    root = np.sqrt(drawn["b"])
    return drawn.assign(**{name: drawn[name] * root for name in ("mean", "low", "high")})


def _height(scaled: pd.DataFrame) -> float:
    """Of the guide: it starts among the proposition's families, if any, at the smallest size."""
    first = scaled[scaled["b"] == scaled["b"].min()]
    meant = first[first["method"].isin(PROPOSITION)]
    return float((first if meant.empty else meant)["mean"].median())


def _width(family: style.Family) -> float:
    """Thin where the proposition says nothing."""
    return THICK if family.method in PROPOSITION else THIN


def _size(family: style.Family) -> float:
    return 4.6 if family.method in PROPOSITION else 3.0


def _all(axes: Axes, drawn: pd.DataFrame, shown: list[style.Family], height: float) -> None:
    axes.set_yscale("log")
    for family in shown:
        own = drawn[(drawn["method"] == family.method) & (drawn["mean"] > 0)].sort_values("b")
        style.joined(axes, own["b"], own, family, size=_size(family), width=_width(family))
    style.sizes(axes, drawn["b"])
    ends = np.array(axes.get_xlim())
    axes.plot(ends, height / np.sqrt(ends), zorder=6, **GUIDE)
    axes.set_xlim(*ends)
    style.plain_log(axes)
    axes.set_ylabel(r"mean isometry constant $\delta_S$")
    axes.set_title("all families")


def _enlarged(axes: Axes, scaled: pd.DataFrame, small: list[style.Family], height: float) -> None:
    """Families side by side, on a linear scale."""
    rows = scaled[scaled["method"].isin([family.method for family in small])]
    axes.axhline(height, zorder=1, **GUIDE)
    for index, family in enumerate(small):
        own = rows[rows["method"] == family.method].sort_values("b")
        x = style.dodge(own["b"], index, len(small), decades=0.2)
        style.joined(axes, x, own, family, size=_size(family), width=_width(family))
    style.sizes(axes, rows["b"], margin=1.6)
    style.limits(axes, rows, include=height)
    axes.set_ylabel(r"$\sqrt{b}\,\delta_S$")
    axes.set_title(r"times $\sqrt{b}$" + (", where small" if len(rows) < len(scaled) else ""))

"""The largest inner product of two columns, against the scaling that the lemmas claim."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LEGEND = {
    "slope 1: the lemmas' scaling as printed": style.BOUND,
    "slope 2: first order for Gaussian products": style.BOUND | {"linestyle": ":"},
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the mean over draws of M = max over i ≠ j of |⟨R_i, R_j⟩| (quantity largest), a point per family and size:
    over √(ln d / b) from study inner_products, and over √(ln d / s) from inner_products_sparse. Lines join equal b or
    s."""
    studies = ("inner_products", "inner_products_sparse")
    dense, sparse = (style.select(tables[study], quantity="largest") for study in studies)
    count = len(dense) + len(sparse)
    methods = style.methods(dense, sparse)
    figure, (left, right) = style.subplots(2.6, 1, 2, sharey=True)
    _panel(left, style.with_intervals(dense, candidates=count), Column.B)
    _panel(right, style.with_intervals(sparse, candidates=count), Column.S)
    sizes = ", ".join(map(str, sorted(sparse[Column.B].unique())))
    words = "$s$ nonzeros a column" + (f", $b={sizes}$" if sizes else "")
    left.set_ylabel(r"mean of $M=\max_{i\neq j}\,|\langle R_i,R_j\rangle|$")
    left.set_title(r"printed scaling $\sqrt{\ln d\,/\,b}$")
    right.set_title(rf"printed scaling $\sqrt{{\ln d\,/\,s}}$, {words}")
    left.set_ylim(0, 1.1 * max([*dense[Column.MEAN], *sparse[Column.MEAN]], default=1))
    style.legend(figure, methods, LEGEND)
    return figure


def _panel(axes: Axes, rows: pd.DataFrame, size: str) -> None:
    """Draw the points of one table over √(ln d / size), and the lines."""
    rows = rows.assign(x=np.sqrt(np.log(rows[Column.D]) / rows[size]))
    reach = 1.12 * float(rows["x"].max()) if len(rows) else 1.0
    for slope, line in zip((1.0, 2.0), LEGEND.values(), strict=True):
        axes.plot([0, reach], [0, slope * reach], **line)
    for index, (method, members, _) in enumerate(style.series(rows, style.methods(rows), "x")):
        marker = max(5.6 - 0.9 * index, 3.8)  # so that coinciding markers are all visible
        for _, series in members.groupby(size):
            style.trace(axes, series["x"], series, method, marker, ring=7 / marker, linewidth=0.6, alpha=0.6)
    for value, series in rows.groupby(size):
        axes.text(series["x"].mean(), 0.02, f"${size}={value}$", ha="center", va="bottom", fontsize=7)
    axes.set(xlim=(0, reach), xlabel=rf"$\sqrt{{\ln d\,/\,{size}}}$")

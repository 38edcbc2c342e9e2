"""The largest inner product of two columns, against the scaling that the lemmas claim."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LINES = (  # slope, line style, text
    (1.0, "--", "slope 1: the lemmas' scaling as printed"),
    (2.0, ":", "slope 2: first order for Gaussian products"),
)


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies inner_products (left) and inner_products_sparse (right): the mean over draws of
    M = max over i ≠ j of |⟨R_i, R_j⟩| (quantity largest), a point per family and size, over
    √(ln d / b), for sparse embeddings over √(ln d / s). Lines join the same b or s.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    dense, sparse = (
        table[table[Column.QUANTITY] == "largest"]
        for table in (tables["inner_products"], tables["inner_products_sparse"])
    )
    count = len(dense) + len(sparse)
    shown = style.families(dense, sparse)
    figure = style.new_figure(2.6)
    left, right = figure.subplots(1, 2, sharey=True)
    _panel(left, style.with_intervals(dense, candidates=count), Column.B)
    _panel(right, style.with_intervals(sparse, candidates=count), Column.S)
    left.set_ylabel(r"mean of $M=\max_{i\neq j}\,|\langle R_i,R_j\rangle|$")
    left.set_title(r"printed scaling $\sqrt{\ln d\,/\,b}$")
    right.set_title(rf"printed scaling $\sqrt{{\ln d\,/\,s}}$, $s$ nonzeros a column{_size(sparse)}")
    left.set_ylim(0, 1.1 * max([*dense[Column.MEAN], *sparse[Column.MEAN]], default=1))
    lines = [style.handle(text, color=style.INK, linewidth=0.9, linestyle=dashes) for _, dashes, text in LINES]
    style.legend(figure, shown, lines)
    return figure


def _size(rows: pd.DataFrame) -> str:
    sizes = sorted(rows[Column.B].unique())
    return f", $b={', '.join(map(str, sizes))}$" if sizes else ""


def _panel(axes: Axes, rows: pd.DataFrame, size: str) -> None:
    """Draw the points of one table over √(ln d / size), and the lines."""
    rows = rows.assign(x=np.sqrt(np.log(rows[Column.D]) / rows[size]))
    reach = 1.12 * float(rows["x"].max()) if len(rows) else 1.0
    for slope, dashes, _ in LINES:
        axes.plot([0, reach], [0, slope * reach], color=style.INK, linewidth=0.9, linestyle=dashes)
    for index, family in enumerate(style.families(rows)):
        marker = max(5.6 - 0.9 * index, 3.8)  # so that all are seen where they coincide
        members = family.rows(rows).sort_values("x")
        for _, series in members.groupby(size):
            axes.plot(series["x"], series[Column.MEAN], color=family.colour, linewidth=0.6, alpha=0.6)
            style.points(axes, series["x"], series, family, marker, ring=7 / marker)
    for value, series in rows.groupby(size):
        axes.text(series["x"].mean(), 0.02, f"${size}={value}$", ha="center", va="bottom", fontsize=7)
    axes.set_xlim(0, reach)
    axes.set_xlabel(rf"$\sqrt{{\ln d\,/\,{size}}}$")

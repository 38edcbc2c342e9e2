"""The mean squared norm of a desketched sketch, against Theorem 4.2(4)."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import by_size, style


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study norms: E‖RᵀRh‖² for vectors h of norm 1, for every family and size the vector with the largest; the
    bound 1 + a d/b; below, as a ratio to the exact value. The intervals hold whichever vector was worst."""
    rows = style.select(style.at_largest(tables["norms"], Column.D), quantity="squared_norm")
    rows = style.without_constants(rows)
    worst = style.with_intervals(style.worst(rows, [Column.METHOD, Column.B]), candidates=len(rows))
    return by_size.plot({r"$\mathrm{E}\,\|R^TRh\|^2,\ \ \|h\|=1$": worst}, bound="bound $1+a\\,d/b$")

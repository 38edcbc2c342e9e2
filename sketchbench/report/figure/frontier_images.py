"""What a server recovers of one image from a compressed message, by compressor and budget."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import pictures, style

SIZE = 0.62  # inches, of an image and what is around it


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study frontier_leakage: the first trial's image, and what the best attack makes of one client's message; a
    row for each compressor, a column for each budget."""
    rows = style.select(tables["frontier_leakage"], quantity="picture", trial=0)
    methods = style.methods(rows, looks=style.COMPRESSOR_LOOKS)
    budgets = sorted(rows[Column.COMPRESSION].unique())
    figure = style.new_figure(1.22 * SIZE * len(methods) + 0.3, width=SIZE * (len(budgets) + 1) + 1.6)
    grid = figure.subplots(len(methods), len(budgets) + 1, squeeze=False)
    for method, line in zip(methods, grid, strict=True):
        own = method.rows(rows)
        recovered = style.select(own, case="server", round=1).set_index(Column.COMPRESSION)
        pictures.plot_picture(line[0], style.select(own, case="original").iloc[0].to_dict())
        line[0].set_ylabel(method.label.replace(", ", ",\n"), fontsize=6, rotation=0, ha="right", va="center")
        for budget, axes in zip(budgets, line[1:], strict=True):
            if budget in recovered.index:
                pictures.plot_picture(axes, {**recovered.loc[budget].to_dict(), Column.COMPRESSION: budget})
    for title, axes in zip(["image", *map(_title, budgets)], grid[0], strict=True):
        axes.set_title(title, fontsize=6, pad=2)
    for axes in grid.flat:
        style.without_frame(axes)
    return figure


def _title(budget: float) -> str:
    return "all bytes" if budget == 1 else f"1/{budget:g}"

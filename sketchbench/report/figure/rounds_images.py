"""What attackers recover of one image, by the rounds that they see."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import pictures, style

SIZE = 0.62  # inches, of an image and what is around it


def plot(tables: dict[str, pd.DataFrame], case: str, compression: float) -> Figure:
    """From study frontier_leakage: the first trial's image, and what the best attack from one place makes of it; a row
    for each compressor at one budget, a column for each number of rounds. A row ends when all images have been visible,
    or when messages repeat."""
    rows = style.select(tables["frontier_leakage"], quantity="picture", trial=0, compression=compression)
    recovered = style.select(rows, case=case)
    methods = style.methods(recovered, looks=style.COMPRESSOR_LOOKS)
    rounds = sorted(recovered[Column.ROUND].unique())
    figure = style.new_figure(1.22 * SIZE * len(methods) + 0.3, width=SIZE * (len(rounds) + 1) + 2.0)
    grid = figure.subplots(max(1, len(methods)), len(rounds) + 1, squeeze=False)
    for method, line in zip(methods, grid, strict=False):
        own = method.rows(recovered).set_index(Column.ROUND)
        pictures.plot_picture(line[0], style.select(method.rows(rows), case="original").iloc[0].to_dict())
        line[0].set_ylabel(method.label, fontsize=6, rotation=0, ha="right", va="center")
        for number, axes in zip(rounds, line[1:], strict=True):
            if number in own.index:
                pictures.plot_picture(axes, {**own.loc[number].to_dict(), Column.ROUND: number})
    titles = ["image", *(f"{number:.0f} round{'s' if number > 1 else ''}" for number in rounds)]
    for title, axes in zip(titles, grid[0], strict=True):
        axes.set_title(title, fontsize=6, pad=2)
    for axes in grid.flat:
        style.without_frame(axes)
    return figure

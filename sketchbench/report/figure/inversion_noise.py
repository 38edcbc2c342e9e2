"""How well images are recovered from private gradients, over ε."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.figure.inversion_sizes import LEVELS, plot_levels


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study inversion_noise: PSNR over ε, and the share of images that are recovered."""
    table = tables["inversion_noise"]
    psnr = style.select(table, quantity="psnr")
    failures = style.select(table[table[Column.EPSILON].notna()], quantity="failure")
    count = len(psnr) + len(failures)
    rows = style.with_intervals(psnr, candidates=count)
    shares = style.with_shares(failures, failures[Column.TRIALS] - failures[Column.COUNT], count)
    methods = style.methods(rows)
    figure, (left, right) = style.subplots(2.5, 1, 2)
    plot_levels(left, rows)
    private = rows[rows[Column.EPSILON].notna()]
    for method, series, x in style.series(private, methods, Column.EPSILON):
        style.points(left, x, series, method)  # no line across decades without a measurement
    for method, series, x in style.series(shares, methods, Column.EPSILON):
        right.vlines(x, series["low"], series["high"], color=method.colour)
        right.plot(x, series[Column.MEAN], linestyle="none", **method.marks())
    left.set(ylabel="PSNR in dB")
    left.set_ylim(bottom=0)
    right.set(ylabel="share recovered, PSNR ≥ 30 dB", ylim=(-0.03, 1.03))
    for axes in (left, right):
        axes.set(xscale="log", xlabel=r"$\varepsilon$, accounted")
    no_noise, mean_image = LEVELS.values()
    style.legend(figure, methods, {"no noise": no_noise, "mean image": mean_image})
    return figure

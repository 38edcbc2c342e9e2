"""How well images are recovered through R, over the compression, and the singular values that matter for it."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

SIDE_BY_SIDE = 0.05  # decades


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study inversion_sizes: PSNR over d/b; and the smallest singular values of Rᵀ, and of R on the span of the
    gradient's derivatives by the pixels. The vertical line is where there are as many measurements as pixels.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["inversion_sizes"]
    chosen = table[Column.QUANTITY].isin(["psnr", "gamma", "restricted"])
    drawn = style.with_intervals(table[chosen])
    shown = style.families(drawn)
    figure = style.new_figure(2.6)
    left, middle, right = figure.subplots(1, 3)
    psnr = drawn[drawn[Column.QUANTITY] == "psnr"]
    for level, line in (("control", "-"), ("mean image", ":")):
        mean = psnr.loc[psnr[Column.CASE] == level, Column.MEAN].mean()
        left.axhline(mean, color=style.EXACT, linewidth=1, linestyle=line)
    _points(left, psnr[psnr[Column.COMPRESSION].notna()], shown)
    left.set_ylabel("PSNR in dB")
    left.set_ylim(bottom=0)
    _points(right, drawn[drawn[Column.QUANTITY] == "restricted"], shown)
    _points(middle, drawn[drawn[Column.QUANTITY] == "gamma"], shown)
    middle.set_ylabel("smallest singular value of $R^T$")
    right.set_ylabel("that of $R$ on the image's directions")
    for axes in (middle, right):
        axes.set_ylim(bottom=0)
    pixels = table[Column.PIXELS].max()
    size = (table[Column.COMPRESSION] * table[Column.OBSERVED]).max()  # d, but for rounding
    for axes in (left, middle, right):
        axes.axvline(size / pixels, color=style.INK, linewidth=0.8, linestyle="--")
        style.compressions(axes, drawn[Column.COMPRESSION].dropna(), apart=0.08)
    others = [
        style.handle("no sketch", color=style.EXACT, linewidth=1),
        style.handle("mean image", color=style.EXACT, linewidth=1, linestyle=":"),
        style.handle("as many as pixels", color=style.INK, linewidth=0.8, linestyle="--"),
    ]
    style.legend(figure, shown, others)
    return figure


def _points(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    for index, family in enumerate(shown):
        series = family.rows(rows).sort_values(Column.COMPRESSION)
        x = style.dodge(series[Column.COMPRESSION], index, len(shown), decades=SIDE_BY_SIDE)
        style.joined(axes, x, series, family, width=0.7)

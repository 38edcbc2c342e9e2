"""How well images are recovered through R, over the compression, and the singular values that matter for it."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LEVELS = {"control": style.TRUE | {"linestyle": "-"}, "mean image": style.TRUE | {"linestyle": ":"}}  # by case
PIXELS = style.BOUND | {"linewidth": 0.8}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study inversion_sizes: PSNR over d/b; and the smallest singular values of Rᵀ, and of R on the span of the
    gradient's derivatives by the pixels. At the vertical line, measurements and pixels are equal in number."""
    table = tables["inversion_sizes"]
    rows = style.with_intervals(style.select(table, quantity=["psnr", "gamma", "restricted"]))
    methods = style.methods(rows)
    figure, panels = style.subplots(2.6, 1, 3)
    plot_levels(panels[0], style.select(rows, quantity="psnr"))
    smallest = "smallest singular value of"
    labels = ("PSNR in dB", f"{smallest} $R^T$", f"{smallest} $R$\non the image's directions")
    pixels = table[Column.PIXELS].max()
    size = (table[Column.COMPRESSION] * table[Column.OBSERVED]).max()  # d, but for rounding
    sketched = rows[rows[Column.COMPRESSION].notna()]
    for axes, quantity, label in zip(panels, ("psnr", "gamma", "restricted"), labels, strict=True):
        own = style.select(sketched, quantity=quantity)
        for method, series, x in style.series(own, methods, Column.COMPRESSION):
            style.trace(axes, x, series, method, linewidth=0.7)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.axvline(size / pixels, **PIXELS)
        style.compression_ticks(axes, sketched[Column.COMPRESSION], apart=0.12)
    others = {"no sketch": LEVELS["control"], "mean image": LEVELS["mean image"], "as many as pixels": PIXELS}
    style.legend(figure, methods, others)
    return figure


def plot_levels(axes: Axes, psnr: pd.DataFrame) -> None:
    """Draw the mean PSNR of the cases of LEVELS as horizontal lines."""
    for case, line in LEVELS.items():
        axes.axhline(style.select(psnr, case=case)[Column.MEAN].mean(), **line)

"""Gradient inversion: what each attack recovers from each view, over the noise, and over the compression."""

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LEVELS = {"control": style.TRUE | {"linestyle": "-"}, "mean image": style.TRUE | {"linestyle": ":"}}  # by case
PIXELS = style.BOUND | {"linewidth": 0.8}
ATTACKS = {"lbfgs": "L-BFGS", "adam": "Adam", "gradient_descent": "gradient descent"}  # by name in conf/attack
VIEWS = {
    "control": "no defence",
    "iterative_sketching": "song2023: R∇F",
    "compressed_sensing": "tang2021: Φ∇F",
    "private_1e7": "R(∇F + noise), ε = 10⁷",
    "private_1e5": "R(∇F + noise), ε = 10⁵",
    "private_1e3": "R(∇F + noise), ε = 10³",
    "private_10": "R(∇F + noise), ε = 10",
    "server_paper": "zhang2021, server: ΓSᵀ as a gradient",
    "server": "zhang2021, server: Γ, sketches known",
    "option_1": "zhang2021, client: option I",
    "option_2": "zhang2021, client: option II",
    "client": "zhang2021, client: all that isn't sketched",
    "client_last": "zhang2021, client: output layer",
    "client_biases": "zhang2021, client: biases",
    "mean image": "(the mean image, a guess)",
}


def plot_sizes(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the PSNR over d/b, from study inversion_sizes, and the smallest singular values of Rᵀ, and of R on the span
    of the gradient's derivatives by the pixels. The vertical line marks as many measurements as pixels."""
    table = tables["inversion_sizes"]
    rows = style.with_intervals(style.select(table, quantity=["psnr", "gamma", "restricted"]))
    methods = style.methods(rows)
    figure, panels = style.subplots(2.6, 1, 3)
    _levels(panels[0], style.select(rows, quantity="psnr"))
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


def plot_noise(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the PSNR over ε, from study inversion_noise, and the share of images that are recovered."""
    table = tables["inversion_noise"]
    psnr = style.select(table, quantity="psnr")
    failures = style.select(table[table[Column.EPSILON].notna()], quantity="failure")
    count = len(psnr) + len(failures)
    rows = style.with_intervals(psnr, candidates=count)
    shares = style.with_shares(failures, failures[Column.TRIALS] - failures[Column.COUNT], count)
    methods = style.methods(rows)
    figure, (left, right) = style.subplots(2.5, 1, 2)
    _levels(left, rows)
    private = rows[rows[Column.EPSILON].notna()]
    style.scatter(left, private, methods, Column.EPSILON)  # no line across decades without a measurement
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


def _levels(axes: Axes, psnr: pd.DataFrame) -> None:
    """Draw the mean PSNR of the cases of LEVELS as horizontal lines."""
    for case, line in LEVELS.items():
        axes.axhline(style.select(psnr, case=case)[Column.MEAN].mean(), **line)


def plot_grid(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the mean PSNR by view and attack, from study inversion_grid, with the number of trials that recover the
    image."""
    (table,) = tables.values()
    table = table.assign(**{Column.ATTACK: table[Column.ATTACK].replace(ATTACKS)})
    psnr = _grid(style.select(table, quantity="psnr"), Column.MEAN)
    failures = style.select(table, quantity="failure")
    failures = failures.assign(recovered=failures[Column.TRIALS] - failures[Column.COUNT])
    counts = _grid(failures, "recovered").reindex(psnr.index)  # a guess has none
    trials = int(failures[Column.TRIALS].max())
    texts = psnr.map("{:.1f} dB".format) + counts.map(lambda hits: "" if pd.isna(hits) else f", {hits:.0f}/{trials}")
    figure, axes = style.subplots(4.2)
    look = {"cmap": "viridis", "vmin": 0, "vmax": 50, "linewidths": 0.5, "cbar_kws": {"label": "mean PSNR in dB"}}
    sns.heatmap(psnr.rename(index=VIEWS), annot=texts.to_numpy(), fmt="", ax=axes, **look)
    axes.set(xlabel="", ylabel="")
    return figure


def _grid(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """The values of the first method: a row for each view, a column for each attack."""
    first = rows[rows[Column.METHOD] == rows[Column.METHOD].iloc[0]]
    wide = first.pivot_table(index=Column.CASE, columns=Column.ATTACK, values=value)
    views = [view for view in VIEWS if view in wide.index]
    return wide.loc[views, [name for name in ATTACKS.values() if name in wide.columns]]

"""How often an inner product errs by more than t, against what the tail lemmas allow."""

import textwrap
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.measure.interval import Interval, proportion_interval
from sketchbench.report.figure import style

CASES = {  # name of the pair: its text, colour, line style
    "random": ("random $g$, $h$", style.COLOURS[0], "-"),
    "equal": ("$g=h$ random", style.COLOURS[1], "--"),
    "flat": ("$g=h$ flat", style.COLOURS[2], "-."),
    "spike": ("$g=h$ spike", style.COLOURS[3], (0, (1, 1))),
    "two_spikes": ("$g=h$ two spikes", style.COLOURS[4], (0, (4, 1, 1, 1, 1, 1))),
    "disjoint": ("disjoint $g$, $h$", style.COLOURS[5], (0, (3, 2))),
    "gradient": ("real gradients", style.COLOURS[7], (0, (5, 1))),
}
MARKERS = "os^Dv"
ROUNDING = 1e-9  # errors below it are due to rounding
COLUMNS = 4


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study tails, a panel per family: the shares `count` / `trials` of errors that reach t
    (quantity tail), with a band; the lemmas' thresholds at the height 2δ that they allow (quantity
    exceedance); the threshold that is never reached (quantity largest_error), a vertical line.

    The bands are Clopper-Pearson with the error rate 1e-3 shared by all points.
    """
    table = tables["tails"]
    if table.empty:
        return style.new_figure(1.0)
    d = table[Column.D].max()
    table = table[table[Column.D] == d]
    b = sorted(table[Column.B].unique())[table[Column.B].nunique() // 2]
    table = table[(table[Column.B] == b) & table[Column.CASE].isin(list(CASES))]
    curves = table[(table[Column.QUANTITY] == "tail") & (table[Column.THRESHOLD] > ROUNDING)]
    limits = [_share(row, len(curves)) for row in curves.to_dict("records")]
    curves = curves.assign(low=[low for low, _ in limits], high=[high for _, high in limits])
    shown = style.families(table)
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    figure = style.new_figure(0.5 + 1.45 * rows, min(style.WIDE, max(4.8, 1.75 * columns)))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for index, axes in enumerate(grid.flat):
        if index >= len(shown):
            axes.set_axis_off()
            continue
        axes.set_title(textwrap.fill(shown[index].label, 30))
        _curves(axes, curves[curves[Column.METHOD] == shown[index].method])
        _lemmas(axes, table[table[Column.METHOD] == shown[index].method])
        axes.tick_params(labelbottom=True)
        if index >= columns * (rows - 1):
            axes.set_xlabel("error $t$")
    _scales(grid[0, 0], table, curves)
    figure.supylabel(
        "$\\mathrm{P}(|g^TR^TRh-g^Th|\\geq t)$\n"
        rf"$d={d}$, $b={b}$, $\|g\|=\|h\|=1$",
        fontsize=8,
    )
    lines = [
        style.handle(text, color=colour, linestyle=dashes, linewidth=1.1)
        for case, (text, colour, dashes) in CASES.items()
        if (curves[Column.CASE] == case).any()
    ]
    lines.append(style.handle("allowed by the lemma", color=style.INK, marker="o", markersize=3.2, linewidth=0.6))
    style.legend(figure, [], lines)
    return figure


def _share(row: dict[Any, Any], candidates: int) -> Interval:
    error = style.ERROR / candidates
    return proportion_interval(int(row[Column.COUNT]), int(row[Column.TRIALS]), error=error)


def _curves(axes: Axes, curves: pd.DataFrame) -> None:
    for case, (_, colour, dashes) in CASES.items():
        series = curves[(curves[Column.CASE] == case) & (curves[Column.COUNT] > 0)].sort_values(Column.THRESHOLD)
        t = series[Column.THRESHOLD]
        axes.plot(t, series[Column.COUNT] / series[Column.TRIALS], color=colour, linestyle=dashes, linewidth=1.1)
        axes.fill_between(t, series["low"], series["high"], color=colour, alpha=0.15, linewidth=0)


def _lemmas(axes: Axes, rows: pd.DataFrame) -> None:
    allowed = rows[rows[Column.QUANTITY] == "exceedance"].drop_duplicates([Column.LEMMA, Column.DELTA])
    allowed = allowed.sort_values(Column.THRESHOLD)
    for index, (lemma, series) in enumerate(allowed.groupby(Column.LEMMA)):
        axes.plot(
            series[Column.THRESHOLD],
            series[Column.BOUND],
            color=style.INK,
            linewidth=0.6,
            marker=MARKERS[index % len(MARKERS)],
            markersize=3.2,
        )
        side: Literal["left", "right"] = "right" if index else "left"  # the later one has the smaller thresholds
        _name(axes, str(lemma), series[Column.THRESHOLD].iloc[0], series[Column.BOUND].iloc[0], side)
    for lemma, series in rows[rows[Column.QUANTITY] == "largest_error"].groupby(Column.LEMMA):
        axes.axvline(series[Column.BOUND].iloc[0], color=style.INK, linewidth=0.9)
        _name(axes, str(lemma), series[Column.BOUND].iloc[0], 1.0)


def _name(axes: Axes, lemma: str, x: float, y: float, side: Literal["left", "right"] = "left") -> None:
    axes.annotate(
        lemma.removeprefix("Lemma "),
        (x, y),
        xytext=(3 if side == "left" else -3, 3),
        ha=side,
        textcoords="offset points",
        fontsize=7,
        color=style.INK,
    )


def _scales(axes: Axes, table: pd.DataFrame, curves: pd.DataFrame) -> None:
    """Make both axes logarithmic: x from the smallest threshold on, y down to half an error in the most trials."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    sure = table.loc[table[Column.QUANTITY] == "largest_error", Column.BOUND]
    right = float(pd.concat([table[Column.THRESHOLD], sure]).max())
    left = float(curves[Column.THRESHOLD].min()) if len(curves) else right / 100
    axes.set_xlim(left, 4 * right)
    axes.set_ylim(0.5 / float(table[Column.TRIALS].max()), 4)

"""How well images are recovered from private gradients, over ε."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.measure.interval import proportion_interval
from sketchbench.report.figure import style

LINES = {"control": ("no noise", "-"), "mean image": ("mean image", ":")}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study inversion_noise: PSNR over ε, and the share of images that are recovered.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = tables["inversion_noise"]
    psnr = table[table[Column.QUANTITY] == "psnr"]
    shares = table[(table[Column.QUANTITY] == "failure") & table[Column.EPSILON].notna()]
    drawn = style.with_intervals(psnr, candidates=len(psnr) + len(shares))
    shown = style.families(drawn)
    figure = style.new_figure(2.5)
    left, right = figure.subplots(1, 2)
    for case, (_, line) in LINES.items():
        mean = drawn.loc[drawn[Column.CASE] == case, Column.MEAN].mean()
        left.axhline(mean, color=style.EXACT, linewidth=1, linestyle=line)
    error = style.ERROR / (len(psnr) + len(shares))
    for family in shown:
        series = drawn[(drawn[Column.METHOD] == family.method) & drawn[Column.EPSILON].notna()]
        series = series.sort_values(Column.EPSILON)
        style.points(left, series[Column.EPSILON], series, family)  # no line across decades without a measurement
        failures = family.rows(shares).sort_values(Column.EPSILON)
        counts = zip(failures[Column.TRIALS] - failures[Column.COUNT], failures[Column.TRIALS], strict=True)
        limits = [proportion_interval(int(hits), int(trials), error=error) for hits, trials in counts]
        right.vlines(failures[Column.EPSILON], [i.low for i in limits], [i.high for i in limits], color=family.colour)
        right.plot(
            failures[Column.EPSILON],
            1 - failures[Column.COUNT] / failures[Column.TRIALS],
            linestyle="none",
            **family.marks(),
        )
    left.set_ylabel("PSNR in dB")
    left.set_ylim(bottom=0)
    right.set_ylabel("share recovered, PSNR ≥ 30 dB")
    right.set_ylim(-0.03, 1.03)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel(r"$\varepsilon$, accounted")
    others = [style.handle(label, color=style.EXACT, linewidth=1, linestyle=line) for label, line in LINES.values()]
    style.legend(figure, shown, others)
    return figure

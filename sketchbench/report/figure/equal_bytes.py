"""FIHT, CountSketch and RᵀR at equal bytes on the same objective."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import losses, style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study equal_bytes: the loss over the rounds, and over the bytes that a client has sent."""
    rows = losses.with_bands(tables["equal_bytes"])
    figure = style.new_figure(2.6)
    rounds, sent = figure.subplots(1, 2, sharey=True)
    losses.curves(rounds, rows, Column.ROUND)
    losses.curves(sent, rows.assign(kilobytes=rows[Column.BYTES_UP] / 1000), "kilobytes")
    for axes, label in ((rounds, "round"), (sent, "sent by a client, kB")):
        axes.set(xscale="log", yscale="log", xlabel=label)
    means = rows[Column.MEAN]
    start = means[rows[Column.ROUND] == 0].max()
    rounds.set(ylim=(0.8 * means.min(), 1.25 * start), ylabel="loss")  # a diverging curve leaves the frame
    style.plain_log(rounds)
    style.legend(figure, [], losses.lines(rows))
    return figure

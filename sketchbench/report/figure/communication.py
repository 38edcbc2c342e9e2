"""Rounds and bytes to a target over the compression, and the loss of logistic regression until it gets there."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

STUDIES = {
    "communication": ("strongly convex", "-"),
    "communication_flat": ("convex", "--"),
}
PLAIN = style.EXACT


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies communication, communication_flat and communication_logistic: over the compression, rounds
    divided by 1 + α and bytes divided by those without sketches; below, the excess loss relative to its start, over
    rounds and over bytes.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    whole = pd.concat([tables[name].assign(study=name) for name in STUDIES])
    whole = whole.assign(**{Column.COMPRESSION: whole[Column.D] / whole[Column.B]})
    curve = tables["communication_logistic"]
    curve = curve[curve[Column.QUANTITY] == "curve"]
    count = int(whole[Column.QUANTITY].isin(["rounds", "bytes"]).sum()) + len(curve)
    shown = style.families(whole, curve)
    figure = style.new_figure(4.4)
    above, below = figure.subplots(2, 2)
    for axes, quantity in zip(above, ("rounds", "bytes"), strict=True):
        rows = style.with_intervals(whole[whole[Column.QUANTITY] == quantity], count)
        _ratios(axes, rows, shown, quantity)
    for axes, over, label in (
        (below[0], Column.ROUND, "round"),
        (below[1], "megabytes", "sent by a client, MB"),
    ):
        rows = style.with_intervals(curve.assign(megabytes=curve[Column.BYTES_UP] / 1e6), count)
        _curves(axes, rows, shown, over)
        axes.set_xlabel(label)
    below[0].set_ylabel("left of $f(w^0)-f^*$")
    below[0].set_title("logistic regression, over rounds")
    below[1].set_title("the same over bytes")
    others = [style.handle(label, color=style.INK, linestyle=line) for label, line in STUDIES.values()]
    others += [
        style.handle("allowed: $2(1+\\alpha)$", color=style.INK, linewidth=0.9, linestyle=":"),
        style.handle("no sketch", color=PLAIN, linewidth=1.4),
    ]
    style.legend(figure, shown, others)
    return figure


def _ratios(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle], quantity: str) -> None:
    """Draw rounds divided by 1 + α, or bytes divided by those without a sketch, over the compression."""
    divisor = rows[Column.BOUND] / 2 if quantity == "rounds" else 1.0
    scaled = rows.assign(**{name: rows[name] / divisor for name in (*style.MEASURED, Column.BOUND)})
    for index, family in enumerate(shown):
        for study, (_, line) in STUDIES.items():
            series = scaled[(scaled[Column.METHOD] == family.method) & (scaled["study"] == study)]
            series = series.sort_values(Column.COMPRESSION)
            x = style.dodge(series[Column.COMPRESSION], index, len(shown), decades=0.1)
            axes.plot(x, series[Column.MEAN], color=family.colour, linewidth=0.8, linestyle=line, zorder=2)
            style.points(axes, x, series, family, size=3.6)
            axes.plot(
                series[Column.COMPRESSION], series[Column.BOUND], color=family.colour, linewidth=0.9, linestyle=":"
            )
    axes.set_ylim(bottom=0)
    style.compressions(axes, rows[Column.COMPRESSION].dropna(), apart=0.06)
    axes.set_title("rounds to the target" if quantity == "rounds" else "bytes to the target")
    label = "over $1+\\alpha$ times those without" if quantity == "rounds" else "over those without"
    axes.set_ylabel(label)


def _curves(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle], over: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain = rows[rows[Column.CASE] == "no sketch"].drop_duplicates(Column.ROUND).sort_values(Column.ROUND)
    axes.plot(plain[over], plain[Column.MEAN], color=PLAIN, linewidth=1.4)
    for family in shown:
        series = rows[(rows[Column.METHOD] == family.method) & (rows[Column.CASE] == "sketch")]
        series = series.sort_values(Column.ROUND)
        style.curve(axes, series[over], series, color=family.colour, linewidth=1.0)
    style.plain_log(axes)

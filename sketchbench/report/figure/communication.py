"""Rounds and bytes to a target over the compression, and the loss of logistic regression until it gets there."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

STUDIES = {"communication": "-", "communication_flat": "--"}
LEGEND: dict[str, style.Line] = {
    "strongly convex": {"color": style.INK, "linestyle": "-"},
    "convex": {"color": style.INK, "linestyle": "--"},
    "allowed: $2(1+\\alpha)$": style.BOUND | {"linestyle": ":"},
    "no sketch": {"color": style.EXACT, "linewidth": 1.4},
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies communication, communication_flat and communication_logistic. Above, over the compression: rounds
    divided by 1 + α times the rounds without sketches, and bytes divided by the bytes without sketches. Below: the
    excess loss divided by its start, over rounds and over megabytes."""
    whole = style.with_compression(pd.concat([tables[name].assign(study=name) for name in STUDIES]))
    losses = style.select(tables["communication_logistic"], quantity="curve")
    count = len(style.select(whole, quantity=["rounds", "bytes"])) + len(losses)
    methods = style.methods(whole, losses)
    figure, ((rounds, sent), below) = style.subplots(4.4, 2, 2)
    measured = style.with_intervals(style.select(whole, quantity="rounds"), count)
    _ratios(rounds, style.scale(measured, 2 / measured[Column.BOUND], Column.BOUND), methods)
    rounds.set(title="rounds to the target", ylabel="over $1+\\alpha$ times\nrounds without sketch")
    _ratios(sent, style.with_intervals(style.select(whole, quantity="bytes"), count), methods)
    sent.set(title="bytes to the target", ylabel="over bytes without sketch")
    losses = style.with_intervals(losses.assign(megabytes=losses[Column.BYTES_UP] / 1e6), count)
    for axes, over in zip(below, (Column.ROUND, "megabytes"), strict=True):
        _curves(axes, losses, methods, over)
    below[0].set(xlabel="round", ylabel="share of $f(w^0)-f^*$ left", title="logistic regression, over rounds")
    below[1].set(xlabel="sent by a client, MB", title="logistic regression, over bytes")
    style.legend(figure, methods, LEGEND)
    return figure


def _ratios(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    compressions = rows[Column.COMPRESSION].dropna()
    for study, line in STUDIES.items():
        own = rows[rows["study"] == study]
        for method, series, x in style.series(own, methods, Column.COMPRESSION, among=compressions):
            style.trace(axes, x, series, method, size=3.6, linewidth=0.8, linestyle=line)
            axes.plot(x, series[Column.BOUND], color=method.colour, linewidth=0.9, linestyle=":")
    axes.set_ylim(bottom=0)
    style.categories(axes, compressions, style.compression)
    axes.set_xlabel("compression $d/b$")


def _curves(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle], over: str) -> None:
    axes.set(xscale="log", yscale="log")
    plain = style.select(rows, case="no sketch").drop_duplicates(Column.ROUND).sort_values(Column.ROUND)
    axes.plot(plain[over], plain[Column.MEAN], **LEGEND["no sketch"])
    for method, series, _ in style.series(style.select(rows, case="sketch"), methods, Column.ROUND):
        style.curve(axes, series[over], series, color=method.colour, linewidth=1.0)
    style.plain_log(axes)

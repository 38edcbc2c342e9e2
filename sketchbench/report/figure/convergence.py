"""Iterative sketching: losses relative to the theorems' bounds, rounds and bytes to a target, rounds of consensus."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

THEOREMS = {
    ("convergence", "E.1"): "E.1: strongly convex\n$K=1$",
    ("convergence_flat", "E.2"): "E.2: convex\n$K=1$",
    ("convergence_saturating", "E.3"): "E.3: not convex\n$K=1$",
    ("convergence_local", "F.9"): "F.9: strongly convex\n$K>1$",
    ("convergence_local_flat", "F.7"): "F.7: convex\n$K>1$",
    ("convergence_saturating_local", "G.2-corrected"): "G.2, corrected:\nnot convex, $K>1$",
}
LOWEST = 1e-5  # of the bound; curves end below it
OBJECTIVES = {"communication": "-", "communication_flat": "--"}
COMMUNICATION: dict[str, style.Line] = {
    "strongly convex": {"color": style.INK, "linestyle": "-"},
    "convex": {"color": style.INK, "linestyle": "--"},
    "allowed: $2(1+\\alpha)$": style.BOUND | {"linestyle": ":"},
    "no sketch": {"color": style.EXACT, "linewidth": 1.4},
}
GRAPHS: dict[str, style.Line] = {
    name: {"color": colour, "marker": marker, "markersize": 4}
    for name, marker, colour in zip(("ring", "grid", "star", "complete"), "os*D", style.COLOURS, strict=False)
}
CONSENSUS = {"relayed": "relaying every message", "gossiped": "averaging with neighbours, to 1e-3"}


def plot_theorems(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the mean of the bounded quantity divided by its bound, over the rounds, from the studies of `THEOREMS`: a
    row of panels for each theorem, a column for each group of families. Families have their markers at different
    rounds, so that coinciding curves are all visible."""
    whole = pd.concat([table.assign(study=name) for name, table in tables.items()])
    rows = style.with_intervals(whole)
    methods = style.methods(rows)
    groups = style.by_group(methods)
    figure, grid = style.subplots(7.6, len(THEOREMS), len(groups), squeeze=False, sharex=True, sharey="row")
    for panels, ((study, case), title) in zip(grid, THEOREMS.items(), strict=True):
        for axes, members in zip(panels, groups.values(), strict=True):
            _shares(axes, style.select(rows, study=study, case=case), members)
        panels[0].set_ylabel(title)
    for first, last, group in zip(grid[0], grid[-1], groups, strict=True):
        first.set_title(group)
        last.set_xlabel("round")
    figure.align_ylabels(grid[:, 0])
    style.legend(figure, methods, {"the bound: measured / bound = 1": style.BOUND})
    return figure


def _shares(axes: Axes, rows: pd.DataFrame, members: list[style.MethodStyle]) -> None:
    axes.set(xscale="log", yscale="log")
    axes.axhline(1, zorder=1, **style.BOUND)
    above = rows[rows[Column.MEAN] > LOWEST * rows[Column.BOUND]]
    for index, (method, series, x) in enumerate(style.series(above, members, Column.ROUND)):
        if series.empty:
            continue
        share, low, high = (series[name] / series[Column.BOUND] for name in style.MEASURED)
        every = (index, len(members)) if len(series) >= len(members) else None
        axes.plot(x, share, linewidth=0.8, zorder=3, markevery=every, **method.marks(4))
        axes.fill_between(x, low.clip(lower=LOWEST), high, color=method.colour, alpha=0.15, linewidth=0)


def plot_communication(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the cost of sketching, from studies communication, communication_flat and communication_logistic. Above,
    over the compression: rounds divided by 1 + α times the rounds without sketches, and bytes divided by the bytes
    without sketches. Below: the excess loss divided by its start, over rounds and over megabytes."""
    whole = style.with_compression(pd.concat([tables[name].assign(study=name) for name in OBJECTIVES]))
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
        _losses(axes, losses, methods, over)
    below[0].set(xlabel="round", ylabel="share of $f(w^0)-f^*$ left", title="logistic regression, over rounds")
    below[1].set(xlabel="sent by a client, MB", title="logistic regression, over bytes")
    style.legend(figure, methods, COMMUNICATION)
    return figure


def _ratios(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    compressions = rows[Column.COMPRESSION].dropna()
    for study, line in OBJECTIVES.items():
        own = rows[rows["study"] == study]
        for method, series, x in style.series(own, methods, Column.COMPRESSION, among=compressions):
            style.trace(axes, x, series, method, size=3.6, linewidth=0.8, linestyle=line)
            axes.plot(x, series[Column.BOUND], color=method.colour, linewidth=0.9, linestyle=":")
    axes.set_ylim(bottom=0)
    style.categories(axes, compressions, style.compression)
    axes.set_xlabel("compression $d/b$")


def _losses(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle], over: str) -> None:
    axes.set(xscale="log", yscale="log")
    plain = style.select(rows, case="no sketch").drop_duplicates(Column.ROUND).sort_values(Column.ROUND)
    axes.plot(plain[over], plain[Column.MEAN], **COMMUNICATION["no sketch"])
    for method, series, _ in style.series(style.select(rows, case="sketch"), methods, Column.ROUND):
        style.curve(axes, series[over], series, color=method.colour, linewidth=1.0)
    style.plain_log(axes)


def plot_consensus(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the rounds until all nodes have the mean over the diameter, from study consensus, with the bound."""
    table = tables["consensus"]
    table = style.select(table, method=table[Column.METHOD].min())  # the same for every sketch
    figure, panels = style.subplots(2.7, 1, 2, sharey=True)
    for axes, (quantity, title) in zip(panels, CONSENSUS.items(), strict=True):
        rows = style.select(table, quantity=quantity)
        bound = rows.groupby(Column.DIAMETER)[Column.BOUND].max()
        axes.set(xscale="log", yscale="log", title=title, xlabel="diameter")
        axes.plot(bound.index, bound, **style.BOUND)
        for name, look in GRAPHS.items():
            series = style.select(rows, case=name).sort_values(Column.NODES)
            axes.plot(series[Column.DIAMETER], series[Column.VALUE], linewidth=0.7, **look)
        style.size_ticks(axes, rows[Column.DIAMETER].unique())
    style.plain_log(panels[0])
    panels[0].set_ylabel("rounds")
    style.legend(figure, [], {**GRAPHS, "bound": style.BOUND})
    return figure

"""Private training: ε by every accountant and by audits, and accuracy and loss over ε."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

SAMPLINGS = {
    "full": "full batches, a record replaced",
    "poisson": "Poisson sampling, a record added",
    "without_replacement": "without replacement, a record replaced",
    "with_replacement": "with replacement, a record replaced",
}
ACCOUNTANTS: dict[str, tuple[str, style.Line]] = {  # with the label
    "paper": ("Theorem 6.2", {"color": style.INK, "marker": "None", "linestyle": "--"}),
    "advanced": ("Lemmas H.7, H.4, H.3", {"color": style.COLOURS[3], "marker": "^"}),
    "classical": ("composition of 2010", {"color": style.COLOURS[1], "marker": "v"}),
    "rdp": ("RDP", {"color": style.COLOURS[2], "marker": "s"}),
    "pld": ("PLD", {"color": style.COLOURS[0], "marker": "o"}),
    "exact": ("exact", {"color": style.COLOURS[4], "marker": "x", "linestyle": ":"}),
}
CONTROLS = {0.5: ("half of the noise", style.COLOURS[3]), 0.0: ("no noise", style.COLOURS[1])}
AUDITED = {"full": "full batches", "poisson": "Poisson sampling"}
WIDTH = 0.36  # of a place on the x axis, to each side
ACCOUNTED: style.Line = {"color": style.INK, "linewidth": 1.6}
TRAINED = {"accuracy": "accuracy, held out", "excess": r"$f(w) - f(w^*)$"}
NONE = "none"  # the case without noise


def plot_accounting(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot ε over the rounds T from study privacy_accounting: a panel for each sampling, a line for each accountant."""
    rows = style.select(tables["privacy_accounting"], quantity="epsilon", status="accounted")
    figure, grid = style.subplots(4.6, 2, 2, sharex=True, sharey=True)
    for axes, (sampling, title) in zip(grid.flat, SAMPLINGS.items(), strict=True):
        axes.set(xscale="log", yscale="log", title=title)
        for accountant, (_, line) in ACCOUNTANTS.items():
            series = style.select(rows, sampling=sampling, case=accountant).sort_values(Column.ROUND)
            axes.plot(series[Column.ROUND], series[Column.VALUE], linewidth=1.0, markersize=3.5, **line)
    for axes in grid[1]:
        axes.set_xlabel("rounds $T$")
    for axes in grid[:, 0]:
        axes.set_ylabel(r"$\varepsilon$")
    style.legend(figure, [], {label: {**line, "markersize": 3.5} for label, line in ACCOUNTANTS.values()})
    return figure


def plot_audit(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the accounted ε from study privacy_audit as a line for each sampling and δ, with the ε that attacks prove,
    by family; and with less noise, for all families."""
    rows = style.select(tables["privacy_audit"], quantity="audit")
    audits = style.select(rows, noise=1)
    places = list(dict.fromkeys(zip(audits[Column.CASE], audits[Column.DELTA], strict=True)))
    methods = style.methods(audits)
    figure, axes = style.subplots(2.9, width=5.2)
    for place, (case, delta) in enumerate(places):
        here = style.select(rows, case=case, delta=delta)
        for bound in style.select(here, noise=1)[Column.BOUND].dropna().head(1):
            axes.hlines(bound, place - WIDTH, place + WIDTH, **ACCOUNTED)
        x = iter(place + WIDTH * np.linspace(-0.85, 0.85, len(methods) + len(CONTROLS)))
        for method in methods:
            _values(axes, next(x), method.rows(style.select(here, noise=1)), method.marks())
        for noise, (_, colour) in CONTROLS.items():
            _values(axes, next(x), style.select(here, noise=noise), {"marker": "X", "markersize": 5, "color": colour})
    axes.set_xticks(range(len(places)), [f"{AUDITED.get(c, c)}\n$\\delta$ = {delta:g}" for c, delta in places])
    axes.grid(visible=False, axis="x")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(r"$\varepsilon$, proven by an attack")
    cross: style.Line = {"marker": "X", "linestyle": "none"}
    controls = {f"control: {label}": {"color": colour, **cross} for label, colour in CONTROLS.values()}
    style.legend(figure, methods, {**controls, "accounted": ACCOUNTED})
    return figure


def _values(axes: Axes, x: float, rows: pd.DataFrame, marks: style.Line) -> None:
    axes.plot(np.full(len(rows), x), rows[Column.VALUE], linestyle="none", **marks)


def plot_training(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot accuracy and excess loss over ε from study private_training; horizontal lines are runs without noise."""
    table = tables["private_training"]
    rows = style.with_intervals(style.select(table, quantity=list(TRAINED)))
    sent = table.groupby(Column.METHOD)[Column.BYTES_UP].max() / 1e3
    labels = rows[Column.LABEL] + ": " + rows[Column.METHOD].map(sent).map("{:.0f}".format) + " kB sent by a client"
    methods = style.methods(rows.assign(**{Column.LABEL: labels}))
    figure, grid = style.subplots(2.7, 1, 2)
    for axes, (quantity, label) in zip(grid, TRAINED.items(), strict=True):
        own = style.select(rows, quantity=quantity)
        private, free = own[own[Column.CASE] != NONE], style.select(own, case=NONE)
        budgets = private[Column.EPSILON].dropna()
        style.categories(axes, budgets)
        for method, series, x in style.series(private, methods, Column.EPSILON, among=budgets):
            for value in method.rows(free)[Column.MEAN]:
                axes.axhline(value, color=method.colour, linewidth=0.9, zorder=1)
            style.trace(axes, x, series, method, linewidth=0.7, linestyle="--")
        axes.set(xlabel=r"$\varepsilon$, accounted", ylabel=label)
    grid[0].set_ylim(0, 1)
    style.plain_log(grid[1])
    style.legend(figure, methods, {"without noise": {"color": "0.4", "linewidth": 1.0}})
    return figure

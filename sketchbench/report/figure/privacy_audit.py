"""The ε that a membership game proves, beside the ε that is accounted for."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CONTROLS = {0.5: ("half of the noise", style.COLOURS[3]), 0.0: ("no noise", style.COLOURS[1])}
SAMPLINGS = {"full": "full batches", "poisson": "Poisson sampling"}
WIDTH = 0.36  # of a place on the x axis, to each side
ACCOUNTED: style.Line = {"color": style.INK, "linewidth": 1.6}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study privacy_audit: for each sampling and δ, the ε that is accounted for, as a line, and the ε that attacks
    prove, by family; and with less noise, for all families."""
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
    axes.set_xticks(range(len(places)), [f"{SAMPLINGS.get(c, c)}\n$\\delta$ = {delta:g}" for c, delta in places])
    axes.grid(visible=False, axis="x")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(r"$\varepsilon$, proven by an attack")
    cross: style.Line = {"marker": "X", "linestyle": "none"}
    controls = {f"control: {label}": {"color": colour, **cross} for label, colour in CONTROLS.values()}
    style.legend(figure, methods, {**controls, "accounted": ACCOUNTED})
    return figure


def _values(axes: Axes, x: float, rows: pd.DataFrame, marks: style.Line) -> None:
    axes.plot(np.full(len(rows), x), rows[Column.VALUE], linestyle="none", **marks)

"""The ε that a membership game proves, beside the ε that is accounted for."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CONTROLS = {0.5: ("half of the noise", style.COLOURS[3]), 0.0: ("no noise", style.COLOURS[1])}
WIDTH = 0.36  # of a place on the x axis, to each side


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study privacy_audit: for each sampling and δ, the ε that is accounted for, as a line, and those that are
    proven, by family; and with less noise, for all families."""
    table = tables["privacy_audit"]
    every = table[table[Column.QUANTITY] == "audit"]
    audits, controls = every[every[Column.NOISE] == 1], every[every[Column.NOISE] < 1]
    places = list(dict.fromkeys(zip(audits[Column.CASE], audits[Column.DELTA], strict=True)))
    shown = style.families(audits)
    figure = style.new_figure(2.9, width=5.2)
    axes = figure.subplots()
    marks = len(shown) + len(CONTROLS)
    for place, (case, delta) in enumerate(places):
        here = audits[(audits[Column.CASE] == case) & (audits[Column.DELTA] == delta)]
        for bound in here[Column.BOUND].dropna().head(1):
            axes.hlines(bound, place - WIDTH, place + WIDTH, color=style.INK, linewidth=1.6)
        x = place + WIDTH * np.linspace(-0.85, 0.85, marks)
        for index, family in enumerate(shown):
            series = family.rows(here)
            axes.plot(np.full(len(series), x[index]), series[Column.VALUE], linestyle="none", **family.marks())
        _controls(axes, controls, case, delta, x[len(shown) :])
    texts = [f"{case}\n$\\delta$ = {delta:g}" for case, delta in places]
    axes.set_xticks(range(len(places)), texts)
    axes.grid(visible=False, axis="x")
    axes.set_ylim(bottom=0)
    axes.set_ylabel(r"$\varepsilon$")
    others = [
        style.handle(f"control: {label}", color=colour, marker="X", linestyle="none")
        for label, colour in CONTROLS.values()
    ]
    accounted = style.handle("accounted", color=style.INK, linewidth=1.6)
    style.legend(figure, shown, [*others, accounted])
    return figure


def _controls(axes: Axes, controls: pd.DataFrame, case: str, delta: float, x: np.ndarray) -> None:
    for at, (noise, (_, colour)) in zip(x, CONTROLS.items(), strict=True):
        chosen = (controls[Column.CASE] == case) & (controls[Column.DELTA] == delta)
        for value in controls.loc[chosen & (controls[Column.NOISE] == noise), Column.VALUE]:
            axes.plot(at, value, marker="X", markersize=5, color=colour, linestyle="none")

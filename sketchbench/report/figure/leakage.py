"""The basis of gradient matching: its rate of convergence, and the singular values of sketches."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

NORM: style.Line = {"color": style.INK, "linewidth": 0.9}
LEGEND = {"Theorem 7.5": style.BOUND | {"color": style.EXACT}, "claimed spectral norm, 1": NORM}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot log₁₀ L(x_t)/L(x₀) over the rounds from study attack_convergence, for bilinear losses, with the bound of
    Theorem 7.5, and for the network; and γ₁ and γ₂ of every family at its smallest size from study spectrum."""
    attack, spectrum = tables["attack_convergence"], style.at_largest(tables["spectrum"], Column.D)
    spectrum = spectrum[spectrum[Column.B] == spectrum[Column.B].min()]
    spectrum = style.select(spectrum, quantity=["gamma_1", "norm"], case="derived")
    rows = pd.concat([style.select(attack, quantity="log_loss"), spectrum], ignore_index=True)
    rows = style.with_intervals(rows)
    methods = style.methods(rows)
    figure, (bilinear, network, values) = style.subplots(2.7, 1, 3)
    curves = style.select(rows, quantity="log_loss")
    largest = [case for case in curves[Column.CASE].unique() if case.startswith("bilinear")][-1]
    _curves(bilinear, style.select(curves, case=largest), methods)
    bilinear.set(title="bilinear loss", ylabel=r"$\log_{10}\; L(x_t)\,/\,L(x_0)$")
    _curves(network, style.select(curves, case="network"), methods)
    network.set_title("perceptron")
    _values(values, style.select(rows, quantity=["gamma_1", "norm"]))
    values.set_title("singular values of $R^T$")
    style.legend(figure, methods, LEGEND)
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    for method, series, x in style.series(rows, methods, Column.ROUND):
        if series.empty:
            continue
        style.curve(axes, x, series, band=0.15, linewidth=0.8, **method.marks(3.0))
        if Column.BOUND in series and series[Column.BOUND].notna().all():
            axes.plot(x, series[Column.BOUND], **style.BOUND | {"color": method.colour})
    axes.set(xscale="log", xlabel="step of the attack")


def _values(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw γ₁ and γ₂ of every family, in units of √(d/b); the families lie side by side."""
    methods = style.methods(rows)
    for place, method in enumerate(methods):
        series = method.rows(rows)
        unit = (series[Column.B] / series[Column.D]) ** 0.5
        style.trace(axes, np.full(len(series), float(place)), style.scale(series, unit), method, linewidth=0.8)
        axes.axhline(float(unit.iloc[0]), zorder=1, **NORM)
    axes.set(xticks=[], xlim=(-0.5, len(methods) - 0.5))
    axes.set_ylim(0, None)
    axes.set_ylabel(r"$\gamma_1$ and $\gamma_2=\|R\|$, in units of $\sqrt{d/b}$")

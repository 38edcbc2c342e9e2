"""What gradient matching rests on: its rate of convergence, and the singular values of sketches."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study attack_convergence: log₁₀ L(x_t)/L(x₀) over the rounds, bilinear losses with what Theorem 7.5
    promises, and the network; from study spectrum: γ₁ and γ₂ of every family at its smallest size.

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    attack, spectrum = tables["attack_convergence"], tables["spectrum"]
    spectrum = spectrum[(spectrum[Column.D] == spectrum[Column.D].max())]
    spectrum = spectrum[spectrum[Column.B] == spectrum[Column.B].min()]
    chosen = spectrum[spectrum[Column.QUANTITY].isin(["gamma_1", "norm"])]
    chosen = chosen[chosen[Column.CASE] == "derived"]
    rows = pd.concat([attack[attack[Column.QUANTITY] == "log_loss"], chosen], ignore_index=True)
    rows = style.with_intervals(rows)
    curves = rows[rows[Column.QUANTITY] == "log_loss"]
    shown = style.families(rows)
    figure = style.new_figure(2.7)
    bilinear, network, values = figure.subplots(1, 3)
    largest = [case for case in curves[Column.CASE].unique() if case.startswith("bilinear")][-1]
    _curves(bilinear, curves[curves[Column.CASE] == largest], shown)
    bilinear.set_title("bilinear loss")
    _curves(network, curves[curves[Column.CASE] == "network"], shown)
    network.set_title("perceptron")
    bilinear.set_ylabel(r"$\log_{10}\; L(x_t)\,/\,L(x_0)$")
    _values(values, rows[rows[Column.QUANTITY].isin(["gamma_1", "norm"])], shown)
    lines = [
        style.handle("Theorem 7.5", color=style.EXACT, linewidth=0.9, linestyle="--"),
        style.handle("claimed spectral norm, 1", color=style.INK, linewidth=0.9),
    ]
    style.legend(figure, shown, lines)
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    for family in shown:
        series = family.rows(rows).sort_values(Column.ROUND)
        if series.empty:
            continue
        line = {**family.marks(3.0), "linewidth": 0.8}
        style.curve(axes, series[Column.ROUND], series, band=0.15, **line)
        if Column.BOUND in series and series[Column.BOUND].notna().all():
            axes.plot(series[Column.ROUND], series[Column.BOUND], color=family.colour, linewidth=0.9, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlabel("step of the attack")


def _values(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    """Draw γ₁ and γ₂ of every family, in units of √(d/b); the families lie side by side."""
    present = [family for family in shown if family.method in set(rows[Column.METHOD])]
    for place, family in enumerate(present):
        series = family.rows(rows)
        root = (series[Column.D] / series[Column.B]) ** 0.5
        scaled = series.assign(**{name: series[name] / root for name in style.MEASURED})
        x = np.full(len(series), float(place))
        axes.plot(x, scaled[Column.MEAN], color=family.colour, linewidth=0.8)
        style.points(axes, x, scaled, family)
        axes.axhline(float(1 / root.iloc[0]), color=style.INK, linewidth=0.9, zorder=1)
    axes.set_xticks([])
    axes.set_xlim(-0.5, len(present) - 0.5)
    axes.set_ylim(0, None)
    axes.set_ylabel(r"$\gamma_1$ and $\gamma_2=\|R\|$, in units of $\sqrt{d/b}$")

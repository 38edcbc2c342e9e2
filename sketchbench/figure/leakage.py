"""What gradient matching rests on: how fast it goes, and the singular values of sketches."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study attack_convergence: log₁₀ L(x_t)/L(x₀) over the rounds, bilinear losses with what Theorem 7.5
    promises, and the network; from study spectrum: γ₁ and γ₂ of every family at its smallest size.

    All intervals of the figure hold at once, but with probability 1e-3.
    """
    attack, spectrum = tables["attack_convergence"], tables["spectrum"]
    spectrum = spectrum[(spectrum["d"] == spectrum["d"].max())]
    spectrum = spectrum[spectrum["b"] == spectrum["b"].min()]
    chosen = spectrum[spectrum["quantity"].isin(["gamma_1", "norm"])]
    chosen = chosen[chosen["case"] == "derived"]
    rows = pd.concat([attack[attack["quantity"] == "log_loss"], chosen], ignore_index=True)
    rows = style.with_intervals(rows)
    curves = rows[rows["quantity"] == "log_loss"]
    shown = style.families(rows)
    figure = style.new_figure(2.7)
    bilinear, network, values = figure.subplots(1, 3)
    largest = [case for case in curves["case"].unique() if case.startswith("bilinear")][-1]
    _curves(bilinear, curves[curves["case"] == largest], shown)
    bilinear.set_title("bilinear loss")
    _curves(network, curves[curves["case"] == "network"], shown)
    network.set_title("perceptron")
    bilinear.set_ylabel(r"$\log_{10}\; L(x_t)\,/\,L(x_0)$")
    _values(values, rows[rows["quantity"].isin(["gamma_1", "norm"])], shown)
    lines = [
        style.handle("Theorem 7.5", color=style.EXACT, linewidth=0.9, linestyle="--"),
        style.handle("claimed spectral norm, 1", color=style.INK, linewidth=0.9),
    ]
    style.legend(figure, shown, lines)
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, shown: list[style.Family]) -> None:
    for family in shown:
        own = rows[rows["method"] == family.method].sort_values("round")
        if own.empty:
            continue
        line = {**family.marks(3.0), "linewidth": 0.8}
        style.curve(axes, own["round"], own, band=0.15, **line)
        if "bound" in own and own["bound"].notna().all():
            axes.plot(own["round"], own["bound"], color=family.colour, linewidth=0.9, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlabel("step of the attack")


def _values(axes: Axes, rows: pd.DataFrame, shown: list[style.Family]) -> None:
    """γ₁ and γ₂ side by side, in units of √(d/b)."""
    present = [family for family in shown if family.method in set(rows["method"])]
    for place, family in enumerate(present):
        own = rows[rows["method"] == family.method]
        root = (own["d"] / own["b"]) ** 0.5
        scaled = own.assign(**{name: own[name] / root for name in ("mean", "low", "high")})
        x = np.full(len(own), float(place))
        axes.plot(x, scaled["mean"], color=family.colour, linewidth=0.8)
        style.points(axes, x, scaled, family)
        axes.axhline(float(1 / root.iloc[0]), color=style.INK, linewidth=0.9, zorder=1)
    axes.set_xticks([])
    axes.set_xlim(-0.5, len(present) - 0.5)
    axes.set_ylim(0, None)
    axes.set_ylabel(r"$\gamma_1$ and $\gamma_2=\|R\|$, in units of $\sqrt{d/b}$")

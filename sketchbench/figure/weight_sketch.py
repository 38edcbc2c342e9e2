"""The errors of sketched weights against the identities of zhang2021, and their growth in d."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

CASES = {"centred": style.COLOURS[0], "uncentred": style.COLOURS[3], "structured": style.COLOURS[2]}
IDENTITIES = {
    "update_error": "Theorem 2",
    "product_error": "Lemma 5",
    "plain_error": "Theorem 1",
    "cross_term": "Lemma 4",
}
MARKERS = "o^sDvP"


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study weight_sketch. Left, a panel per identity: what was measured over what the paper
    states (quantities update_error, product_error, plain_error, cross_term) over d. Right: the
    quantity relative_error over d, its exact value, and the d/s claimed, at the smallest s.

    All intervals of the figure hold at once, but with probability 1e-3.
    """
    table = style.with_intervals(tables["weight_sketch"])
    figure = style.new_figure(3.7)
    panels = figure.subplot_mosaic(
        [["update_error", "product_error", "growth"], ["plain_error", "cross_term", "growth"]],
        width_ratios=[1, 1, 1.35],
    )
    shown = style.families(table)
    for quantity, text in IDENTITIES.items():
        axes = panels[quantity]
        _identity(axes, table[table["quantity"] == quantity], shown)
        axes.set_title(text)
    _growth(panels["growth"], table[table["quantity"] == "relative_error"], shown)
    for axes in panels.values():
        axes.set_xlabel("input dimension $d$")
    style.legend(figure, [], _entries(shown))
    return figure


def _marks(index: int, case: str) -> style.Family:
    """Here the colour tells the case, and the marker the family."""
    filled = index % 2 == 0
    return style.Family("", "", "", CASES[case], MARKERS[index // 2 % len(MARKERS)], filled)

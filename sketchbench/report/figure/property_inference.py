"""Property inference: areas under ROC curves, beside the paper's areas."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CASES = {  # what is seen, with the area that zhang2021 §6.3 states, and the colour
    "plain server": ("plain, server", 1.0, style.EXACT),
    "plain client": ("plain, client", 1.0, style.EXACT),
    "server": ("double-blind, server:\nsketched layers", 0.726, style.COLOURS[3]),
    "server, whole reply": ("double-blind, server:\nwhole reply", 0.726, style.COLOURS[3]),
    "client option I": ("double-blind, client:\n$WSS^T$ (option I)", 0.5, style.COLOURS[0]),
    "client option II": ("double-blind, client:\n$WSS^+$ (option II)", 0.5, style.COLOURS[0]),
    "client, open parameters": ("double-blind, client:\nopen parameters", 0.5, style.COLOURS[1]),
    "iterative sketching": ("iterative sketching,\nserver", None, style.COLOURS[2]),
    "compressed sensing": ("compressed sensing,\nserver", None, style.COLOURS[2]),
}
STATED: style.Line = {"color": style.INK, "marker": "d", "markerfacecolor": "white", "linestyle": "none"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the mean area under the ROC curve by case (quantity auc) from study property_inference, a bar for each share
    of a batch with the property, and a mark for a printed number."""
    rows = style.with_intervals(style.select(tables["property_inference"], quantity="auc"))
    shares = sorted(rows[Column.SHARE].unique())
    figure, axes = style.subplots(3.2)
    height = 0.8 / len(shares)
    for place, (case, (_, stated, colour)) in enumerate(CASES.items()):
        for index, share in enumerate(shares):
            series = style.select(rows, case=case, share=share)
            y = np.full(len(series), place + (index - (len(shares) - 1) / 2) * height)
            axes.barh(y, series[Column.MEAN] - 0.5, 0.9 * height, left=0.5, color=colour)
            bars = style.error_bars(series)
            axes.errorbar(series[Column.MEAN], y, xerr=bars, fmt=".", color=style.INK, elinewidth=0.9)
        if stated is not None:
            axes.plot([stated], [place], zorder=5, **STATED)
    axes.axvline(0.5, **style.BOUND)
    axes.set_yticks(range(len(CASES)), [label for label, _, _ in CASES.values()])
    axes.invert_yaxis()
    axes.set_xlim(0.25, 1.05)
    which = ", ".join(f"{share:.0%}" for share in shares)
    bars_are = f"\nbars, from above: {which} of the images of a batch have the property" if len(shares) > 1 else ""
    axes.set_xlabel(f"area under the ROC curve of the attack{bars_are}")
    style.legend(figure, [], {"stated in the paper, for LFW": STATED, "guessing": style.BOUND})
    return figure

"""ROC curves of a network trained plainly and through sketches."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CASES = {"plain": (style.EXACT, "o"), "sketched": (style.COLOURS[3], "^")}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study federated_lfw: the quantity roc by case, over false_positives; and the area under the curve
    (quantity auc) over the rounds; means of the few trainings, and bands from the least to the largest.
    """
    rows = tables["federated_lfw"]
    rows = rows.assign(low=rows[Column.MINIMUM], high=rows[Column.MAXIMUM])
    figure = style.new_figure(2.9)
    curves, areas = figure.subplots(1, 2)
    for case, (colour, marker) in CASES.items():
        series = rows[rows[Column.CASE] == case]
        look = {"color": colour, "marker": marker, "markersize": 3, "linewidth": 0.8}
        roc = series[series[Column.QUANTITY] == "roc"].sort_values(Column.FALSE_POSITIVES)
        style.curve(curves, roc[Column.FALSE_POSITIVES], roc, band=0.15, **look)
        area = series[series[Column.QUANTITY] == "auc"].sort_values(Column.ROUND)
        style.curve(areas, area[Column.ROUND], area, band=0.15, **look)
    ends = np.array([0.0, 1.0])
    curves.plot(ends, ends, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    curves.set_xlim(0, 1)
    curves.set_ylim(0, 1.02)
    areas.set_ylim(0.4, 1.02)
    areas.set_xscale("log")
    curves.set_xlabel("false positives")
    curves.set_ylabel("true positives")
    areas.set_xlabel("round")
    areas.set_ylabel("area under the ROC curve")
    handles = [
        style.handle(case, color=colour, marker=marker, linewidth=0.8) for case, (colour, marker) in CASES.items()
    ]
    nothing = style.handle("knowing nothing", color=style.INK, linewidth=0.9, linestyle="--")
    style.legend(figure, [], [*handles, nothing])
    return figure

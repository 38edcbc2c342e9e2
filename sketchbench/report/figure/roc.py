"""ROC curves of a network trained plainly and through sketches."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

CASES: dict[str, style.Line] = {
    "plain": {"color": style.EXACT, "marker": "o", "linewidth": 0.8},
    "sketched": {"color": style.COLOURS[3], "marker": "^", "linewidth": 0.8},
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study federated_lfw: the quantity roc by case, over false_positives; and the area under the curve
    (quantity auc) over the rounds; means of the few trainings, and bands from the least to the largest."""
    rows = style.with_range(tables["federated_lfw"])
    figure, (curves, areas) = style.subplots(2.9, 1, 2)
    for case, look in CASES.items():
        for axes, quantity, over in ((curves, "roc", Column.FALSE_POSITIVES), (areas, "auc", Column.ROUND)):
            series = style.select(rows, quantity=quantity, case=case).sort_values(over)
            style.curve(axes, series[over], series, band=0.15, markersize=3, **look)
    curves.plot([0, 1], [0, 1], zorder=1, **style.BOUND)
    curves.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="false positives", ylabel="true positives")
    areas.set(xscale="log", ylim=(0.4, 1.02), xlabel="round", ylabel="area under the ROC curve")
    style.legend(figure, [], {**CASES, "guessing": style.BOUND})
    return figure

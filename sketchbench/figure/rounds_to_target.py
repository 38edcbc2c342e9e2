"""Rounds to a test accuracy, with and without sketches, beside those that the paper printed."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

SHARES = (0.01, 0.1, 0.2, 0.5, 1)  # of the clients in a round
# zhang2021 Table 1, MNIST: rounds to 97 % for the perceptron, to 99 % for the convolutional network.
PRINTED: dict[str, dict[str, tuple[int, ...]]] = {
    "federated_mlp": {"plain": (222, 96, 84, 83, 82), "sketched": (572, 322, 308, 298, 287)},
    "federated_cnn": {"plain": (462, 309, 97, 91, 31), "sketched": (636, 176, 189, 170, 174)},
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study federated_mlp or federated_cnn: the quantities rounds_to_target by case, and rounds_ratio, over the share of
    clients in a round: the mean of all trainings, and a bar from the least to the largest. Open: as printed.

    A share at which some training never got there has no point.
    """
    ((study, table),) = tables.items()
    printed = PRINTED[study]
    families = style.families(table)
    figure = style.new_figure(2.7)
    rounds, ratio = figure.subplots(1, 2)
    reached = table[table["quantity"] == "rounds_to_target"]
    plain = reached[reached["case"] == "plain"]
    first = plain[plain["method"] == plain["method"].iloc[0]]  # the same for all
    _measured(rounds, first, {"color": style.EXACT, "marker": "o", "markersize": 4})
    for family in families:
        look = family.marks()
        own = reached[(reached["case"] == "sketched") & (reached["method"] == family.method)]
        _measured(rounds, own, look)
        quotient = table[(table["quantity"] == "rounds_ratio")]
        _measured(ratio, quotient[quotient["method"] == family.method], look)
    _printed(rounds, printed["plain"], style.EXACT, "o")
    _printed(rounds, printed["sketched"], style.INK, "s")
    ratios = [sketched / plain for plain, sketched in zip(printed["plain"], printed["sketched"], strict=True)]
    _printed(ratio, ratios, style.INK, "s")
    ratio.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    rounds.set_yscale("log")
    style.plain_log(rounds)
    ratio.set_ylim(bottom=0)
    rounds.set_ylabel("rounds to the target")
    ratio.set_ylabel("sketched / plain")
    for axes in (rounds, ratio):
        axes.set_xscale("log")
        axes.set_xticks(SHARES, [f"{100 * c:g} %" for c in SHARES])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("clients in a round")
    handles = [
        style.handle(label, color=colour, marker=marker, linestyle="none", markerfacecolor=face)
        for label, colour, marker, face in (
            ("plain", style.EXACT, "o", style.EXACT),
            ("plain, as printed", style.EXACT, "o", "none"),
            ("sketched, as printed", style.INK, "s", "none"),
        )
    ]
    style.legend(figure, families, handles)
    return figure


def _measured(axes: Axes, rows: pd.DataFrame, look: dict[str, Any]) -> None:
    rows = rows[rows["mean"].notna()].sort_values("participation")
    spread = [rows["mean"] - rows["minimum"], rows["maximum"] - rows["mean"]]
    axes.errorbar(rows["participation"], rows["mean"], spread, linewidth=0.8, **look)


def _printed(axes: Axes, values: Sequence[float], colour: object, marker: str) -> None:
    line: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 0.8}
    axes.plot(SHARES, values, marker=marker, markersize=5, markerfacecolor="none", **line)

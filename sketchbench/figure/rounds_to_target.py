"""Rounds to a test accuracy, with and without sketches, beside those that the paper printed."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.figure import style

# zhang2021 Table 1, the perceptron on MNIST: rounds to 97 % by the share of clients in a round.
PRINTED: dict[str, dict[float, int]] = {
    "plain": {0.01: 222, 0.1: 96, 0.2: 84, 0.5: 83, 1: 82},
    "sketched": {0.01: 572, 0.1: 322, 0.2: 308, 0.5: 298, 1: 287},
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study federated_mlp: the quantities rounds_to_target by case, and rounds_ratio, over the share of
    clients in a round: the mean of all trainings, and a bar from the least to the largest. Open: as printed.

    A share at which some training never got there has no point.
    """
    table = tables["federated_mlp"]
    families = style.families(table)
    figure = style.new_figure(2.7)
    rounds, ratio = figure.subplots(1, 2)
    reached = table[table["quantity"] == "rounds_to_target"]
    plain = reached[reached["case"] == "plain"]
    first = plain[plain["subject"] == plain["subject"].iloc[0]]  # the same for all
    _measured(rounds, first, {"color": style.EXACT, "marker": "o", "markersize": 4})
    for family in families:
        look = family.marks()
        own = reached[(reached["case"] == "sketched") & (reached["subject"] == family.subject)]
        _measured(rounds, own, look)
        quotient = table[(table["quantity"] == "rounds_ratio")]
        _measured(ratio, quotient[quotient["subject"] == family.subject], look)
    _printed(rounds, PRINTED["plain"], style.EXACT, "o")
    _printed(rounds, PRINTED["sketched"], style.INK, "s")
    ratios = {c: PRINTED["sketched"][c] / t for c, t in PRINTED["plain"].items()}
    _printed(ratio, ratios, style.INK, "s")
    ratio.axhline(1, color=style.INK, linewidth=0.9, linestyle="--", zorder=1)
    rounds.set_yscale("log")
    style.plain_log(rounds)
    ratio.set_ylim(bottom=0)
    rounds.set_ylabel("rounds to the target")
    ratio.set_ylabel("sketched / plain")
    for axes in (rounds, ratio):
        shares = sorted(PRINTED["plain"])
        axes.set_xscale("log")
        axes.set_xticks(shares, [f"{100 * c:g} %" for c in shares])
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


def _printed(axes: Axes, values: Mapping[float, float], colour: object, marker: str) -> None:
    line: dict[str, Any] = {"color": colour, "linestyle": ":", "linewidth": 0.8}
    axes.plot(
        list(values),
        list(values.values()),
        marker=marker,
        markersize=5,
        markerfacecolor="none",
        **line,
    )

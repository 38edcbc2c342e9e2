"""Effects on the rounds to a test accuracy: every training of a factorial experiment, and the factors' effects."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LEVEL = 0.95
LOOKS = {"plain": (style.EXACT, "o"), "sketched": (style.COLOURS[0], "s"), "ratio": (style.INK, "D")}
CASES = ("plain", "sketched")
WORDS = {"local_step": "local step"}
LOW = ("torch", "sketch")  # of the factors whose levels are words


def plot(tables: dict[str, pd.DataFrame], printed: Mapping[str, float] | None = None) -> Figure:
    """Plot a study of the task `rounds_factors`. Left: the levels of all factors in each run of the design, the high
    level filled. Middle: the rounds of these runs, plain and sketched (quantity rounds_to_target), with the smallest
    ratio on top; open if some training missed the target. Right: the factor by which the high level multiplies the
    rounds and their ratio (quantity effect), with intervals of 95 %. Vertical lines: `printed`, the paper's rounds by
    case."""
    (table,) = tables.values()
    figure, (levels, runs, factors) = style.subplots(3.6, 1, 3, width_ratios=(0.8, 1.5, 1.5))
    reached = style.select(table, quantity="rounds_to_target")
    parts = reached[Column.CASE].str.partition(": ")
    of = {name: reached[parts[0] == name].set_index(parts.loc[parts[0] == name, 2]) for name in CASES}
    order = list((of["sketched"][Column.MEAN] / of["plain"][Column.MEAN]).sort_values().index)
    both = _levels(levels, order)
    for name in CASES:
        _rounds(runs, of[name].loc[order], name, (printed or {}).get(name))
    runs.sharey(levels)
    runs.tick_params(labelleft=False)
    style.plain_log(runs, "x")
    runs.set_xlabel("rounds to the target")
    _effects(factors, style.select(table, quantity="effect"), both)
    lines = {name: {"color": c, "marker": m, "linestyle": "none"} for name, (c, m) in LOOKS.items()}
    if printed:
        lines["as printed"] = {"color": style.INK, "linestyle": ":"}
    if (reached[Column.STATUS] == "unfinished").any():
        lines["target missed"] = lines["plain"] | {"color": style.INK, "markerfacecolor": "none"}
    style.legend(figure, [], lines)
    return figure


def _levels(axes: Axes, runs: list[str]) -> dict[str, tuple[str, str]]:
    """Draw a row for each run and a column for each factor, filled at the high level; return the two levels of each
    factor."""
    chosen = [dict(part.rsplit(" ", 1) for part in run.split(", ")) for run in runs]
    both = {name: _both([run[name] for run in chosen]) for name in chosen[0]}
    square: style.Line = {"marker": "s", "markersize": 5, "color": style.INK, "markeredgewidth": 0.6}
    for column, (name, (_, high)) in enumerate(both.items()):
        for row, run in enumerate(chosen):
            axes.plot(column, row, markerfacecolor=style.INK if run[name] == high else "none", **square)
        axes.text(column, -0.9, WORDS.get(name, name), rotation=90, fontsize=7, ha="center", va="bottom")
    axes.set(xlim=(-0.6, len(both) - 0.4), ylim=(len(runs) - 0.5, -0.5))
    style.without_frame(axes)
    return both


def _both(values: list[str]) -> tuple[str, str]:
    """The two levels of a factor, the low level first; for words, LOW has the low levels."""
    try:
        low, high = sorted(set(values), key=float)
    except ValueError:
        low, high = sorted(set(values), key=lambda word: word not in LOW)
    return low, high


def _rounds(axes: Axes, rows: pd.DataFrame, name: str, printed: float | None) -> None:
    colour, marker = LOOKS[name]
    for place, row in enumerate(rows.to_dict("records")):
        face = "none" if row[Column.STATUS] == "unfinished" else colour
        axes.plot([row[Column.MINIMUM], row[Column.MAXIMUM]], [place, place], color=colour, linewidth=0.8)
        axes.plot(row[Column.MEAN], place, marker=marker, color=colour, markerfacecolor=face)
    if printed:
        axes.axvline(printed, color=colour, linestyle=":")


def _effects(axes: Axes, rows: pd.DataFrame, levels: Mapping[str, tuple[str, str]]) -> None:
    parts = rows[Column.CASE].str.partition(" on ")
    names = list(dict.fromkeys(parts[0]))
    for shift, (response, (colour, marker)) in zip((-0.2, 0, 0.2), LOOKS.items(), strict=True):
        own = rows[parts[2] == response]
        half = own[Column.SD] / np.sqrt(own[Column.TRIALS]) * stats.t.ppf((1 + LEVEL) / 2, own[Column.TRIALS] - 1)
        factor = np.exp(own[Column.MEAN])
        ends = [factor - np.exp(own[Column.MEAN] - half), np.exp(own[Column.MEAN] + half) - factor]
        places = [names.index(name) + shift for name in parts.loc[own.index, 0]]
        axes.errorbar(factor, places, xerr=ends, fmt=marker, color=colour, markersize=4, linewidth=0.8)
    axes.axvline(1, zorder=1, **style.BOUND)
    style.plain_log(axes, "x")
    axes.set_yticks(range(len(names)), [f"{WORDS.get(name, name)}\n{' → '.join(levels[name])}" for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("multiplied by, low to high level")

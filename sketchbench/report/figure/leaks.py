"""Leaks of compressed messages: against accuracy, over the rounds that an attacker sees, and by the age of keys."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

LEADS = (0, 5, 10, 30, 100)  # dB
SHADES, DARK = "Blues", 55  # the map of shares in %, and the share from which on text on it is white
CELL: list[str] = [Column.METHOD, Column.COMPRESSION]
VIEWS = (("server", "one client's message"), ("sum", "the sum of all messages"))
ATTACKERS = (  # place, words
    ("server", "images visible in one client's messages, %"),
    ("sum", "in sums of ten clients' messages, %"),
    ("eavesdropper", "in one client's messages, without the key, %"),
)
NEW, ONE = "a new key in each round", "one key for all rounds"
KEYS = {"convergence": NEW, "convergence_fixed": ONE}
LINES = {NEW: "-", ONE: "--"}


def plot_accuracy(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the accuracy with iid clients, from study frontier, over the lead of the best attack on one message over the
    class mean in dB, from study frontier_leakage, for each budget. Above: the attack on one client's message; below:
    the attack on the sum of all messages. The axis of leads is linear up to 10 dB, and logarithmic beyond."""
    trained, leaked = tables["frontier"], tables["frontier_leakage"]
    trained = trained[trained[Column.EPSILON].isna()] if Column.EPSILON in trained else trained
    accurate = style.select(trained[trained[Column.MEAN].notna()], quantity="accuracy", case="iid")
    leads = style.with_intervals(style.select(leaked, quantity="lead", round=1))
    accuracies = accurate[[*CELL, Column.LABEL, Column.MEAN]].rename(columns={Column.MEAN.value: "accuracy"})
    both = accuracies.merge(leads[[*CELL, Column.CASE, *style.MEASURED]], on=CELL)
    methods = style.methods(both, looks=style.COMPRESSOR_LOOKS)
    budgets = sorted(both[Column.COMPRESSION].unique())
    figure, grid = style.subplots(3.8, 2, max(1, len(budgets)), sharex=True, sharey=True, squeeze=False)
    for (view, words), line in zip(VIEWS, grid, strict=True):
        for budget, axes in zip(budgets, line, strict=False):
            _accuracies(axes, style.select(both, case=view, compression=budget), methods)
            axes.set_title("all bytes" if budget == 1 else f"1/{budget:g} of the bytes", fontsize=8)
            axes.set_xscale("symlog", linthresh=10)
            style.only_ticks(axes, LEADS)
            axes.set_xlim(-5, 200)
            axes.label_outer()
        line[0].set_ylabel(f"accuracy; seen:\n{words}")
    for axes in grid[1]:
        axes.set_xlabel("lead of attack, dB")
    style.legend(figure, methods)
    return figure


def _accuracies(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    axes.axvline(0, color=style.INK, linewidth=0.7, linestyle=":", zorder=1)
    for method in methods:
        own = method.rows(rows)
        for place in range(len(own)):
            row = own.iloc[[place]]
            lead, accuracy, bars = row[Column.MEAN], row["accuracy"], style.error_bars(row)
            axes.errorbar(lead, accuracy, xerr=bars, fmt="none", ecolor=method.colour, elinewidth=0.6)
            axes.plot(lead, accuracy, linestyle="none", zorder=4, **method.marks(4.5))


def plot_until_visible(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot the share of trials in which the image is visible, from study frontier_leakage: a block for each attacker,
    with a row for each compressor and a column for each budget and number of rounds. A cell that was not run is empty:
    compressors stop once all images are visible, or messages repeat."""
    rows = style.select(tables["frontier_leakage"], quantity="visible")
    rows = rows[rows[Column.COMPRESSION] > 1]
    rows = rows.assign(found=100 * rows[Column.COUNT] / rows[Column.TRIALS])
    methods = style.methods(rows, looks=style.COMPRESSOR_LOOKS)
    blocks = [style.select(rows, quantity="visible", case=place) for place, _ in ATTACKERS]
    heights = [max(1, block[Column.METHOD].nunique()) for block in blocks]
    figure, grid = style.subplots(0.16 * sum(heights) + 1.8, len(blocks), height_ratios=heights)
    for axes, block, (_, words) in zip(grid, blocks, ATTACKERS, strict=True):
        _shares(axes, block, methods)
        axes.set_title(words, fontsize=8, pad=14)
    return figure


def _shares(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    """Draw the shares as a table of shaded cells."""
    shown = [method for method in methods if len(method.rows(rows))]
    columns = sorted(set(zip(rows[Column.COMPRESSION], rows[Column.ROUND], strict=True)))
    cells = np.full((max(1, len(shown)), max(1, len(columns))), np.nan)
    for line, method in enumerate(shown):
        for row in method.rows(rows).to_dict("records"):
            cells[line, columns.index((row[Column.COMPRESSION], row[Column.ROUND]))] = row["found"]
    axes.imshow(cells, cmap=SHADES, vmin=0, vmax=100, aspect="auto")
    for (line, place), share in np.ndenumerate(cells):
        if not np.isnan(share):
            ink = "white" if share > DARK else style.INK
            axes.text(place, line, f"{share:.0f}", ha="center", va="center", fontsize=5.5, color=ink)
    axes.set_yticks(range(len(shown)), [method.label for method in shown])
    axes.set_xticks(range(len(columns)), [f"{number:.0f}" for _, number in columns])
    axes.set_xlabel("rounds", fontsize=7)
    budgets = [budget for budget, _ in columns]
    for budget in dict.fromkeys(budgets):
        first, count = budgets.index(budget), budgets.count(budget)
        axes.axvline(first - 0.5, color="white", linewidth=3)
        above: style.Line = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "fontsize": 6}
        axes.annotate(f"1/{budget:g} of the bytes", (first + (count - 1) / 2, -0.5), **above)
    axes.grid(visible=False)
    axes.tick_params(length=0, labelsize=6)
    axes.spines[:].set_visible(False)


def plot_keys(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot one key for all rounds beside a new key in each round, for the sketches that all three studies have. Left,
    from convergence and convergence_fixed: the mean excess loss (case E.1) over the rounds that both have. Right, from
    frontier_leakage: the share of trials with a visible image, for sums at the fewest bytes. At fixed weights, messages
    of one key repeat, so that its line stays at the share of the first round."""
    both = pd.concat([tables[study].assign(key=key) for study, key in KEYS.items()])
    losses = style.with_intervals(style.select(both, quantity="excess", case="E.1"))
    losses = losses[losses[Column.ROUND] <= losses.groupby("key")[Column.ROUND].max().min()]
    leaked = style.select(tables["frontier_leakage"], quantity="visible", case="sum")
    leaked = style.at_largest(leaked, Column.COMPRESSION)
    methods = [
        method
        for method in style.methods(losses, looks=style.COMPRESSOR_LOOKS)
        if all(len(method.rows(rows)) for rows in (leaked, *(own for _, own in losses.groupby("key"))))
    ]
    figure, (left, right) = style.subplots(2.8, 1, 2)
    for method in methods:
        for key, line in LINES.items():
            own = method.rows(style.select(losses, key=key)).sort_values(Column.ROUND)
            marks = {"linestyle": line, "linewidth": 0.9, **method.marks(3.5)}
            style.curve(left, own[Column.ROUND], own, **marks)
            seen = method.rows(leaked).sort_values(Column.ROUND)
            shares = seen[Column.COUNT] / seen[Column.TRIALS]
            right.plot(seen[Column.ROUND], shares if key == NEW else [shares.iloc[0]] * len(seen), **marks)
    left.set(xscale="log", yscale="log", xlabel="round", ylabel="excess loss")
    half = {**style.BOUND, "linestyle": ":"}
    right.axhline(0.5, zorder=1, **half)
    style.size_ticks(right, leaked[Column.ROUND])
    right.set(ylim=(-0.04, 1.04), xlabel="rounds seen", ylabel="share visible in sums of clients")
    keys = {key: {"color": style.INK, "linestyle": line} for key, line in LINES.items()}
    style.legend(figure, methods, {**keys, "half of the victims": half})
    return figure

"""One key for all rounds beside a new one in each: how training converges, and what sums of messages show."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

NEW, ONE = "a new key in each round", "one key for all rounds"
STUDIES = {"convergence": NEW, "convergence_fixed": ONE}
LINES = {NEW: "-", ONE: "--"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """For the sketches that all three studies have. Left, from convergence and convergence_fixed: the mean excess loss
    (case E.1) over the rounds that both have. Right, from frontier_leakage: the quantity visible, as a share of the
    trials, for sums at the fewest bytes. Where weights stay, messages of one key repeat, so that its line stays at the
    share of the first round."""
    both = pd.concat([tables[study].assign(key=key) for study, key in STUDIES.items()])
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

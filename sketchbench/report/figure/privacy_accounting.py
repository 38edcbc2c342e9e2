"""ε over the rounds of private training, by every accountant."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

PANELS = {
    "full": "full batches, a record replaced",
    "poisson": "Poisson sampling, a record added",
    "without_replacement": "without replacement, a record replaced",
    "with_replacement": "with replacement, a record replaced",
}
LINES: dict[str, tuple[str, style.Line]] = {  # by accountant, with the label
    "paper": ("Theorem 6.2", {"color": style.INK, "marker": "None", "linestyle": "--"}),
    "advanced": ("Lemmas H.7, H.4, H.3", {"color": style.COLOURS[3], "marker": "^"}),
    "classical": ("composition of 2010", {"color": style.COLOURS[1], "marker": "v"}),
    "rdp": ("RDP", {"color": style.COLOURS[2], "marker": "s"}),
    "pld": ("PLD", {"color": style.COLOURS[0], "marker": "o"}),
    "exact": ("exact", {"color": style.COLOURS[4], "marker": "x", "linestyle": ":"}),
}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study privacy_accounting: ε over the rounds T, a panel for each sampling, a line for each accountant."""
    rows = style.select(tables["privacy_accounting"], quantity="epsilon", status="accounted")
    figure, grid = style.subplots(4.6, 2, 2, sharex=True, sharey=True)
    for axes, (sampling, title) in zip(grid.flat, PANELS.items(), strict=True):
        axes.set(xscale="log", yscale="log", title=title)
        for accountant, (_, line) in LINES.items():
            series = style.select(rows, sampling=sampling, case=accountant).sort_values(Column.ROUND)
            axes.plot(series[Column.ROUND], series[Column.VALUE], linewidth=1.0, markersize=3.5, **line)
    for axes in grid[1]:
        axes.set_xlabel("rounds $T$")
    for axes in grid[:, 0]:
        axes.set_ylabel(r"$\varepsilon$")
    style.legend(figure, [], {label: {**line, "markersize": 3.5} for label, line in LINES.values()})
    return figure

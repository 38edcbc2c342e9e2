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
LINES = {  # by accountant: label, colour, marker, line
    "paper": ("Theorem 6.2", style.INK, "None", "--"),
    "advanced": ("Lemmas H.7, H.4, H.3", style.COLOURS[3], "^", "-"),
    "classical": ("composition of 2010", style.COLOURS[1], "v", "-"),
    "rdp": ("RDP", style.COLOURS[2], "s", "-"),
    "pld": ("PLD", style.COLOURS[0], "o", "-"),
    "exact": ("exact", style.COLOURS[4], "x", ":"),
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study privacy_accounting: ε over the rounds T, a panel for each sampling, a line for each accountant."""
    table = tables["privacy_accounting"]
    rows = table[(table[Column.QUANTITY] == "epsilon") & (table[Column.STATUS] == "accounted")]
    figure = style.new_figure(4.6)
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (sampling, title) in zip(grid.flat, PANELS.items(), strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(title)
        for accountant, (_, colour, marker, line) in LINES.items():
            chosen = (rows[Column.SAMPLING] == sampling) & (rows[Column.CASE] == accountant)
            series = rows[chosen].sort_values(Column.ROUND)
            look = {"color": colour, "marker": marker, "linestyle": line, "markersize": 3.5}
            axes.plot(series[Column.ROUND], series[Column.VALUE], linewidth=1.0, **look)
    for axes in grid[1]:
        axes.set_xlabel("rounds $T$")
    for axes in grid[:, 0]:
        axes.set_ylabel(r"$\varepsilon$")
    handles = [
        style.handle(label, color=colour, marker=marker, linestyle=line, markersize=3.5)
        for label, colour, marker, line in LINES.values()
    ]
    style.legend(figure, [], handles)
    return figure

"""The stability of error feedback: its memory over the rounds, and a map over compressions."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

NAMES = {
    "top_k": "$K$ largest",
    "count_sketch": "CountSketch",
    "count_sketch_linear": "linear hashes",
    "fiht": "FIHT",
}
LOOKS = {"top_k": (1, ":"), "count_sketch": (3, "-"), "count_sketch_linear": (4, "--"), "fiht": (0, "-")}
NEAR = 1.5  # times the round of a cross, within which the next one's name stands above its name
SHARES = {"within in all": ("o", True), "beyond in some": ("o", False), "beyond in all": ("x", True)}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """Plot a study of the task `feedback_memory`. Left: the mean memory over the rounds at the larger k (quantity
    memory), up to a cross at the first trial beyond the limit. Right: whether the memory exceeds the limit in a trial
    (quantity beyond), over the compression, by case, rows and k."""
    (table,) = tables.values()
    figure, (left, right) = style.subplots(3.2, 1, 2, width_ratios=(1, 1.2))
    lines = _memories(left, table[table[Column.K] == table[Column.K].max()])
    _map(right, style.select(table, quantity="beyond"))
    style.legend(figure, [], {**lines, "limit": style.BOUND, **{word: _mark(word, style.INK) for word in SHARES}})
    return figure


def _memories(axes: Axes, table: pd.DataFrame) -> dict[str, style.Line]:
    """Draw the memories; return their lines by name."""
    limit = style.select(table, quantity="largest")[Column.BOUND].max()
    rows = style.select(table, quantity="memory")
    plain = rows[rows[Column.S].isna() | (rows[Column.S] == rows[Column.S].median())]  # the rows of most tables
    crosses: list[tuple[float, str, Any]] = []
    for (case, compression), arm in plain.groupby([Column.CASE, Column.COMPRESSION]):
        look, line = LOOKS[str(case)]
        colour = style.COLOURS[look]
        known = arm[arm[Column.MEAN].notna()].sort_values(Column.ROUND)
        axes.plot(known[Column.ROUND], known[Column.MEAN], line, color=colour, linewidth=0.9)
        over = arm[arm[Column.MEAN].isna()]
        axes.plot(over[Column.ROUND], [limit] * len(over), "x", color=colour, markersize=5)
        if case == "top_k":
            continue
        if len(over):
            crosses.append((over[Column.ROUND].iloc[0], f"{compression:g}", colour))
        else:
            _name(axes, f"{compression:g}", (known[Column.ROUND].iloc[-1], known[Column.MEAN].iloc[-1]), 3, colour)
    height, before = 0, 0.0
    for number, name, colour in sorted(crosses):
        height = height + 1 if number < NEAR * before else 0
        _name(axes, name, (number, 1.1 * limit), 3 + 7 * height, colour)
        before = number
    axes.axhline(limit, **style.BOUND)
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel="memory / largest message")
    if limit > 0:
        axes.set_ylim(top=2 * limit)
    shown = [case for case in LOOKS if case in set(plain[Column.CASE])]
    return {NAMES[case]: {"color": style.COLOURS[LOOKS[case][0]], "linestyle": LOOKS[case][1]} for case in shown}


def _name(axes: Axes, name: str, at: tuple[float, float], above: float, colour: Any) -> None:
    """Write a name `above` points above a position."""
    axes.annotate(name, at, (0, above), textcoords="offset points", ha="center", fontsize=6, color=colour)


def _map(axes: Axes, rows: pd.DataFrame) -> None:
    keyed = rows.assign(place=[_place(row) for row in rows.to_dict("records")])
    names = list(dict.fromkeys(keyed.sort_values(Column.K, ascending=False)["place"]))
    compressions = sorted(keyed[Column.COMPRESSION].unique())
    for row in keyed.to_dict("records"):
        share = row[Column.COUNT] / row[Column.TRIALS]
        word = "within in all" if share == 0 else "beyond in all" if share == 1 else "beyond in some"
        at = compressions.index(row[Column.COMPRESSION]), names.index(row["place"])
        axes.plot(*at, **_mark(word, style.COLOURS[LOOKS[row[Column.CASE]][0]]))
    axes.set_xticks(range(len(compressions)), [f"{value:g}" for value in compressions])
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set(xlabel="compression $d/b$", xlim=(-0.5, len(compressions) - 0.5), ylim=(len(names) - 0.5, -0.5))


def _mark(word: str, colour: Any) -> style.Line:
    marker, filled = SHARES[word]
    return {"marker": marker, "color": colour, "markerfacecolor": colour if filled else "none", "linestyle": "none"}


def _place(row: dict[Any, Any]) -> str:
    """The row of the map in which an arm stands."""
    rows = row[Column.S]
    of = "" if pd.isna(rows) else f", {rows:.0f} row{'s' if rows != 1 else ''}"
    return f"{NAMES[str(row[Column.CASE])]}{of}, $K$ = {row[Column.K]:g}"

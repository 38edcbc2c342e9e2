"""Compressors at equal bytes, counted in three ways: test errors, and rounds to the target."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.frontier.cells import BOTH, CELL, SETTING, SUMS, by_setting, dominated

CLIENTS = {  # by case
    "iid": "clients that are alike",
    "one class": "clients of one class each",
    "sampled": "few of many clients in a round, without state",
}
WAYS = {Column.BYTES_UP: "sent", Column.BYTES_DOWN: "received", BOTH: "both ways"}
FADED = 0.35  # opacity of what is dominated
LEAST = 1e-3  # test error
KEYS = [*CELL, Column.CASE, Column.EPSILON]
LARGE, SMALL = 5.0, 2.6  # points, of markers
MARK: style.Line = {"marker": "o", "color": "0.3", "linestyle": "none"}
SIZES: dict[str, style.Line] = {
    "large: none takes as few bytes and is better": {**MARK, "markersize": LARGE},
    "small: another does": {**MARK, "markersize": SMALL},
}
HIGH, HEAD = 2.05, 0.45  # inches, of a line of panels and beside them


class PanelAxes(NamedTuple):
    """The axes of a row of panels."""

    y: str
    x: str
    rows: pd.DataFrame


def plot(tables: dict[str, pd.DataFrame], views: Sequence[str] = ("round",)) -> Figure:
    """Plot the tables of trainings, with a row of three panels for each setting: over the bytes that a client sends,
    receives, and both. The view `round` has the test error, 1 minus the accuracy, over the bytes of a round; `target`
    has the rounds to the target over their bytes. Large markers: no other compressor takes as few bytes and is better,
    beyond both intervals."""
    rows = pd.concat(tables.values(), ignore_index=True)
    rows = rows.reindex(columns=list(dict.fromkeys([*rows, *map(str, (*KEYS, Column.VALUE))])))  # no ε, no target
    accuracy = style.with_intervals(style.select(rows[rows[Column.MEAN].notna()], quantity="accuracy"))
    accuracy = accuracy.assign(**{BOTH: accuracy[Column.BYTES_UP] + accuracy[Column.BYTES_DOWN]})
    missing = "reached by none" if "rounds_to_target" in rows[Column.QUANTITY].to_numpy() else "not measured"
    known = {
        "round": PanelAxes("test error", "in a round", by_setting(_errors(accuracy))),
        "target": PanelAxes("rounds to target", "to the target", by_setting(_to_target(accuracy, rows))),
    }
    methods = style.methods(accuracy, looks=style.COMPRESSOR_LOOKS)
    lines = [(known[view], *setting) for view in views for setting in _settings(by_setting(accuracy))]
    figure, grid = style.subplots(HIGH * len(lines) + HEAD, len(lines), len(WAYS), sharey="row", squeeze=False)
    for (view, title, setting), line in zip(lines, grid, strict=True):
        rows = view.rows.merge(setting, on=SETTING)
        for axes, way in zip(line, WAYS, strict=True):
            if rows.empty:
                axes.text(0.5, 0.5, missing, ha="center", fontsize=6, transform=axes.transAxes)
                axes.set_yticks([])
            else:
                _panel(axes, rows, way, methods)
            axes.set_title(" ", fontsize=8)  # room for the line's title
        style.head(line[0], title)
        line[0].set_ylabel(view.y)
    for name, block in zip(views, np.split(grid, len(views)), strict=True):
        for way, column in zip(WAYS, block.T, strict=True):
            _share(column, known[name].rows[way])
            column[-1].set_xlabel(f"bytes {WAYS[way]}\n{known[name].x}")
    figure.legend(handles=style.entries(SIZES), loc="outside lower right", ncols=2)
    for (view, _, setting), line in zip(lines, grid, strict=True):
        if ends := _ends(view.rows.merge(setting, on=SETTING), methods):
            style.label_ends(line[-1], ends, HIGH - 0.45)
    return figure


def _errors(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with errors instead of accuracies, at least LEAST for a log scale, and the ends of their intervals."""
    low, high = (1 - rows[end] for end in ("high", "low"))
    mean = (1 - rows[Column.MEAN]).clip(lower=LEAST)
    return rows.assign(**{Column.MEAN: mean, "low": low.clip(lower=LEAST), "high": high})


def _to_target(accuracy: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with rounds to the target instead of accuracies, without intervals, and the bytes of these rounds."""
    reached = style.select(rows[rows[Column.VALUE].notna()], quantity="rounds_to_target")
    both = accuracy.drop(columns=[Column.VALUE]).merge(reached[[*KEYS, Column.VALUE]], on=KEYS)
    rounds = both[Column.VALUE]
    measured = {str(name): rounds for name in style.MEASURED} | {str(way): both[way] * rounds for way in WAYS}
    return both.assign(**measured)


def _settings(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The settings by title, first the settings without privacy."""
    keys = rows[SETTING].drop_duplicates()
    keys = keys.sort_values([Column.EPSILON, Column.CASE], ascending=[False, True], na_position="first")
    for place, (case, epsilon, _) in enumerate(keys.itertuples(index=False)):
        clients = CLIENTS.get(case.removesuffix(SUMS), case.removesuffix(SUMS))
        noise = "noise shared under secure aggregation" if case.endswith(SUMS) else "noise at each client"
        yield clients + ("" if pd.isna(epsilon) else f", ε = {epsilon:g} with {noise}"), keys.iloc[[place]]


def _panel(axes: Axes, rows: pd.DataFrame, way: str, methods: list[style.MethodStyle]) -> None:
    rows = rows.assign(dominated=dominated(rows.assign(high=-rows["low"], low=-rows["high"]), way))
    for method, series, x in style.series(rows, methods, way):
        mean, colour = series[Column.MEAN], method.colour
        axes.plot(x, mean, color=colour, linewidth=0.6, alpha=FADED)
        axes.vlines(x, series["low"], series["high"], color=colour, linewidth=0.6, alpha=FADED)
        for behind, size in ((True, SMALL), (False, LARGE)):
            shown = (series["dominated"] == behind).to_numpy()
            if shown.any():
                axes.plot(x[shown], mean[shown], linestyle="none", zorder=4, **method.marks(size))
    low, high = float(rows[Column.MEAN].min()), float(np.fmax(rows[Column.MEAN], rows["high"]).max())
    axes.set_ylim(0.8 * low, 1.15 * high)
    _logarithmic(axes, "y")


def _ends(rows: pd.DataFrame, methods: list[style.MethodStyle]) -> list[style.End]:
    """The end of each method's line in the last panel."""
    ends = []
    for method, series, x in style.series(rows, methods, BOTH):
        if len(series):
            ends.append(style.End(method, float(x[-1]), float(series[Column.MEAN].iloc[-1])))
    return ends


def _share(column: np.ndarray, x: pd.Series) -> None:
    """Give the panels of a column one x axis, with numbers at the lowest."""
    for axes in column:
        if len(x):  # else nobody reaches the target
            axes.set_xlim(x.min() / 1.4, x.max() * 1.4)
        _logarithmic(axes, "x")
        axes.tick_params(labelbottom=axes is column[-1])


def _logarithmic(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with few ticks; 10,000 is shown as 10 k."""
    axes.set(**{f"{which}scale": "log"})
    axis: Axis = getattr(axes, f"{which}axis")
    low, high = sorted(axis.get_view_interval())
    ticks = {100.0: (1.0, 3.0), 10.0: (1.0, 2.0, 5.0), 4.0 if which == "x" else 10.0: (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)}
    axis.set_major_locator(LogLocator(subs=next((ticks[span] for span in sorted(ticks) if high < span * low), (1.0,))))
    axis.set_major_formatter(FuncFormatter(_shorten))
    axis.set_minor_locator(NullLocator())


def _shorten(number: float, _: int | None = None) -> str:
    """10 k for 10,000, and 3 M for 3,000,000."""
    size, unit = next(((size, unit) for size, unit in ((1e6, " M"), (1e3, " k")) if number >= size), (1, ""))
    return f"{number / size:g}{unit}"

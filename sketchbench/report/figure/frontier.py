"""Compressors at equal bytes: the error that each leaves."""

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.frontier.cells import by_setting, cells

CLIENTS = {"iid": "clients that are alike", "one class": "clients of one class each"}  # by case
FADED = 0.35  # opacity of what is dominated
LEAST = 1e-3  # test error


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study frontier, for each setting: the test error, 1 less the accuracy, over the bytes that a client sends
    in a round. Large markers: no other compressor sends as little and is more accurate beyond both intervals."""
    table = tables["frontier"]
    table = table.reindex(columns=list(dict.fromkeys([*table, Column.EPSILON.value])))  # missing without privacy
    rows = style.select(table[table[Column.MEAN].notna()], quantity="accuracy")
    front = cells({"frontier": table})[[*_KEYS, "dominated"]]
    rows = _errors(by_setting(style.with_intervals(rows)))
    rows = rows.merge(front, on=_KEYS, how="left", suffixes=("", "_of_cell"))
    methods = style.methods(rows, looks=style.COMPRESSOR_LOOKS)
    settings = list(_settings(rows))
    lines = -(-len(settings) // 2)
    figure, grid = style.subplots(2.2 * lines + 0.2, lines, 2, sharex=True, squeeze=False)
    for axes, (title, part) in zip(grid.flat, settings, strict=False):
        _panel(axes, part, methods)
        axes.set_title(title, fontsize=8)
    for axes in grid[:, 0]:
        axes.set_ylabel("test error")
    for axes in grid[-1]:
        axes.set_xlabel("sent by a client in a round, bytes")
        style.plain_log(axes, "x")
    for axes in grid.ravel()[len(settings) :]:
        axes.set_visible(False)
    style.legend(figure, methods)
    return figure


_KEYS: list[str] = [Column.METHOD, Column.COMPRESSION, Column.CASE, Column.EPSILON]


def _errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors in the place of accuracies, with the ends of their intervals; on a log scale, the least are LEAST."""
    low, high = (1 - rows[end] for end in ("high", "low"))
    mean = (1 - rows[Column.MEAN]).clip(lower=LEAST)
    return rows.assign(**{Column.MEAN: mean, "low": low.clip(lower=LEAST), "high": high})


def _settings(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The settings with their titles, the settings without privacy first."""
    rows = rows.assign(**{Column.EPSILON: rows.get(Column.EPSILON, float("nan"))})
    order = [Column.EPSILON, Column.CASE]
    keys = rows[order].drop_duplicates().sort_values(order, ascending=[False, True], na_position="first")
    for epsilon, case in keys.itertuples(index=False):
        private = rows[Column.EPSILON].isna() if pd.isna(epsilon) else rows[Column.EPSILON] == epsilon
        title = CLIENTS.get(case, str(case)) + ("" if pd.isna(epsilon) else f", private: ε = {epsilon:g}")
        yield title, rows[private & (rows[Column.CASE] == case)]


def _panel(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle]) -> None:
    axes.set_xscale("log")
    for method, series, x in style.series(rows, methods, Column.BYTES_UP):
        mean, colour = series[Column.MEAN], method.colour
        axes.plot(x, mean, color=colour, linewidth=0.5, alpha=FADED)
        bars = style.error_bars(series)
        axes.errorbar(x, mean, yerr=bars, fmt="none", ecolor=colour, elinewidth=0.5, alpha=FADED)
        for place, row in zip(x, series.to_dict("records"), strict=True):
            marks = method.marks(2.6 if row["dominated"] is True else 5.0)
            axes.plot([place], [row[Column.MEAN]], linestyle="none", zorder=4, **marks)
    axes.set(yscale="log", ylim=(0.8 * rows[Column.MEAN].min(), 1.05))
    style.plain_log(axes)

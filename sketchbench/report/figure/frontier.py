"""Compressors at equal bytes: the error that each leaves."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style
from sketchbench.report.frontier.cells import by_setting, cells

FADED = 0.35  # opacity of what is dominated


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From study frontier, for each setting: the test error, 1 less the accuracy, over the bytes that a client sends
    in a round. Large markers: no other compressor sends as little and is more accurate beyond both intervals.

    All intervals of a setting's figure hold at once, except with probability 1e-3.
    """
    table = tables["frontier"]
    front = cells({"frontier": table})
    rows = table[(table[Column.QUANTITY] == "accuracy") & table[Column.MEAN].notna()]
    rows = _errors(by_setting(style.with_intervals(rows))).merge(
        front[[*_KEYS, "dominated"]], on=_KEYS, how="left", suffixes=("", "_of_cell")
    )
    shown = style.families(rows, looks=style.COMPRESSOR_LOOKS)
    settings = list(_settings(rows))
    figure = style.new_figure(2.2 * -(-len(settings) // 2) + 0.2)
    grid = figure.subplots(-(-len(settings) // 2), 2, sharex=True, squeeze=False).ravel()
    for axes, (title, part) in zip(grid, settings, strict=False):
        _panel(axes, part, shown)
        axes.set_title(title, fontsize=8)
    for axes in grid[::2]:
        axes.set_ylabel("test error")
    for axes in grid[-2:]:
        axes.set_xlabel("sent by a client in a round, bytes")
    for axes in grid[len(settings) :]:
        axes.set_visible(False)
    style.legend(figure, shown)
    return figure


_KEYS: list[str] = [Column.METHOD, Column.COMPRESSION, Column.CASE, Column.EPSILON]


def _errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors in the place of accuracies, with the ends of their intervals."""
    low, high = (1 - rows[end] for end in ("high", "low"))
    return rows.assign(**{Column.MEAN: 1 - rows[Column.MEAN], "low": low.clip(lower=1e-3), "high": high})


def _settings(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The settings with their titles, those without privacy first."""
    rows = rows.assign(**{Column.EPSILON: rows.get(Column.EPSILON, float("nan"))})
    order = [Column.EPSILON, Column.CASE]
    keys = rows[order].drop_duplicates().sort_values(order, ascending=[False, True], na_position="first")
    for epsilon, case in keys.itertuples(index=False):
        private = rows[Column.EPSILON].isna() if pd.isna(epsilon) else rows[Column.EPSILON] == epsilon
        title = f"{case} clients" + ("" if pd.isna(epsilon) else f", ε = {epsilon:g}")
        yield title, rows[private & (rows[Column.CASE] == case)]


def _panel(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    axes.set_xscale("log")
    for index, family in enumerate(shown):
        series = family.rows(rows).sort_values(Column.BYTES_UP)
        x = style.dodge(series[Column.BYTES_UP], index, len(shown), decades=0.3)
        axes.plot(x, series[Column.MEAN], color=family.colour, linewidth=0.5, alpha=FADED, zorder=2)
        bars = [series[Column.MEAN] - series["low"], series["high"] - series[Column.MEAN]]
        axes.errorbar(x, series[Column.MEAN], yerr=bars, fmt="none", ecolor=family.colour, elinewidth=0.5, alpha=FADED)
        for place, row in zip(x, series.to_dict("records"), strict=True):
            marks: dict[str, Any] = family.marks(2.6 if row["dominated"] is True else 5.0)
            axes.plot([place], [row[Column.MEAN]], linestyle="none", zorder=4, **marks)
    axes.set_yscale("log")
    axes.set_ylim(0.8 * rows[Column.MEAN].min(), 1.05)
    style.plain_log(axes)

"""The effect on the error of keeping the support out of the padding."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

KINDS = {"sparse": "sparse signals", "heavy_tail": "heavy tails"}
LIMIT: dict[str, Any] = {"color": style.INK, "linewidth": 0.9, "linestyle": "--"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies padding and padding_starved, a column for each kind of signals, over the compression:
    the error with the support kept out of the padding over the one without (quantity ratio); below,
    the share of the support that fell into the padding (quantity wasted).

    All intervals of the figure hold at once, except with probability 1e-3.
    """
    table = pd.concat([tables["padding"], tables["padding_starved"]], ignore_index=True)
    table = table[table[Column.D] == table[Column.D].max()]
    table = table.assign(**{Column.COMPRESSION: table[Column.D] / table[Column.B]})
    wasted = (table[Column.QUANTITY] == "wasted") & (table[Column.SUPPORT] == "padded")
    drawn = style.with_intervals(table[(table[Column.QUANTITY] == "ratio") | wasted])
    shown = style.families(drawn, looks=style.RECOVERY_LOOKS)
    kinds = [kind for kind in KINDS if (drawn[Column.CASE] == kind).any()]
    kinds = kinds or sorted(drawn[Column.CASE].unique())
    figure = style.new_figure(3.6)
    grid = figure.subplots(2, len(kinds), sharex=True, sharey="row", squeeze=False)
    for kind, ratio, share in zip(kinds, grid[0], grid[1], strict=True):
        series = drawn[drawn[Column.CASE] == kind]
        _ratios(ratio, series[series[Column.QUANTITY] == "ratio"], shown)
        _shares(share, series[series[Column.QUANTITY] == "wasted"], shown, _padding(int(table[Column.D].max())))
        ratio.set_title(KINDS.get(kind, kind))
        style.compressions(share, table[Column.COMPRESSION], apart=0.0, margin=1.25)
    style.limits(grid[0, 0], drawn[drawn[Column.QUANTITY] == "ratio"], include=1)
    grid[1, 0].set_ylim(bottom=0)
    grid[0, 0].set_ylabel("error, unpadded / padded")
    grid[1, 0].set_ylabel("share of the support\nin the padding")
    figure.align_ylabels(grid[:, 0])
    lines = [style.handle("no difference", color=style.EXACT, linewidth=1.0)]
    if drawn[Column.BOUND].notna().any():
        lines.append(style.handle("at most, as claimed", **LIMIT))
    style.legend(figure, shown, lines)
    return figure


def _padding(d: int) -> float:
    """The share of padded coordinates that are padding, for the Walsh-Hadamard transform."""
    return 1 - d / 2 ** (d - 1).bit_length()


def _ratios(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    axes.axhline(1, color=style.EXACT, linewidth=1.0, zorder=1)
    for bound in rows[Column.BOUND].dropna().unique():
        axes.axhline(bound, zorder=1, **LIMIT)
    _points(axes, rows, shown)


def _shares(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle], padding: float) -> None:
    axes.axhline(padding, color=style.EXACT, linewidth=1.0, zorder=1)
    axes.annotate(
        "share of the coordinates in the padding",
        (0.02, padding),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, -3),
        textcoords="offset points",
        verticalalignment="top",
        fontsize=7,
        color="0.35",
    )
    _points(axes, rows, shown)


def _points(axes: Axes, rows: pd.DataFrame, shown: list[style.MethodStyle]) -> None:
    decades = min(0.04 * (len(shown) - 1), 0.2)
    for index, family in enumerate(shown):
        series = family.rows(rows).sort_values(Column.COMPRESSION)
        x = style.dodge(series[Column.COMPRESSION], index, len(shown), decades=decades)
        style.points(axes, x, series, family)

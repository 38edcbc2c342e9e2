"""The effect on the error of keeping the support out of the padding."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sketchbench.measure.column import Column
from sketchbench.report.figure import style

KINDS = {"sparse": "sparse signals", "heavy_tail": "heavy tails"}


def plot(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies padding and padding_starved, a column for each kind of signals, over the compression:
    the error with the support kept out of the padding over the one without (quantity ratio); below,
    the share of the support that fell into the padding (quantity wasted)."""
    table = pd.concat([tables["padding"], tables["padding_starved"]], ignore_index=True)
    table = style.with_compression(style.at_largest(table, Column.D))
    wasted = (table[Column.QUANTITY] == "wasted") & (table[Column.SUPPORT] == "padded")
    rows = style.with_intervals(table[(table[Column.QUANTITY] == "ratio") | wasted])
    methods = style.methods(rows, looks=style.RECOVERY_LOOKS)
    compressions = rows[Column.COMPRESSION].dropna()
    kinds = [kind for kind in KINDS if (rows[Column.CASE] == kind).any()]
    kinds = kinds or sorted(rows[Column.CASE].unique())
    figure, grid = style.subplots(3.6, 2, len(kinds), sharey="row", squeeze=False)
    for kind, ratio, share in zip(kinds, *grid, strict=True):
        ratios = style.select(rows, case=kind, quantity="ratio")
        ratio.axhline(1, zorder=1, **style.TRUE)
        for bound in ratios[Column.BOUND].dropna().unique():
            ratio.axhline(bound, zorder=1, **style.BOUND)
        _points(ratio, ratios, methods, compressions)
        ratio.set_title(KINDS.get(kind, kind))
        d = int(table[Column.D].max())
        padding = 1 - d / 2 ** (d - 1).bit_length()  # the Walsh-Hadamard transform pads to a power of two
        share.axhline(padding, zorder=1, **style.TRUE)
        place = {"xycoords": share.get_yaxis_transform(), "xytext": (0, -3), "textcoords": "offset points"}
        text = {"verticalalignment": "top", "fontsize": 7, "color": "0.35"}
        share.annotate("share of the coordinates in the padding", (0.02, padding), **place, **text)
        _points(share, style.select(rows, case=kind, quantity="wasted"), methods, compressions)
        style.categories(share, compressions, style.compression)
        style.categories(ratio, compressions, "")
        share.set_xlabel("compression $d/b$")
    style.limits(grid[0, 0], style.select(rows, quantity="ratio"), include=1)
    grid[1, 0].set_ylim(bottom=0)
    grid[0, 0].set_ylabel("error, unpadded / padded")
    grid[1, 0].set_ylabel("share of the support\nin the padding")
    figure.align_ylabels(grid[:, 0])
    claimed = {"at most, as claimed": style.BOUND} if rows[Column.BOUND].notna().any() else {}
    style.legend(figure, methods, {"no difference": style.TRUE, **claimed})
    return figure


def _points(axes: Axes, rows: pd.DataFrame, methods: list[style.MethodStyle], compressions: pd.Series) -> None:
    for method, series, x in style.series(rows, methods, Column.COMPRESSION, among=compressions):
        style.points(axes, x, series, method)

"""The look of all figures: theme, families, intervals.

A family has the same colour and marker in every figure. Two that differ in one detail only (weaker hashing, repeated
rows) share a colour, and one of them has an open marker. A recovery has the colour of the sketch it decodes, and of
the recoveries only the two that tang2021 compares are filled. A family that is not listed here, such as a user's, gets
a combination of `SPARE`, in the alphabetical order of the names.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from numpy.typing import ArrayLike

from sketchbench.measure.column import Column
from sketchbench.measure.interval import Interval, mean_interval
from sketchbench.report.figure.theme import theme

WIDE = 7.0  # inches: both columns of a paper
ERROR = 1e-3  # probability that any interval of a figure misses the true value
MEASURED = (Column.MEAN, "low", "high")  # a mean and the ends of its interval
# seaborn's colour-blind palette in its order, with those darkened that have a contrast below 3 against white
COLOURS: list[Any] = [
    to_rgb(colour)
    for colour in (
        "#0173b2",
        "#b87700",
        "#028f68",
        "#c64f00",
        "#b65fa6",
        "#9a6a42",
        "#c2528f",
        "#767676",
        "#857c00",
        "#2387bd",
    )
]
INK = "0.15"  # claims
EXACT = "0.55"  # exact values
GROUPS = (
    "Dense",
    "Transforms",
    "CountSketch",
    "Sparse embeddings",
    "Sampling",
    "Recoveries",
    "Compressors",
    "Own",
)

Look = tuple[str, Any, str, bool]  # group, colour, marker, filled
LOOKS: dict[str, Look] = {  # by name in conf/sketch
    "gaussian": ("Dense", COLOURS[0], "o", True),
    "ams": ("Dense", COLOURS[1], "s", True),
    "ams_polynomial": ("Dense", COLOURS[1], "s", False),
    "srht": ("Transforms", COLOURS[2], "D", True),
    "srht_replacement": ("Transforms", COLOURS[2], "D", False),
    "srct": ("Transforms", COLOURS[5], "p", True),
    "count_sketch": ("CountSketch", COLOURS[3], "^", True),
    "count_sketch_polynomial": ("CountSketch", COLOURS[3], "^", False),
    "balanced_count_sketch": ("CountSketch", "#661100", ">", True),
    "sparse_embedding": ("Sparse embeddings", COLOURS[4], "v", True),
    "block_sparse_embedding": ("Sparse embeddings", COLOURS[9], "h", True),
    "block_sparse_embedding_polynomial": ("Sparse embeddings", COLOURS[9], "h", False),
    "uniform_sampling": ("Sampling", "black", "X", True),
    "identity": ("Sampling", "0.5", "*", True),
}
RECOVERY_LOOKS: dict[str, Look] = {  # by name in conf/recovery
    "fiht": ("Recoveries", COLOURS[0], "o", True),
    "fiht_relative": ("Recoveries", COLOURS[0], "o", False),
    "fiht_cosine": ("Recoveries", COLOURS[5], "p", False),
    "fiht_replacement": ("Recoveries", COLOURS[4], "s", False),
    "iht": ("Recoveries", COLOURS[1], "v", False),
    "count_sketch": ("Recoveries", COLOURS[3], "^", True),
    "desketch_count_sketch": ("Recoveries", COLOURS[3], "^", False),
    "desketch_srht": ("Recoveries", COLOURS[2], "D", False),
}
COMPRESSOR_LOOKS: dict[str, Look] = {  # by name in conf/compressor
    "none": ("Compressors", "black", "*", True),
    "float16": ("Compressors", "0.45", "P", True),
    "int8": ("Compressors", "0.45", "P", False),
    "srht": ("Compressors", COLOURS[2], "D", False),
    "count_sketch": ("Compressors", COLOURS[3], "^", False),
    "gaussian": ("Compressors", COLOURS[0], "o", False),
    "fiht": ("Compressors", COLOURS[0], "o", True),
    "count_sketch_feedback": ("Compressors", COLOURS[3], "^", True),
    "fetch_sgd": ("Compressors", COLOURS[3], "v", True),
    "sketched_layers": ("Compressors", COLOURS[5], "p", True),
    "top_k": ("Compressors", COLOURS[1], "s", True),
    "random_k": ("Compressors", COLOURS[1], "s", False),
    "qsgd": ("Compressors", COLOURS[4], "h", False),
    "sign": ("Compressors", COLOURS[4], "X", True),
    "power_sgd": ("Compressors", COLOURS[8], ">", True),
}
SPARE = list(itertools.product("<8dHP", (COLOURS[7], COLOURS[6], *COLOURS[:6]), (True, False)))


@dataclass(frozen=True)
class MethodStyle:
    """A sketch family, or a recovery, as the figures show it: its colour (as matplotlib takes it) and marker."""

    method: str  # its name in conf/sketch or conf/recovery, the `method` column
    label: str
    group: str
    colour: Any
    marker: str
    filled: bool

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table that are about this family."""
        return table[table[Column.METHOD] == self.method]

    def marks(self, size: float = 4.0) -> dict[str, Any]:
        """Keyword arguments of a Line2D that draws this family's marker, at this size in points."""
        return {
            "marker": self.marker,
            "color": self.colour,
            "markersize": size,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.8,
        }


def families(*tables: pd.DataFrame, looks: Mapping[str, Look] = LOOKS) -> list[MethodStyle]:
    """The families of these tables, in the order of their groups.

    Arguments:
        tables: tables with the columns `method` and `label`.
        looks: what is known of their looks, by method; RECOVERY_LOOKS or COMPRESSOR_LOOKS where the methods are such.
    """
    pairs = pd.concat([table[[Column.METHOD, Column.LABEL]] for table in tables])
    labels = dict(zip(pairs[Column.METHOD], pairs[Column.LABEL], strict=True))
    known = [name for name in looks if name in labels]
    shown = [MethodStyle(name, labels[name], *looks[name]) for name in known]
    for index, name in enumerate(sorted(set(labels) - set(known))):
        marker, colour, filled = SPARE[index % len(SPARE)]
        shown.append(MethodStyle(name, labels[name], "Own", colour, marker, filled))
    return sorted(shown, key=lambda family: GROUPS.index(family.group))


def new_figure(height: float, width: float = WIDE) -> Figure:
    """An empty figure of this size in inches; sets the theme, whose fonts are legible in print at that size."""
    matplotlib.style.use(theme(INK, COLOURS))
    return Figure(figsize=(width, height), layout="constrained")


def with_intervals(rows: pd.DataFrame, candidates: int | None = None) -> pd.DataFrame:
    """The rows that have a mean, with columns `low` and `high`: the ends of simultaneous confidence intervals. That of
    a single trial is its value.

    Arguments:
        rows: rows with the columns of a mean over trials.
        candidates: among how many intervals the error rate ERROR is shared; None: as many as there are. Where rows
            were selected by what was measured, it counts those that they were selected from.
    """
    rows = rows[rows[Column.MEAN].notna()]
    error = ERROR / max(candidates or int((rows[Column.TRIALS] > 1).sum()), 1)
    limits = [_interval(row, error) for row in rows.to_dict("records")]
    return rows.assign(low=[i.low for i in limits], high=[i.high for i in limits])


def _interval(row: dict[Any, Any], error: float) -> Interval:
    if row[Column.TRIALS] == 1:
        return Interval(row[Column.MEAN], row[Column.MEAN])
    return mean_interval(row[Column.MEAN], row[Column.SD], row[Column.SKEWNESS], int(row[Column.TRIALS]), error=error)


def worst(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The row with the largest mean in every group."""
    rows = rows[rows[Column.MEAN].notna()].reset_index(drop=True)
    return rows.loc[rows.groupby(list(by))[Column.MEAN].idxmax()]


def without_constants(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without the families whose values never vary (such as `No sketch`), unless there are only such."""
    random = rows[Column.SD] > 1e-9 * rows[Column.MEAN].abs().clip(lower=1)
    kept = rows[rows[Column.METHOD].isin(rows.loc[random, Column.METHOD])]
    return rows if kept.empty else kept


def points(
    axes: Axes, x: ArrayLike, rows: pd.DataFrame, family: MethodStyle, size: float = 4.0, ring: float = 1
) -> None:
    """Draw means with their intervals, in the family's colour and marker.

    Arguments:
        axes: where to draw.
        x: the position of each row.
        rows: rows with `mean`, `low` and `high`.
        family: the family that they are about.
        size: of a marker, in points.
        ring: how many times larger an open marker is; above 1 it surrounds the filled ones at the same position.
    """
    mean = rows[Column.MEAN].to_numpy()
    bars = np.maximum(np.array([mean - rows["low"], rows["high"] - mean]), 0)
    axes.errorbar(x, mean, yerr=bars, fmt="none", ecolor=family.colour, elinewidth=0.8, zorder=3)
    marks = family.marks(size)
    if ring > 1 and family.filled:
        marks |= {"markeredgecolor": "white", "markeredgewidth": 0.4}
    elif ring > 1:
        marks |= {"markersize": ring * size, "markerfacecolor": "none"}
    axes.plot(x, mean, linestyle="none", zorder=5 if family.filled else 4, **marks)


def curve(axes: Axes, x: ArrayLike, rows: pd.DataFrame, *, band: float = 0.2, **line: Any) -> None:
    """Draw a line through the means at x, and their intervals as a band of this opacity.

    `line` has the keyword arguments of a Line2D, `color` among them.
    """
    axes.plot(x, rows[Column.MEAN], **line)
    axes.fill_between(x, rows["low"], rows["high"], color=line["color"], alpha=band, linewidth=0)


def joined(
    axes: Axes,
    x: ArrayLike,
    rows: pd.DataFrame,
    family: MethodStyle,
    *,
    size: float = 4.0,
    width: float = 1.0,
) -> None:
    """Draw what `points` draws, and a line of this width through the means."""
    axes.plot(x, rows[Column.MEAN], color=family.colour, linewidth=width, zorder=2)
    points(axes, x, rows, family, size=size)


def dodge(x: ArrayLike, index: int, count: int, decades: float = 0.16) -> np.ndarray:
    """x, shifted on a logarithmic axis so that `count` families at the same x lie side by side.

    The family `index` of them is shifted; from the first to the last it is this many decades.
    """
    place = (index - (count - 1) / 2) / max(count - 1, 1)
    return np.asarray(x, dtype=float) * 10 ** (decades * place)


def sizes(axes: Axes, values: Iterable[float], margin: float = 1.45) -> None:
    """Make the x axis logarithmic, with exactly these values as ticks, written out.

    The axis reaches beyond the outermost ticks by the factor `margin`.
    """
    ticks = sorted(set(values))
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:.15g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    if ticks:
        axes.set_xlim(ticks[0] / margin, ticks[-1] * margin)


def compressions(axes: Axes, values: Iterable[float], apart: float, margin: float = 1.45) -> None:
    """As `sizes`, for compressions d/b; a tick less than `apart` decades after the last labelled one has no label."""
    ticks = sorted(set(values))
    sizes(axes, ticks, margin)
    texts, last = [], 0.0
    for tick in ticks:
        labelled = tick >= last * 10**apart
        texts.append(compression(tick) if labelled else "")
        last = tick if labelled else last
    axes.set_xticks(ticks, texts)
    axes.set_xlabel("compression $d/b$")


def compression(value: float) -> str:
    """A compression d/b as text: as b is rounded to whole rows, 20.08 stands for 20."""
    quarters = round(4 * value) / 4
    return f"{quarters:g}" if abs(value - quarters) < 0.005 * value else f"{value:.3g}"


def limits(axes: Axes, rows: pd.DataFrame, include: float) -> None:
    """Set y limits that include this value, all means, and all intervals except for extremely long ones."""
    if rows.empty:
        return
    mean, longest = rows[Column.MEAN], 4 * float((rows["high"] - rows["low"]).median()) / 2
    below, above = rows["low"].fillna(mean), rows["high"].fillna(mean)
    low = min(include, float(np.fmax(below, mean - longest).min()))
    high = max(include, float(np.fmin(above, mean + longest).max()))
    margin = max(0.08 * (high - low), 0.005 * abs(include)) or 1.0
    axes.set_ylim(low - margin, high + margin)


def plain_log(axes: Axes, which: Literal["x", "y"] = "y") -> None:
    """Write the ticks of a logarithmic axis as plain numbers, with more of them where it spans less than 100-fold."""
    axis: Axis = getattr(axes, f"{which}axis")
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def handle(label: str, **keywords: Any) -> Line2D:
    """A legend entry that belongs to nothing drawn, with the keyword arguments of a Line2D."""
    return Line2D([], [], label=label, **keywords)


def legend(figure: Figure, shown: Sequence[MethodStyle], others: Sequence[Artist] = ()) -> None:
    """Add a legend below the axes: the families, then other entries. The figure's height grows with it."""
    entries = [handle(f.label, linestyle="none", **f.marks(4.5)) for f in shown]
    handles = [*entries, *others]
    lengths = [len(str(entry.get_label())) for entry in handles]
    columns = max(n for n in (1, 2, 3, 4) if n == 1 or _width(lengths, n) < figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.16 * -(-len(handles) // columns))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        columnspacing=1.4,
        handletextpad=0.5,
        handlelength=1.6,
    )


def _width(lengths: list[int], columns: int) -> float:
    """About how wide a legend is, in inches, whose entries have these numbers of letters."""
    parts = [part for part in np.array_split(lengths, columns) if part.size]
    return sum(0.5 + 0.055 * int(part.max()) for part in parts)

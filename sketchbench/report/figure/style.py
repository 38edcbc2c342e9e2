"""Tools of all figures: looks of methods and lines, choice of rows, means with intervals, axes and legends.

A method has the same colour and marker in every figure (looks.yaml). Two sketches that differ in one detail (weaker
hashing, repeated rows) share a colour, and one of them has an open marker. A recovery has the colour of the sketch that
it decodes; only the two recoveries that tang2021 compares are filled. A method without a look, such as a user's, gets
a combination of `SPARE`, in the alphabetical order of the names.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import ArrayLike

from sketchbench.measure.column import Column
from sketchbench.measure.interval import Interval, mean_interval, proportion_interval
from sketchbench.report.figure.theme import theme
from sketchbench.run.config.schema import load

WIDE = 7.0  # inches: both columns of a paper
ERROR = 1e-3  # probability that any interval of a figure misses the true value
MEASURED = (Column.MEAN, "low", "high")  # a mean and the ends of its interval
# seaborn's colour-blind palette in its order; colours with a contrast below 3 against white are darkened
PALETTE = "#0173b2 #b87700 #028f68 #a33600 #b65fa6 #9a6a42 #c2528f #767676 #423c00 #2387bd"
COLOURS: list[Any] = [to_rgb(colour) for colour in PALETTE.split()]
INK = "0.15"  # claims
EXACT = "0.55"  # exact values
GROUPS = ("Dense", "Transforms", "CountSketch", "Sparse embeddings", "Sampling", "Recoveries", "Compressors", "Own")

Line = dict[str, Any]  # the keyword arguments of a matplotlib Line2D
BOUND: Line = {"color": INK, "linewidth": 0.9, "linestyle": "--"}  # what a paper claims, or a guide for the eye
TRUE: Line = {"color": EXACT, "linewidth": 1.0}  # an exact value

Look = tuple[str, Any, str, bool]  # group, colour, marker, filled
LOOKS, RECOVERY_LOOKS, COMPRESSOR_LOOKS = (  # by name in conf/sketch, conf/recovery and conf/compressor
    {name: (group, COLOURS[c] if isinstance(c, int) else c, *marks) for name, (group, c, *marks) in looks.items()}
    for looks in load(Path(__file__).with_name("looks.yaml")).values()
)
_SPARE = itertools.product("<8dHP", (COLOURS[7], COLOURS[6], *COLOURS[:6]), (True, False))
_TAKEN = {(marker, colour, filled) for _, colour, marker, filled in COMPRESSOR_LOOKS.values()}
SPARE = [look for look in _SPARE if look not in _TAKEN]


@dataclass(frozen=True)
class MethodStyle:
    """The look of a method (a sketch family, a recovery or a compressor)."""

    method: str  # the name of the method's config, the column `method`
    label: str
    group: str
    colour: Any
    marker: str
    filled: bool

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table about this method."""
        return table[table[Column.METHOD] == self.method]

    def marks(self, size: float = 4.0) -> Line:
        """The keyword arguments of a Line2D with this method's marker, at a size in points."""
        return {
            "marker": self.marker,
            "color": self.colour,
            "markersize": size,
            "markerfacecolor": self.colour if self.filled else "white",
            "markeredgecolor": self.colour,
            "markeredgewidth": 0.8,
        }


class End(NamedTuple):
    """The end of a method's line, in data coordinates."""

    style: MethodStyle
    x: float
    y: float


def methods(*tables: pd.DataFrame, looks: Mapping[str, Look] = LOOKS) -> list[MethodStyle]:
    """The looks of the methods in tables, in the order of the groups; `looks` are for sketches, recoveries or
    compressors."""
    pairs = (zip(table[Column.METHOD], table[Column.LABEL], strict=True) for table in tables)
    labels = dict(itertools.chain.from_iterable(pairs))
    styles = [MethodStyle(name, labels[name], *looks[name]) for name in looks if name in labels]
    for index, name in enumerate(sorted(labels.keys() - looks.keys())):
        marker, colour, filled = SPARE[index % len(SPARE)]
        styles.append(MethodStyle(name, labels[name], "Own", colour, marker, filled))
    return sorted(styles, key=lambda style: GROUPS.index(style.group))


def by_group(styles: Iterable[MethodStyle]) -> dict[str, list[MethodStyle]]:
    """The looks of each group's methods, in the order of `methods`."""
    return {group: list(members) for group, members in itertools.groupby(styles, key=attrgetter("group"))}


def small(styles: Iterable[MethodStyle], rows: pd.DataFrame) -> list[MethodStyle]:
    """The looks of the methods whose largest mean is at most three times the median of all means."""
    largest, typical = rows.groupby(Column.METHOD)[Column.MEAN].max(), rows[Column.MEAN].median()
    return [style for style in styles if largest[style.method] <= 3 * typical]


def new_figure(height: float, width: float = WIDE) -> Figure:
    """An empty figure of this size in inches; sets the theme, whose fonts are legible in print."""
    matplotlib.style.use(theme(INK, COLOURS))
    return Figure(figsize=(width, height), layout="constrained")


def subplots(height: float, rows: int = 1, columns: int = 1, width: float = WIDE, **shape: Any) -> tuple[Figure, Any]:
    """A figure of this size in inches, and the axes of `Figure.subplots` with `shape`."""
    figure = new_figure(height, width)
    return figure, figure.subplots(rows, columns, **shape)


def select(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The rows with these values in these columns; a list has all values that a column may have."""
    for name, value in values.items():
        table = table[table[name].isin(value) if isinstance(value, list) else table[name] == value]
    return table


def about(rows: pd.DataFrame, styles: Iterable[MethodStyle]) -> pd.DataFrame:
    """The rows about these methods."""
    return rows[rows[Column.METHOD].isin([style.method for style in styles])]


def at_largest(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows with the largest value of a column."""
    return table[table[column] == table[column].max()]


def scale(rows: pd.DataFrame, factor: Any, *columns: str) -> pd.DataFrame:
    """The rows with means, intervals and further columns multiplied by a factor, which may differ by row."""
    return rows.assign(**{name: rows[name] * factor for name in (*MEASURED, *columns)})


def with_compression(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the column `compression`, d/b."""
    return table.assign(**{Column.COMPRESSION: table[Column.D] / table[Column.B]})


def with_range(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the smallest and the largest trial as `low` and `high`."""
    return rows.assign(low=rows[Column.MINIMUM], high=rows[Column.MAXIMUM])


def with_intervals(rows: pd.DataFrame, candidates: int | None = None) -> pd.DataFrame:
    """The rows with a mean, and the ends `low` and `high` of simultaneous confidence intervals, which hold except with
    probability ERROR. Both ends of a single trial are its value. All intervals share ERROR, or all `candidates` do: the
    number of rows that these rows were selected from by their means."""
    rows = rows[rows[Column.MEAN].notna()]
    error = ERROR / max(candidates or int((rows[Column.TRIALS] > 1).sum()), 1)
    return _with_limits(rows, [_interval(row, error) for row in rows.to_dict("records")])


def with_intervals_of_worst(rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The row with the largest mean in every group, with intervals that hold whichever row is the largest."""
    known = rows[rows[Column.MEAN].notna()].reset_index(drop=True)
    return with_intervals(known.loc[known.groupby(list(by))[Column.MEAN].idxmax()], candidates=len(rows))


def _with_limits(rows: pd.DataFrame, limits: Sequence[Interval]) -> pd.DataFrame:
    return rows.assign(low=[i.low for i in limits], high=[i.high for i in limits])


def _interval(row: dict[Any, Any], error: float) -> Interval:
    if row[Column.TRIALS] == 1:
        return Interval(row[Column.MEAN], row[Column.MEAN])
    return mean_interval(row[Column.MEAN], row[Column.SD], row[Column.SKEWNESS], int(row[Column.TRIALS]), error=error)


def with_shares(rows: pd.DataFrame, hits: pd.Series, candidates: int) -> pd.DataFrame:
    """The rows with the share of hits among the trials as `mean`, and the ends `low` and `high` of its Clopper-Pearson
    interval, if `candidates` intervals share ERROR."""
    error, trials = ERROR / candidates, rows[Column.TRIALS]
    limits = [proportion_interval(int(k), int(n), error=error) for k, n in zip(hits, trials, strict=True)]
    return _with_limits(rows.assign(**{Column.MEAN: hits / trials}), limits)


def without_constants(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of methods with varying values, unlike `No sketch`; all rows if every method is constant."""
    random = rows[Column.SD] > 1e-9 * rows[Column.MEAN].abs().clip(lower=1)
    kept = rows[rows[Column.METHOD].isin(rows.loc[random, Column.METHOD])]
    return rows if kept.empty else kept


def series(
    rows: pd.DataFrame, styles: Sequence[MethodStyle], over: str, among: ArrayLike = ()
) -> Iterator[tuple[MethodStyle, pd.DataFrame, np.ndarray]]:
    """The look of each method, its rows in the order of the column `over`, and their positions on the x axis: the
    values, or on an axis of categories the `places` among these values."""
    for index, style in enumerate(styles):
        own = style.rows(rows).sort_values(over)
        x = own[over].to_numpy(dtype=float)
        yield style, own, places(x, among, index, len(styles)) if np.size(among) else x


def error_bars(rows: pd.DataFrame) -> np.ndarray:
    """The lengths of the intervals below and above the means, for matplotlib's `errorbar`."""
    mean = rows[Column.MEAN]
    return np.maximum(np.array([mean - rows["low"], rows["high"] - mean]), 0)


def points(
    axes: Axes, x: ArrayLike, rows: pd.DataFrame, style: MethodStyle, size: float = 4.0, ring: float = 1
) -> None:
    """Draw the means of rows at x with their intervals, in a method's colour and marker, at a size in points. An open
    marker is `ring` times as large, and surrounds filled markers at its position if `ring` exceeds 1."""
    mean = rows[Column.MEAN].to_numpy()
    axes.errorbar(x, mean, yerr=error_bars(rows), fmt="none", ecolor=style.colour, elinewidth=0.8, zorder=3)
    marks = style.marks(size)
    if ring > 1 and style.filled:
        marks |= {"markeredgecolor": "white", "markeredgewidth": 0.4}
    elif ring > 1:
        marks |= {"markersize": ring * size, "markerfacecolor": "none"}
    axes.plot(x, mean, linestyle="none", zorder=5 if style.filled else 4, **marks)


def trace(
    axes: Axes, x: ArrayLike, rows: pd.DataFrame, style: MethodStyle, size: float = 4.0, ring: float = 1, **line: Any
) -> None:
    """Draw a line through the means, with the keyword arguments of a Line2D, and then `points`."""
    axes.plot(x, rows[Column.MEAN], **{"color": style.colour, "linewidth": 1.0} | line)
    points(axes, x, rows, style, size, ring)


def scatter(
    axes: Axes, rows: pd.DataFrame, styles: Sequence[MethodStyle], over: str, among: ArrayLike = (), size: float = 4.0
) -> None:
    """Draw the `points` of all methods at the positions that `series` gives them."""
    for style, own, x in series(rows, styles, over, among):
        points(axes, x, own, style, size)


def curve(axes: Axes, x: ArrayLike, rows: pd.DataFrame, *, band: float = 0.2, **line: Any) -> None:
    """Draw a line through the means at x, with the keyword arguments of a Line2D, which include `color`, and their
    intervals as a band of this opacity."""
    axes.plot(x, rows[Column.MEAN], **line)
    axes.fill_between(x, rows["low"], rows["high"], color=line["color"], alpha=band, linewidth=0)


def head(axes: Axes, text: str) -> None:
    """Write the title of a row of panels above the left edge of its first panel; the layout ignores the title."""
    axes.text(0, 1.04, text, fontsize=8, transform=axes.transAxes).set_in_layout(False)


def label_ends(axes: Axes, ends: Iterable[End], height: float, size: float = 5.5) -> None:
    """Write the label of each line beside the axes, with its marker and colour, and a thin line to its end. Labels keep
    the order of the ends, and do not overlap. The axes have their final limits, and are about `height` inches high."""
    share = axes.transScale + axes.transLimits  # from data to parts of the axes
    ends = sorted(ends, key=lambda end: end.y)
    at = share.transform([(end.x, end.y) for end in ends]).reshape(-1, 2)
    outside: Line = {"transform": axes.transAxes, "clip_on": False}
    for end, (x, y), place in zip(ends, at, apart(at[:, 1], 1.2 * size / 72 / height), strict=True):
        colour = end.style.colour
        axes.plot([x, 1.05], [y, place], color=colour, linewidth=0.4, alpha=0.5, **outside)
        axes.plot([1.05], [place], linestyle="none", **outside, **end.style.marks(3.2))
        axes.text(1.05, place, f"  {end.style.label}", color=colour, fontsize=size, va="center", **outside)


def apart(wanted: np.ndarray, least: float) -> np.ndarray:
    """Ascending places from 0 on, at least `least` apart, and otherwise as close as possible to the ascending `wanted`
    places (isotonic regression): clusters are spread around their mean."""
    steps = least * np.arange(len(wanted))
    blocks: list[list[float]] = []  # mean and size
    for value in wanted - steps:
        blocks.append([float(value), 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            other, more = blocks[-1]
            blocks[-1] = [(other * more + mean * count) / (more + count), more + count]
    return steps + np.repeat([max(mean, 0.0) for mean, _ in blocks], [int(count) for _, count in blocks])


def stated(axes: Axes, x: pd.Series, y: pd.Series, **line: Any) -> None:
    """Draw a line of values that are not measured, or a dash for a single position."""
    axes.plot(x, y, marker="_" if x.nunique() == 1 else None, markersize=12, **line)


def places(x: ArrayLike, among: ArrayLike, index: int, count: int) -> np.ndarray:
    """The positions of x on an axis of `categories`, for the method of this index among `count` methods side by side in
    each category. On a numeric axis, every point stands at its value."""
    beside = (index - (count - 1) / 2) * min(0.6 / max(count - 1, 1), 0.12)
    return np.searchsorted(np.unique(among), x) + beside


def categories(axes: Axes, values: ArrayLike, text: str | Callable[[float], str] = "{:.15g}") -> None:
    """Give the x axis a column for each of these values, with its text below and lines between the columns."""
    columns = np.unique(values)
    axes.set_xticks(range(len(columns)), [text.format(v) if isinstance(text, str) else text(v) for v in columns])
    axes.set_xticks(np.arange(0.5, len(columns) - 1), minor=True)
    axes.set_xlim(-0.5, max(len(columns), 1) - 0.5)
    axes.tick_params(axis="x", which="both", length=0)
    axes.grid(visible=False, axis="x", which="major")
    axes.grid(visible=True, axis="x", which="minor")


def size_ticks(axes: Axes, values: Iterable[float], margin: float = 1.45, text: str = "{:.15g}") -> None:
    """Make the x axis logarithmic, with exactly these values as ticks, in this format; the axis exceeds the outermost
    ticks by the factor `margin`."""
    ticks = sorted(set(values))
    axes.set_xscale("log")
    axes.set_xticks(ticks, [text.format(tick) for tick in ticks])
    axes.set_xticks([], minor=True)
    if ticks:
        axes.set_xlim(ticks[0] / margin, ticks[-1] * margin)


def only_ticks(axes: Axes, ticks: Sequence[float]) -> None:
    """Give the x axis exactly these ticks."""
    axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
    axes.set_xticks([], minor=True)


def compression_ticks(axes: Axes, values: Iterable[float], apart: float, margin: float = 1.45) -> None:
    """As `size_ticks`, for compressions d/b; a tick less than `apart` decades above the last label has no label."""
    ticks = sorted(set(values))
    size_ticks(axes, ticks, margin)
    texts, last = [], 0.0
    for tick in ticks:
        labelled = tick >= last * 10**apart
        texts.append(compression(tick) if labelled else "")
        last = tick if labelled else last
    axes.set_xticks(ticks, texts)
    axes.set_xlabel("compression $d/b$")


def participation_ticks(axes: Axes, shares: Sequence[float], margin: float) -> None:
    """As `size_ticks`, for the shares of clients in a round, in per cent."""
    size_ticks(axes, shares, margin, "{:g}")
    axes.set_xticks(shares, [f"{100 * share:g} %" for share in shares])
    axes.set_xlabel("clients in a round")


def compression(value: float) -> str:
    """The text of a compression d/b: since b is rounded to whole rows, 20.08 becomes 20."""
    quarters = round(4 * value) / 4
    return f"{quarters:g}" if abs(value - quarters) < 0.005 * value else f"{value:.3g}"


def limits(axes: Axes, rows: pd.DataFrame, include: float) -> None:
    """Set y limits that include this value, all means, and all intervals that are not extremely long."""
    if rows.empty:
        return
    mean, longest = rows[Column.MEAN], 4 * float((rows["high"] - rows["low"]).median()) / 2
    below, above = rows["low"].fillna(mean), rows["high"].fillna(mean)
    low = min(include, float(np.fmax(below, mean - longest).min()))
    high = max(include, float(np.fmin(above, mean + longest).max()))
    margin = max(0.08 * (high - low), 0.005 * abs(include)) or 1.0
    axes.set_ylim(low - margin, high + margin)


def plain_log(axes: Axes, which: Literal["x", "y"] = "y") -> None:
    """Make an axis logarithmic, with plain numbers at its ticks: more ticks for a span below 100-fold, and equidistant
    ticks below 3-fold."""
    axes.set(**{f"{which}scale": "log"})
    axis: Axis = getattr(axes, f"{which}axis")
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs) if high > 3 * low else MaxNLocator(4))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def without_frame(axes: Axes) -> None:
    """Hide the spines, ticks and grid of axes."""
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def entries(lines: Mapping[str, Line]) -> list[Line2D]:
    """Legend entries; `lines` has the keyword arguments of a Line2D by label."""
    return [Line2D([], [], label=label, **line) for label, line in lines.items()]


def legend(figure: Figure, styles: Sequence[MethodStyle], lines: Mapping[str, Line] = MappingProxyType({})) -> None:
    """Add a legend below the axes: the methods, then the `entries` of lines. The figure's height grows with it."""
    marks = [Line2D([], [], label=style.label, linestyle="none", **style.marks(4.5)) for style in styles]
    handles = [*marks, *entries(lines)]
    lengths = [len(str(entry.get_label())) for entry in handles]
    columns = max(n for n in (1, 2, 3, 4) if n == 1 or _width(lengths, n) < figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.16 * -(-len(handles) // columns))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles=handles, columnspacing=1.4, handletextpad=0.5, handlelength=1.6, **place)


def _width(lengths: list[int], columns: int) -> float:
    """The approximate width in inches of a legend whose entries have these numbers of letters."""
    parts = [part for part in np.array_split(lengths, columns) if part.size]
    return sum(0.5 + 0.055 * int(part.max()) for part in parts)

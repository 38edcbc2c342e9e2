"""The cost of kernels and recoveries, from the table of `make bench`; the catalogue has studies' figures only."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from sketchbench.report import seal
from sketchbench.report.figure import foot, style
from sketchbench.report.figure.saving import save
from sketchbench.report.table.reading import read_table

SHOWN = 2**20  # the d of the ratios, where a benchmark has it
NEEDED = {"group", "name", "kernels", "device", "threads", "dtype", "d", "rows", "seconds"}
NEEDED |= {"copies", "peer_of", "peer_ratio", "value"}
TITLES = {
    "transform": "transform",
    "count_sketch": "CountSketch, $b=d/16$",
    "top_k": "largest $d/32$ entries",
    "recovery": "recovery, $k=0.045d$",
    "gradient": "long vectors, $b=d/16$",
}
# Our functions that have lines: their labels in the panel of their group, and (or None) in that of all groups.
OURS = {
    ("transform", "walsh_hadamard"): ("Walsh-Hadamard", "Walsh-Hadamard"),
    ("gradient", "srht"): ("SRHT", None),
    ("gradient", "count_sketch"): ("CountSketch", None),
    ("count_sketch", "sketch"): ("apply", "CountSketch"),
    ("count_sketch", "draw_and_sketch"): ("draw and apply", None),
    ("top_k", "largest"): ("radix select", "largest entries"),
    ("recovery", "fiht"): ("FIHT", "FIHT"),
    ("recovery", "iht"): ("IHT", None),
    ("recovery", "count_sketch_median"): ("CountSketch, median", None),
    ("recovery", "desketch"): ("CountSketch, RᵀR", None),
}
NOTES = {"sparse_embedding": ", $s=4$"}
SIZES: style.Line = {"linewidth": 1, "markersize": 3.5}
LOOKS = [(style.COLOURS[i], marker) for i, marker in zip((0, 2, 9, 7), "osD^", strict=True)]
LIBRARIES = {
    "scipy": [(style.COLOURS[1], "v"), (style.COLOURS[8], "<"), (style.COLOURS[8], ">")],
    "torch": [(style.COLOURS[3], "P"), (style.COLOURS[6], "X")],
    "numpy": [(style.COLOURS[4], "p"), (style.COLOURS[5], "h")],
    "sklearn": [(style.COLOURS[0], "d")],
    "gcc": [(style.COLOURS[7], "*")],
    "numba": [(style.COLOURS[6], "<")],
    "srrcomp": [(style.COLOURS[9], "h")],
}


def plot(table: pd.DataFrame) -> Figure:
    """Plot the table of `sketchbench.report.table.benchmarks`.

    Above: seconds divided by the seconds of copying the input, over d, a panel for each group; other libraries have
    dashed lines and open markers. Below: the growth of the seconds, and other libraries' times divided by ours.
    """
    parts = table["name"].str.removeprefix("cupyx.").str.removesuffix("_transform").str.split(".")
    library = parts.str[0]
    table = table.assign(library=library.replace("cupy", "numpy"), short=library + " " + parts.str[-1])
    single = table[(table["rows"] == 1) & table["copies"].notna()]
    groups = [group for group in TITLES if (single["group"] == group).any()]
    figure = style.new_figure(5.6)
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[3.2, 2.4])[:, 0]
    if groups:
        panels = above.subplots(1, len(groups), squeeze=False, sharey=True)[0]
        for axes, group in zip(panels, groups, strict=True):
            _copies(axes, single[single["group"] == group], group)
        panels[0].set_ylabel("time, in copies of the input")
        style.plain_log(panels[0])
    left, right = below.subplots(1, 2, width_ratios=[1, 1.25])
    _growth(left, single, table[table["group"] == "growth"])
    _ratios(right, table[table["peer_ratio"].notna()])
    machine = table.iloc[0]
    threads = f"{machine['threads']:.0f} thread{'s' if machine['threads'] > 1 else ''}"
    below.supxlabel(f"{machine['device']}, {machine['kernels']} kernels, {threads}", fontsize=7)
    return figure


def _copies(axes: Axes, rows: pd.DataFrame, group: str) -> None:
    """Draw the lines of our functions, then the lines of other libraries for the same functions."""
    axes.set_yscale("log")
    axes.axhline(1, color=style.INK, linewidth=0.9, linestyle=":")
    looks, libraries = iter(LOOKS), {name: iter(looks) for name, looks in LIBRARIES.items()}
    rows = rows.sort_values("peer_of", key=pd.notna, kind="stable")
    for (name, dtype), series in rows.groupby(["name", "dtype"], sort=False):
        first, run = series.iloc[0], series.sort_values("d")
        peer = pd.notna(first["peer_of"])
        label, _ = OURS.get((group, str(first["peer_of"] if peer else name)), ("", None))
        if not label or series["d"].nunique() < 2:
            continue
        colour, marker = next(libraries[first["library"]] if peer else looks)
        look: style.Line = {"linestyle": "--", "markerfacecolor": "white"} if peer else {}
        look["label"] = (first["short"] if peer else label) + ", float32" * (dtype == "float32")
        axes.plot(run["d"], run["copies"], color=colour, marker=marker, **SIZES, **look)
    _dimensions(axes)
    axes.set_title(TITLES[group])
    axes.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.26), fontsize=6, handlelength=2)


def _growth(axes: Axes, rows: pd.DataFrame, growth: pd.DataFrame) -> None:
    """Draw the seconds of our functions, in double precision, over d, with their slopes in the legend."""
    rows = style.select(rows, dtype="float64").sort_values("d")
    slopes = style.select(growth, dtype="float64").set_index("name")["value"]
    axes.set_yscale("log")
    labels = {key: label for key, (_, label) in OURS.items() if label}
    for (colour, marker), ((group, name), label) in zip(LOOKS, labels.items(), strict=True):
        series = style.select(rows, group=group, name=name)
        if series.empty:
            continue
        slope = slopes.get(f"{group}.{name}")
        text = label if slope is None else f"{label}: $d^{{{slope:.2f}}}$"
        axes.plot(series["d"], series["seconds"], label=text, color=colour, marker=marker, **SIZES)
    copy = style.select(rows, group="copy")
    axes.plot(copy["d"], copy["seconds"], color=style.INK, linewidth=0.9, linestyle=":", label="copy")
    _dimensions(axes)
    axes.set(title="growth", ylabel="seconds")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=6, handlelength=2)


def _dimensions(axes: Axes) -> None:
    """Make the x axis logarithmic, with powers of two as ticks."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=9))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("dimension $d$")


def _ratios(axes: Axes, peers: pd.DataFrame) -> None:
    """Draw the times of other libraries relative to ours, at d = 2^20 or else their largest d, in double precision if
    available, the slowest on top."""
    named = peers.groupby(["group", "name"])
    at = named["d"].transform(lambda d: SHOWN if SHOWN in set(d) else d.max())
    rows = peers[(peers["dtype"] == named["dtype"].transform("max")) & ((peers["d"] == at) | (peers["rows"] > 1))]
    rows = rows.sort_values("peer_ratio").reset_index(drop=True)
    axes.set_xscale("log")
    ratios = rows["peer_ratio"].astype(float)
    colours = [LIBRARIES[library][0][0] for library in rows["library"]]
    bars = axes.barh(rows.index, ratios - 1, left=1, height=0.6, color=colours)
    texts = [f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}" for ratio in ratios]
    axes.bar_label(bars, texts, padding=2, fontsize=6)
    axes.axvline(1, color=style.INK, linewidth=0.9)
    many = np.where(rows["rows"] > 1, ", " + rows["rows"].astype(int).astype(str) + " rows", "")
    threads = np.where(rows["library"] == "gcc", ", 1 thread", "")
    axes.set_yticks(rows.index, rows["short"] + rows["group"].map(NOTES).fillna("") + threads + many)
    axes.tick_params(axis="y", labelsize=6)
    axes.grid(False, axis="y")
    if len(rows):
        axes.set_xlim(min(1.0, ratios.min()) / 30, 3 * max(1.0, ratios.max()))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(title="other libraries", xlabel="their time over ours")


def _headline(table: pd.DataFrame) -> str:
    """The range of other libraries' times over ours; "" where none was timed."""
    ratios = table["peer_ratio"].dropna()
    if ratios.empty:
        return ""
    span = f"{ratios.min():.2g} to {ratios.max():.2g} times as long as ours"
    return f"Other libraries take {span}, and longer in {(ratios > 1).sum()} of {len(ratios)} timings"


def figure_of(csv: Path, svg: Path, png: Path) -> None:
    """Plot the table of make bench in both formats, and seal them. Raises TableError for another table."""
    table = read_table(csv, "benchmarks", NEEDED)
    figure = plot(table)
    foot.write(figure, "Data: random vectors, timed on one machine. Bars and bands: none.", _headline(table))
    description = "The cost of kernels and recoveries: seconds over the dimension, and relative to other libraries."
    save(figure, svg, png, title="Benchmarks", description=description)
    seal.write("benchmarks", "", seal.sums([csv]), [svg, png])

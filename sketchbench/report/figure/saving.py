"""Figures to files with the same bytes in every run: no date, and identifiers that follow from the content."""

import io
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from sketchbench.base.files import write_bytes

mpl.use("agg")
mpl.rcParams["svg.hashsalt"] = "sketchbench"


def save(figure: Figure, svg: Path, png: Path, *, title: str, description: str) -> None:
    """Write a figure in both formats, each atomically, with a title and a description for those who can't see it."""
    named = {"Title": title, "Description": description}
    _settle(figure)
    for path, options in ((svg, {"Date": None}), (png, {"Software": None})):
        buffer = io.BytesIO()
        kind = path.suffix.lstrip(".")
        figure.savefig(buffer, format=kind, dpi=200 if path is png else "figure", metadata={**options, **named})
        write_bytes(path, buffer.getvalue())


def _settle(figure: Figure) -> None:
    """Lay the figure out, and place its axes on a grid of a millionth of it: the solver of the layout differs from run
    to run in the last bit, which would be seen in the names of clip paths. With an engine left, even an idle one,
    matplotlib would draw the figure once more before it writes it."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(np.round(axes.get_position(original=True).bounds, 6).tolist(), which="original")

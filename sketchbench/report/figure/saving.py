"""Save figures with the same bytes in every run: without a date, and with identifiers from the content."""

import io
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from sketchbench.base.files import write_bytes

mpl.use("agg")
mpl.rcParams["svg.hashsalt"] = "sketchbench"
DPI = 200  # of a PNG


def save(figure: Figure, svg: Path, png: Path, *, title: str, description: str) -> None:
    """Write a figure atomically in both formats, with a title and a description for readers who can't see it."""
    named = {"Title": title, "Description": description}
    _settle(figure)
    for path, options in ((svg, {"Date": None}), (png, {"Software": None})):
        buffer = io.BytesIO()
        kind = path.suffix.lstrip(".")
        figure.savefig(buffer, format=kind, dpi=DPI, metadata={**options, **named})
        write_bytes(path, buffer.getvalue())


def _settle(figure: Figure) -> None:
    """Lay out the figure, and place its axes on a grid of a millionth of its size: the layout solver differs from run
    to run in the last bit, which would change the names of clip paths. With an engine, even an idle one, matplotlib
    would draw the figure twice. Small letters are wider at a PNG's resolution than at matplotlib's."""
    figure.set_dpi(DPI)
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    figure.set_layout_engine(None)
    for axes in figure.axes:
        axes.set_position(np.round(axes.get_position(original=True).bounds, 6).tolist(), which="original")

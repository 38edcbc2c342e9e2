"""Figures to files with the same bytes in every run: no date, and identifiers that follow from the content."""

import io
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from sketchbench.files import write_bytes

mpl.use("agg")
mpl.rcParams["svg.hashsalt"] = "sketchbench"


def save(figure: Figure, svg: Path, png: Path, *, title: str, description: str) -> None:
    """Write a figure in both formats, each atomically, with a title and a description for those who can't see it."""
    named = {"Title": title, "Description": description}
    for path, options in ((svg, {"Date": None}), (png, {"Software": None})):
        buffer = io.BytesIO()
        kind = path.suffix.lstrip(".")
        figure.savefig(buffer, format=kind, dpi=200 if path is png else "figure", metadata={**options, **named})
        write_bytes(path, buffer.getvalue())

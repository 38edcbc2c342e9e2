"""Figures to files with the same bytes in every run: no date, and identifiers that follow from the content."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from sketchbench.files import atomically

mpl.use("agg")
mpl.rcParams["svg.hashsalt"] = "sketchbench"


def save(figure: Figure, svg: Path, png: Path, *, title: str, description: str) -> None:
    """Write a figure in both formats, each atomically, with a title and a description for those who can't see it."""
    named = {"Title": title, "Description": description}
    with atomically(svg) as path:
        figure.savefig(path, metadata={"Date": None, **named})
    with atomically(png) as path:
        figure.savefig(path, dpi=200, metadata={"Software": None, **named})

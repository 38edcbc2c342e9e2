"""The lines and letters of all figures, as matplotlib's settings."""

from collections.abc import Iterable
from typing import Any

from cycler import cycler


def theme(ink: str, colours: Iterable[Any]) -> dict[str, Any]:
    """Seaborn's theme "ticks" in the context "paper", with our sizes, `ink` for axes and text, and `colours` for lines
    without a colour. Seaborn itself takes a second to import."""
    ticks = {"color": ink, "labelsize": 7, "major.size": 3, "major.width": 0.6, "minor.size": 1.5, "minor.width": 0.4}
    return {
        "font.family": "DejaVu Sans",  # comes with matplotlib: the same text on every machine
        "font.size": 8,
        "text.color": ink,
        "axes.prop_cycle": cycler(color=list(colours)),
        "axes.edgecolor": ink,
        "axes.labelcolor": ink,
        "axes.labelsize": 8,
        "axes.titlesize": 8,
        "axes.linewidth": 0.6,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": "0.9",
        "grid.linewidth": 0.5,
        "lines.linewidth": 1.2,
        "lines.markersize": 4.8,
        "lines.solid_capstyle": "round",
        "patch.edgecolor": "w",
        "patch.force_edgecolor": True,
        "patch.linewidth": 0.8,
        "legend.fontsize": 7,
        "legend.title_fontsize": 7,
        "legend.frameon": False,
        **{f"{axis}.{name}": value for axis in ("xtick", "ytick") for name, value in ticks.items()},
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
    }

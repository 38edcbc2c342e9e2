"""The lines and letters of all figures, as matplotlib's settings."""

from collections.abc import Iterable
from typing import Any

from cycler import cycler


def theme(ink: str, colours: Iterable[Any]) -> dict[str, Any]:
    """Seaborn's theme "ticks" in the context "paper", with our sizes; seaborn itself takes a second to import.

    Arguments:
        ink: of axes and text.
        colours: of lines that are given none.
    """
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
        **{f"{axis}.color": ink for axis in ("xtick", "ytick")},
        **{f"{axis}.labelsize": 7 for axis in ("xtick", "ytick")},
        **{f"{axis}.major.size": 3 for axis in ("xtick", "ytick")},
        **{f"{axis}.major.width": 0.6 for axis in ("xtick", "ytick")},
        **{f"{axis}.minor.size": 1.5 for axis in ("xtick", "ytick")},
        **{f"{axis}.minor.width": 0.4 for axis in ("xtick", "ytick")},
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
    }

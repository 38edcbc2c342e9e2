"""Recovered images for each defence."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.figure.pictures import gallery

BLOCKS = {
    "inversion_double_blind": "double-blind",
    "inversion_sizes": r"$R \nabla F$",
    "inversion_noise": "noise",
}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies inversion_double_blind, inversion_sizes and inversion_noise."""
    return gallery([(name, tables[study]) for study, name in BLOCKS.items()])

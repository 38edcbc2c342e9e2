"""Recovered images of MNIST and CIFAR-10."""

import pandas as pd
from matplotlib.figure import Figure

from sketchbench.figure.pictures import gallery

BLOCKS = {"inversion_mnist": "MNIST", "inversion_cifar10": "CIFAR-10"}


def draw(tables: dict[str, pd.DataFrame]) -> Figure:
    """From studies inversion_mnist and inversion_cifar10."""
    return gallery([(name, tables[study]) for study, name in BLOCKS.items()])

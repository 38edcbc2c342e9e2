"""Are random vectors independent of one another? A search for the strongest dependence, and a fair measurement of it.

The search takes the pair of features whose correlation over the first observations is largest. Other observations then
measure that one pair: their products have mean 0 where the two are independent, whatever the search did, so that the
error rate is that of one ordinary interval.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Kurtosis of a feature that is still used. Its skewness is then below 2.7, and that of a product of two below 7.1:
# 4,000 products are enough for an interval.
HEAVIEST = 8.0
FEWEST = 8


class Scale(NamedTuple):
    """How features are standardised: which of them are used, their means, and their standard deviations (m,)."""

    kept: NDArray[np.intp]
    mean: Floats
    sd: Floats

    def apply(self, features: Floats) -> Floats:
        """Features (T, M) to standardised ones, (T, m)."""
        return (features[:, self.kept] - self.mean) / self.sd


class Strongest(NamedTuple):
    """A pair of features, and their correlation in the search."""

    left: int
    right: int
    correlation: float


def scale_of(features: Floats) -> Scale:
    """The scale of features (T, M): those that vary are kept, but for very uneven ones where there are others.

    A feature that is nearly always the same says little of dependence, and its products have too heavy tails for the
    number of trials. Where all are such, the most even ones are kept.
    """
    mean = features.mean(axis=0)
    centred = features - mean
    variance = (centred**2).mean(axis=0)
    varies = np.flatnonzero(variance > 1e-18 * (mean**2 + 1e-100))
    kurtosis = (centred[:, varies] ** 4).mean(axis=0) / variance[varies] ** 2
    kept = varies[kurtosis <= HEAVIEST]
    if len(kept) < FEWEST:
        kept = np.sort(varies[np.argsort(kurtosis, kind="stable")[:FEWEST]])
    return Scale(kept, mean[kept], variance[kept] ** 0.5)


def strongest(left: Floats, right: Floats) -> Strongest:
    """The most correlated pair of a feature of the one and a feature of the other, both standardised, (T, m) each."""
    correlations = left.T.astype(np.float32) @ right.astype(np.float32) / len(left)
    place = int(abs(correlations).argmax())
    row, column = divmod(place, correlations.shape[1])
    return Strongest(row, column, float(correlations[row, column]))


def products(left: Floats, right: Floats, pair: Strongest) -> Floats:
    """What has mean 0 where the pair is independent: its products, with the sign that the search found, (T,)."""
    sign = -1.0 if pair.correlation < 0 else 1.0
    return sign * left[:, pair.left] * right[:, pair.right]

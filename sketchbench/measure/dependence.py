"""The strongest dependence of two random vectors: a search for it, and an unbiased measurement.

The search returns the pair of features with the largest correlation over the first observations. Other observations
measure this one pair: products of its features have mean 0 if the two are independent, whatever the search did, so the
error rate is that of one ordinary interval.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The largest kurtosis of a feature that is used. Skewness is then below 2.7, and below 7.1 for a product of two
# features, for which 4,000 products are enough for an interval.
HEAVIEST = 8.0
FEWEST = 8  # features that are used, whatever their kurtosis


class Standardisation(NamedTuple):
    """A standardisation of M features, of which m are used.

    Attributes:
        used: numbers of the used features (m,).
        mean: their means (m,).
        sd: their standard deviations (m,).
    """

    used: NDArray[np.intp]
    mean: Floats
    sd: Floats

    def apply(self, features: Floats) -> Floats:
        """Standardise the used ones of M features: (T, M) -> (T, m)."""
        return (features[:, self.used] - self.mean) / self.sd


class Strongest(NamedTuple):
    """The strongest pair of a search: the number of a feature on either side, and their correlation."""

    left: int
    right: int
    correlation: float


def scale_of(features: Floats) -> Standardisation:
    """The standardisation of features (T, M), which uses features that vary, with a kurtosis of at most HEAVIEST.

    A feature that is nearly constant shows little dependence, and its products have too heavy tails for an interval.
    Where fewer than FEWEST features remain, those of the smallest kurtosis are used.
    """
    mean = features.mean(axis=0)
    centred = features - mean
    variance = (centred**2).mean(axis=0)
    varies = np.flatnonzero(variance > 1e-18 * (mean**2 + 1e-100))
    kurtosis = (centred[:, varies] ** 4).mean(axis=0) / variance[varies] ** 2
    used = varies[kurtosis <= HEAVIEST]
    if len(used) < FEWEST:
        used = np.sort(varies[np.argsort(kurtosis, kind="stable")[:FEWEST]])
    return Standardisation(used, mean[used], variance[used] ** 0.5)


def strongest(left: Floats, right: Floats) -> Strongest:
    """The most correlated pair of a feature of `left` and a feature of `right`, both standardised (T, m)."""
    correlations = left.T.astype(np.float32) @ right.astype(np.float32) / len(left)
    place = int(abs(correlations).argmax())
    row, column = divmod(place, correlations.shape[1])
    return Strongest(row, column, float(correlations[row, column]))


def products(left: Floats, right: Floats, pair: Strongest) -> Floats:
    """Products of the two features of a pair, times the sign of their correlation in the search: (T,).

    The mean is 0 if the features are independent.
    """
    sign = -1.0 if pair.correlation < 0 else 1.0
    return sign * left[:, pair.left] * right[:, pair.right]

"""The strongest dependence of two random vectors: a search for it, and an unbiased measurement.
The search returns the pair of features with the largest correlation over the first observations. Other observations
measure this pair: products of independent features have mean 0, so the error rate is that of one ordinary interval."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The largest kurtosis of a used feature. Skewness is then below 2.7, and below 7.1 for a product of two features, for
# which 4,000 products are enough for an interval.
HEAVIEST = 8.0
FEWEST = 8  # number of features that are used, whatever their kurtosis


class Standardisation(NamedTuple):
    """A standardisation of M features: the indices of the m used features, their means, and their sds, (m,) each."""

    used: NDArray[np.intp]
    mean: Floats
    sd: Floats

    def apply(self, features: Floats) -> Floats:
        """Standardise the used features: (T, M) -> (T, m)."""
        return (features[:, self.used] - self.mean) / self.sd


class Strongest(NamedTuple):
    """The strongest pair of a search: the index of a feature on either side, and their correlation."""

    left: int
    right: int
    correlation: float


def scale_of(features: Floats) -> Standardisation:
    """The standardisation of features (T, M) that vary, with a kurtosis of at most HEAVIEST, but at least FEWEST.
    Nearly constant features show little dependence, and the tails of their products are too heavy for an interval."""
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
    """Products (T,) of a pair's features, times the sign of their correlation in the search; mean 0 if independent."""
    sign = -1.0 if pair.correlation < 0 else 1.0
    return sign * left[:, pair.left] * right[:, pair.right]

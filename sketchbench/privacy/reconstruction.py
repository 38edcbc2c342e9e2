"""Reconstruction robustness: how likely any attack on a Gaussian release finds a record, given a prior of records.

Balle, Cherubin and Hayes 2022; Hayes, Mahloujifar and Balle 2023. A record comes from a prior that the attacker knows,
who also knows all other records. κ is the probability of success of the best guess without the release. With the
release no attack succeeds with a probability above the blow-up function of the mechanism at κ: the largest probability
of an event whose probability is κ where the record is replaced by one that does not depend on it.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from sketchbench.measure.numbers import check_finite
from sketchbench.parameters import NonNegative, Probability, checked
from sketchbench.privacy.mechanism import Mechanism, steps


@checked
def reconstruction_bound(mechanism: Mechanism, baseline: Probability) -> float:
    """An upper bound of the probability that an attack on a mechanism finds the record: Φ(Φ⁻¹(κ) + √k μ) for k releases
    of sensitivity over σ = μ (Hayes et al. 2023, from Theorem 2 and the trade-off function of a Gaussian).

    Arguments:
        mechanism: Gaussian releases of full batches. Its sensitivity is from the record to the one that replaces it,
            which for a release of a vector of norm at most ℓ may be 0: ℓ.
        baseline: κ.

    Raises:
        ValueError: for random batches, whose blow-up function is another.

    >>> from sketchbench.privacy.mechanism import GaussianRelease
    >>> round(reconstruction_bound(GaussianRelease(sensitivity=1.0, sigma=1.0), 0.1), 4)
    0.3891
    """
    return max(_of_gaussian(_mu(mechanism), float(baseline)))

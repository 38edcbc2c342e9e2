"""Reconstruction robustness: the probability that an attack on a Gaussian release finds a record from a known prior.

Balle, Cherubin and Hayes 2022; Hayes, Mahloujifar and Balle 2023. The attacker knows the prior, the mechanism and all
other records. κ is the probability that the best guess without the release succeeds. With the release, no attack
succeeds with a probability above the mechanism's blow-up function at κ: the largest probability of an event that has
the probability κ if the record is left out.
"""

import math

from scipy import special

from sketchbench.base.parameters import Probability, checked
from sketchbench.privacy.mechanism import Mechanism, steps


@checked
def reconstruction_bound(mechanism: Mechanism, baseline: Probability) -> float:
    """The largest probability with which any attack on a mechanism finds a record: Φ(Φ⁻¹(κ) + √k μ) for k Gaussian
    releases of sensitivity μσ (Hayes et al. 2023, Theorem 2, with the trade-off function of a Gaussian). The baseline
    is κ; the sensitivity is to a left-out record. Raises ValueError for random batches, which have another blow-up
    function.

    >>> from sketchbench.privacy.mechanism import GaussianRelease
    >>> round(reconstruction_bound(GaussianRelease(sensitivity=1.0, sigma=1.0), 0.1), 4)
    0.3891
    """
    bounds = []
    for own in steps(mechanism):
        if own.sampled is not None:
            raise ValueError(f"sampling={own.sampled.sampling.kind} must be full: the bound is for full batches")
        blown = special.ndtri(baseline) + math.sqrt(own.count) / own.multiplier
        bounds.append(float(special.ndtr(blown)))
    return max(bounds)

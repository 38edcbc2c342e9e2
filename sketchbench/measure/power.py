"""Numbers of trials that a test needs for a given effect, error rate and power."""

import math

from scipy import special

from sketchbench.measure.interval import normal_quantile


def trials_for_mean(effect: float, *, sd: float, error: float, power: float) -> int:
    """The number of trials that a two-sided z-test of a mean needs. Raises ValueError for values out of range.

    Arguments:
        effect: shift of the mean that the test must detect, in the unit of `sd`.
        sd: standard deviation of a trial.
        error: level of the single test, after Bonferroni's division.
        power: probability of detecting the shift, in [0.5, 1).

    >>> trials_for_mean(0.1, sd=1.0, error=1e-6, power=0.999)
    6372
    """
    if not (0 < effect < math.inf and 0 < sd < math.inf and 0.5 <= power < 1):
        raise ValueError(f"effect={effect} and sd={sd} must be > 0, power={power} in [0.5, 1)")
    return math.ceil(((normal_quantile(error) + float(special.ndtri(power))) * sd / effect) ** 2)


def trials_for_zero(bound: float, *, error: float) -> int:
    """The number of trials without success from which on the Clopper-Pearson upper limit is below `bound`. Raises
    ValueError for a bound or an error that is not a probability.

    >>> trials_for_zero(0.02, error=1e-6)
    719
    """
    if not 0 < bound < 1:
        raise ValueError(f"bound={bound} must satisfy 0 < bound < 1")
    if not 0 < error < 1:
        raise ValueError(f"error={error} must satisfy 0 < error < 1")
    return math.ceil(math.log(error / 2) / math.log1p(-bound))

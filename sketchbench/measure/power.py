"""How many trials a test needs, from the effect it must see and the errors it may make."""

import math

from scipy import special

from sketchbench.measure.interval import normal_quantile


def trials_for_mean(effect: float, *, sd: float, error: float, power: float) -> int:
    """Trials for a two-sided z-test of a mean to see a shift `effect` with this power.

    effect and sd share a unit; error is the level of the single test, after Bonferroni's division.

    >>> trials_for_mean(0.1, sd=1.0, error=1e-6, power=0.999)
    6372
    """
    if not (effect > 0 and sd > 0 and 0.5 <= power < 1):
        raise ValueError(f"effect={effect} and sd={sd} must be > 0, power={power} in [0.5, 1)")
    return math.ceil(((normal_quantile(error) + float(special.ndtri(power))) * sd / effect) ** 2)


def trials_for_zero(bound: float, *, error: float) -> int:
    """Trials after which not a single success puts Clopper-Pearson's upper limit below `bound`.

    >>> trials_for_zero(0.02, error=1e-6)
    719
    """
    if not 0 < bound < 1:
        raise ValueError(f"bound={bound} must satisfy 0 < bound < 1")
    return math.ceil(math.log(error / 2) / math.log1p(-bound))

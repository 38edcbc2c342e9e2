"""The chance that new trials decide otherwise."""

from collections.abc import Callable

import numpy as np
from scipy import special

from sketchbench.measure.interval import proportion_interval

SPAN = 12.0  # standard deviations of a new count around its mean; beyond them lies less than 1e-15


def chance_of_change(count: int, trials: int, *, bound: float, error: float) -> float:
    """The chance that as many new trials put a probability on another side of a bound, or on none.

    The probability is not known, but that it gave `count` successes. With Jeffreys' prior, which is Beta(1/2, 1/2), the
    new count has a beta-binomial distribution. O(√trials) at most.

    Arguments:
        count: number of successes.
        trials: number of trials.
        bound: what the probability is held against.
        error: probability that the interval of Clopper and Pearson misses, on both sides together.

    Raises:
        ValueError: for more successes than trials, no trials, or an error that is no probability.

    >>> round(chance_of_change(0, 24, bound=0.5, error=3e-6), 3)
    0.089
    """
    low, high = decided_counts(trials, bound=bound, error=error)
    first, second = count + 0.5, trials - count + 0.5
    mean = trials * first / (first + second)
    deviation = np.sqrt(mean * (1 - mean / trials) * (1 + trials / (trials + 2)))
    reach = int(SPAN * deviation) + 60
    new = np.arange(max(0, int(mean) - reach), min(trials, int(mean) + reach) + 1)
    binomial = special.gammaln(trials + 1) - special.gammaln(new + 1) - special.gammaln(trials - new + 1)
    chance = np.exp(binomial + special.betaln(new + first, trials - new + second) - special.betaln(first, second))
    below, above = new <= low, new >= high
    same = below if count <= low else above if count >= high else ~(below | above)
    return float(np.clip(1 - chance[same].sum() / chance.sum(), 0, 1))


def decided_counts(trials: int, *, bound: float, error: float) -> tuple[int, int]:
    """The most successes that put a probability below a bound, -1 where none do, and the least that put it above,
    trials + 1 where none do; arguments and errors as of `chance_of_change`. O(log trials)."""
    proportion_interval(0, trials, error=error)  # checks
    low = _last(lambda count: proportion_interval(count, trials, error=error).high <= bound, trials)
    high = _last(lambda count: proportion_interval(count, trials, error=error).low <= bound, trials) + 1
    return low, high


def _last(holds: Callable[[int], bool], trials: int) -> int:
    """The last count from 0 to trials for which a condition holds that holds up to some count; -1 for none."""
    at, end = -1, trials
    while at < end:
        middle = (at + end + 1) // 2
        at, end = (middle, end) if holds(middle) else (at, middle - 1)
    return at

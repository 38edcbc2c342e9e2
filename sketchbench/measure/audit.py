"""What an attack proves about privacy: a lower bound of ε from counts, with a stated error rate."""

import math

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.interval import proportion_interval

Statistics = NDArray[np.float64]


def epsilon_proven(hits: int, false_alarms: int, trials: int, *, delta: float, error: float) -> float:
    """The ε that the mechanism exceeds at δ, except with probability `error`; at least 0.

    Of `trials` runs on each of two neighbouring data sets, so many outputs were in a set that was
    chosen before. (ε, δ)-privacy allows P(hit) <= exp(ε) P(false alarm) + δ; the probabilities are at the worse
    ends of their Clopper-Pearson intervals, which both hold with probability 1 - error.

    >>> round(epsilon_proven(900, 10, 1000, delta=1e-5, error=1e-3), 2)
    3.54
    """
    hit = proportion_interval(hits, trials, error=error).low
    false_alarm = proportion_interval(false_alarms, trials, error=error).high
    return max(0.0, math.log((hit - delta) / false_alarm)) if hit > delta else 0.0


def strongest_threshold(with_canary: Statistics, without: Statistics, *, delta: float, error: float) -> float:
    """The threshold that proves the largest ε on these statistics, of as many runs each.

    To be used on other runs: on these, the choice makes the proof too good.
    """
    trials = with_canary.size
    tails = np.unique(np.geomspace(1, trials, 40).round().astype(int))
    candidates = np.unique(np.concatenate([np.sort(side)[-tails] for side in (with_canary, without)]))

    def proven(threshold: float) -> float:
        hits, alarms = (int((side >= threshold).sum()) for side in (with_canary, without))
        return epsilon_proven(hits, alarms, trials, delta=delta, error=error)

    return float(max(candidates, key=proven))

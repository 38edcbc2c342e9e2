"""What an attack proves about privacy: a lower bound of ε from counts, with a stated error rate."""

import math

import numpy as np
from numpy.typing import NDArray

from sketchbench.measure.interval import proportion_interval

Statistics = NDArray[np.float64]


def epsilon_proven(hits: int, false_alarms: int, trials: int, *, delta: float, error: float) -> float:
    """A lower bound of the mechanism's ε at δ that is wrong with probability `error` at most.

    An attack guesses from the output of a run whether the canary was in the data. (ε, δ)-privacy allows
    P(hit) <= exp(ε) P(false alarm) + δ; each probability is replaced by the less favourable end of its
    Clopper-Pearson interval, beyond which it lies with probability error / 2 at most.

    Arguments:
        hits: number of runs with the canary that the attack takes for runs with it.
        false_alarms: number of runs without the canary that the attack takes for runs with it.
        trials: number of runs of either kind.
        delta: δ.
        error: probability that the bound is wrong.

    Returns:
        The bound, at least 0.

    >>> round(epsilon_proven(900, 10, 1000, delta=1e-5, error=1e-3), 2)
    3.54
    """
    hit = proportion_interval(hits, trials, error=error).low
    false_alarm = proportion_interval(false_alarms, trials, error=error).high
    return max(0.0, math.log((hit - delta) / false_alarm)) if hit > delta else 0.0


def strongest_threshold(with_canary: Statistics, without: Statistics, *, delta: float, error: float) -> float:
    """The threshold of a statistic that proves the largest ε on some runs.

    It must be used on other runs: on the same ones, the bound would be too large because of the choice.

    Arguments:
        with_canary: the statistic of runs with the canary (trials,).
        without: of runs without it (trials,).
        delta: δ.
        error: probability that the bound of `epsilon_proven` is wrong.
    """
    trials = with_canary.size
    tails = np.unique(np.geomspace(1, trials, 40).round().astype(int))
    candidates = np.unique(np.concatenate([np.sort(side)[-tails] for side in (with_canary, without)]))

    def proven(threshold: float) -> float:
        hits, alarms = (int((side >= threshold).sum()) for side in (with_canary, without))
        return epsilon_proven(hits, alarms, trials, delta=delta, error=error)

    return float(max(candidates, key=proven))

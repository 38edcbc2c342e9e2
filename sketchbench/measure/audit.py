"""Privacy audits: lower bounds of ε from the successes of an attack, with a stated error rate."""

import math

import numpy as np

from sketchbench.base.parameters import checked
from sketchbench.measure.interval import proportion_interval
from sketchbench.measure.numbers import Sample


def epsilon_lower_bound(hits: int, false_alarms: int, trials: int, *, delta: float, error: float) -> float:
    """A lower bound of the mechanism's ε at δ, which is wrong with probability at most `error`.

    An attack guesses from the output of a run whether the canary, a record, was in the data: `hits` are its guesses
    "yes" in `trials` runs with the canary, `false_alarms` in as many without. Under (ε, δ)-privacy P(hit) <= exp(ε)
    P(false alarm) + δ. The less favourable end of its Clopper-Pearson interval replaces each probability, which exceeds
    that end with probability at most error / 2.

    >>> round(epsilon_lower_bound(900, 10, 1000, delta=1e-5, error=1e-3), 2)
    3.54
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta} must satisfy 0 <= delta < 1")
    hit = proportion_interval(hits, trials, error=error).low
    false_alarm = proportion_interval(false_alarms, trials, error=error).high
    return max(0.0, math.log((hit - delta) / false_alarm)) if hit > delta else 0.0


@checked
def strongest_threshold(with_canary: Sample, without: Sample, *, delta: float, error: float) -> float:
    """The threshold of a statistic with the largest `epsilon_lower_bound`, from its values in runs with the canary and
    without, (trials,) each. Use it on other runs: on the same runs the choice would make the bound too large."""
    if with_canary.ndim != 1 or with_canary.shape != without.shape:
        shapes = f"{with_canary.shape} and {without.shape}"
        raise ValueError(f"statistics of shapes {shapes} must both be (trials,)")
    trials = with_canary.size
    tails = np.unique(np.geomspace(1, trials, 40).round().astype(int))
    candidates = np.unique(np.concatenate([np.sort(side)[-tails] for side in (with_canary, without)]))

    def bound(threshold: float) -> float:
        hits, alarms = (int((side >= threshold).sum()) for side in (with_canary, without))
        return epsilon_lower_bound(hits, alarms, trials, delta=delta, error=error)

    return float(max(candidates, key=bound))

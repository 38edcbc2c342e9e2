"""Exact ε of the (ε, δ)-private mechanisms that lose the most privacy under composition or sampling. A lemma about all
(ε, δ)-private mechanisms holds for these, so a lemma that claims a smaller ε at the same δ is wrong. Probabilities are
sums over all outcomes; nothing is sampled."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from sketchbench.base.parameters import Count, NonNegative, checked
from sketchbench.theory.privacy import LARGEST_EXPONENT

Chances = NDArray[np.float64]
MOST_TIMES = 10_000_000


@checked
def composed_epsilon(each: NonNegative, delta: NonNegative, times: Count, goal: NonNegative) -> float:
    """The ε at δ = `goal` of `times` independent randomised responses about the same secret bit; infinite if the bit is
    revealed with a probability above `goal`. O(times).

    A response reveals the bit with probability δ, and otherwise answers truthfully with odds exp(each) to 1. No
    composition of (each, δ)-private mechanisms is less private (Kairouz, Oh and Viswanath 2015, Theorem 3.3). Raises
    ValueError for more than 10,000,000 responses.
    """
    if times > MOST_TIMES:
        raise ValueError(f"times={times} must be <= {MOST_TIMES:,}, as all numbers of true answers are listed")
    if _any_of(times, delta) > goal:
        return math.inf
    chances = true_answers(each, times)
    return _smallest(lambda epsilon: _response_delta(epsilon, each, delta, times, chances), goal)


@checked
def true_answers(each: NonNegative, times: Count) -> Chances:
    """The probability of k = 0, ..., times true answers, with odds of exp(each) to 1 for each: (times + 1,)."""
    k = np.arange(times + 1)
    ways = special.gammaln(times + 1) - special.gammaln(k + 1) - special.gammaln(times - k + 1)
    return np.asarray(np.exp(ways + k * each - times * np.logaddexp(0.0, each)))


def _response_delta(epsilon: float, each: float, delta: float, times: int, chances: Chances) -> float:
    """δ at ε of the responses of `composed_epsilon`, with `chances` of true answers."""
    k = np.arange(times + 1)
    # exp(ε) times the probability for the other bit, over the probability for this bit
    log_ratio = epsilon - (2 * k - times) * each
    hidden = float(chances @ -np.expm1(np.minimum(log_ratio, 0.0)))
    revealed = _any_of(times, delta)
    return revealed + (1 - revealed) * hidden


def _any_of(times: int, chance: float) -> float:
    return -math.expm1(times * math.log1p(-chance))


@checked
def sampled_epsilon(each: NonNegative, delta: NonNegative, batch: Count, records: Count, goal: NonNegative) -> float:
    """The ε at δ = `goal` of the worst of several noisy counters, on a batch drawn with replacement; infinite if a
    record is revealed with a probability above `goal`.

    Records either count or not; neighbouring data sets replace one record that doesn't by one that does. On a batch
    with j records that count, a counter reveals each with probability δ, and otherwise answers `many` with a
    probability p_j that grows as fast as (each, 0)-privacy allows: p_{j+1} = min(exp(each) p_j, 1 - exp(-each)
    (1 - p_j)). So it is (each, δ)-private on the batch. The counters have p_0 = exp(-i each)/(1 + exp(each)) for i = 0,
    1, ..., batch. Raises ValueError for a single record, or if the smallest probability of a counter underflows.
    """
    if not batch >= 1 or records < 2:
        raise ValueError(f"batch={batch} and records={records} must be >= 1 and >= 2")
    if (batch + 1) * each > LARGEST_EXPONENT:
        raise ValueError(
            f"each={each} must be <= {LARGEST_EXPONENT / (batch + 1):.4g}, {LARGEST_EXPONENT:g}/(batch + 1)"
        )
    pairs = list(_counters(each, delta, batch, records))
    if pairs[0][0][0] > goal:
        return math.inf
    return _smallest(lambda epsilon: max(_counter_delta(epsilon, *pair) for pair in pairs), goal)


def _counters(each: float, delta: float, batch: int, records: int) -> list[tuple[Chances, Chances]]:
    """For each counter, the probabilities of its outcomes (revealed, many, few), with and without the record."""
    counted = np.arange(batch + 1)
    ways = special.gammaln(batch + 1) - special.gammaln(counted + 1) - special.gammaln(batch - counted + 1)
    share = 1 / records
    drawn = np.exp(ways + counted * math.log(share) + (batch - counted) * math.log1p(-share))
    hidden = np.exp(counted * math.log1p(-delta))
    pairs = []
    for start in range(batch + 1):
        many = np.empty(batch + 1)
        many[0] = math.exp(-start * each) / (1 + math.exp(each))
        for j in range(batch):
            many[j + 1] = min(math.exp(each) * many[j], 1 - math.exp(-each) * (1 - many[j]))
        with_it = [drawn @ (1 - hidden), drawn @ (hidden * many), drawn @ (hidden * (1 - many))]
        pairs.append((np.array(with_it), np.array([0.0, many[0], 1 - many[0]])))
    return pairs


def _counter_delta(epsilon: float, present: Chances, absent: Chances) -> float:
    return float(np.maximum(present - math.exp(epsilon) * absent, 0.0).sum())


def _smallest(delta: Callable[[float], float], goal: float) -> float:
    """The smallest ε >= 0 at which `delta(ε)`, a decreasing function, is at most `goal`."""
    if delta(0.0) <= goal:
        return 0.0
    high = 1e-6
    while delta(high) > goal:
        high *= 2
    return float(optimize.brentq(lambda epsilon: delta(epsilon) - goal, 0.0, high, xtol=1e-14, rtol=1e-12))

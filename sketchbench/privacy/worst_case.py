"""The mechanisms that composition and sampling cost most: (ε, δ)-private, and no more, computed exactly.

A lemma about every (ε, δ)-private mechanism is about these. Each function says how private one of them is, so that a
lemma that claims a smaller ε at that δ is wrong. Chances are sums over all outcomes; nothing is sampled.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Chances = NDArray[np.float64]


def response_delta(epsilon: float, each: float, delta: float, times: int) -> float:
    """δ at ε of `times` randomised responses that give the truth away with probability δ, independent of each other.

    Each says the secret bit itself with probability δ, and else a bit that is true with odds exp(each) to 1. No
    (each, δ)-private mechanisms compose to less privacy (Kairouz, Oh and Viswanath 2015, Theorem 3.3).

    Arguments:
        epsilon: at which δ is wanted.
        each: ε of one response.
        delta: δ of one response.
        times: their number. O(times).
    """
    return _response_delta(epsilon, each, delta, times, true_answers(each, times))


def composed_epsilon(each: float, delta: float, times: int, goal: float) -> float:
    """ε of these randomised responses together at δ = `goal`; infinite where they give more away than that."""
    if _given_away(delta, times) > goal:
        return math.inf
    chances = true_answers(each, times)
    return _smallest(lambda epsilon: _response_delta(epsilon, each, delta, times, chances), goal)


def true_answers(each: float, times: int) -> Chances:
    """The chance of k = 0, ..., times true answers, if each has odds of exp(each) to 1."""
    k = np.arange(times + 1)
    ways = special.gammaln(times + 1) - special.gammaln(k + 1) - special.gammaln(times - k + 1)
    return np.asarray(np.exp(ways + k * each - times * np.logaddexp(0.0, each)))


def _response_delta(epsilon: float, each: float, delta: float, times: int, chances: Chances) -> float:
    k = np.arange(times + 1)
    log_ratio = epsilon - (2 * k - times) * each  # of exp(ε) times the chance in the other world to that in this one
    unknown = float(chances @ -np.expm1(np.minimum(log_ratio, 0.0)))
    known = _given_away(delta, times)
    return known + (1 - known) * unknown


def _given_away(delta: float, times: int) -> float:
    """The chance of at least one of so many events of chance δ."""
    return -math.expm1(times * math.log1p(-delta))


def counter_delta(epsilon: float, each: float, delta: float, batch: int, records: int) -> float:
    """δ at ε of a noisy counter, on a batch drawn with replacement, for a record that is replaced by one that counts.

    Of a batch in which j records count, the counter gives each of these away with probability δ, and says `many` with
    a probability p_j that grows as fast as (each, 0)-privacy allows: p_{j+1} = min(exp(each) p_j, 1 - exp(-each)
    (1 - p_j)). So it is (each, δ)-private. p_0 = exp(-i each)/(1 + exp(each)) is tried for i = 0, 1, ..., batch.

    Arguments:
        epsilon: at which δ is wanted.
        each: ε of the counter on a batch.
        delta: δ of the counter on a batch.
        batch: records of a batch.
        records: that it is drawn from.
    """
    return max(_counter_delta(epsilon, *pair) for pair in _counters(each, delta, batch, records))


def sampled_epsilon(each: float, delta: float, batch: int, records: int, goal: float) -> float:
    """ε of the best of these counters at δ = `goal`; infinite where they give more away than that."""
    pairs = list(_counters(each, delta, batch, records))
    if pairs[0][0][0] > goal:
        return math.inf
    return _smallest(lambda epsilon: max(_counter_delta(epsilon, *pair) for pair in pairs), goal)


def _counters(each: float, delta: float, batch: int, records: int) -> list[tuple[Chances, Chances]]:
    """For each counter, the chances of (given away, many, few) with the record that counts, and without."""
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


def _counter_delta(epsilon: float, there: Chances, absent: Chances) -> float:
    return float(np.maximum(there - math.exp(epsilon) * absent, 0.0).sum())


def _smallest(delta: Callable[[float], float], goal: float) -> float:
    """The smallest ε >= 0 at which δ, which falls with ε, is at most `goal`."""
    if delta(0.0) <= goal:
        return 0.0
    high = 1e-6
    while delta(high) > goal:
        high *= 2
    return float(optimize.brentq(lambda epsilon: delta(epsilon) - goal, 0.0, high, xtol=1e-14, rtol=1e-12))

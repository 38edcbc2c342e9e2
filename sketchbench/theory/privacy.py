"""Differential privacy as song2023 accounts for it (Section 6, Appendix H), one function per lemma.

Each raises OutOfRangeError where the lemma's own condition is not met. Logarithms are natural.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple


class OutOfRangeError(ValueError):
    """A lemma that says nothing about these values; the message names its condition."""


class Guarantee(NamedTuple):
    """(ε, δ)-differential privacy."""

    epsilon: float
    delta: float


def gaussian_noise(epsilon: float, delta: float, sensitivity: float) -> float:
    """σ that makes a Gaussian release (ε, δ)-private (song2023 Lemma H.7).

    The lemma has no condition; its source, Dwork and Roth 2014, Theorem A.1, has ε < 1.

    >>> round(gaussian_noise(1.0, 1e-5, sensitivity=1.0), 4)
    4.8448
    """
    _positive(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon


def gaussian_epsilon(sigma: float, delta: float, sensitivity: float) -> float:
    """The ε whose σ this is (song2023 Lemma H.7, solved for ε)."""
    _positive(sigma=sigma, delta=delta, sensitivity=sensitivity)
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / sigma


def parallel_composition(guarantees: Iterable[Guarantee]) -> Guarantee:
    """Of mechanisms on disjoint parts of the data, together (song2023 Lemma H.2)."""
    epsilons, deltas = zip(*guarantees, strict=True)
    return Guarantee(max(epsilons), max(deltas))


def advanced_composition(each: Guarantee, times: int, slack: float) -> Guarantee:
    """Of `times` mechanisms on the same data; slack: δ' > 0, in addition (song2023 Lemma H.3)."""
    epsilon, delta = each
    _positive(epsilon=epsilon, slack=slack)
    if epsilon > 1:
        raise OutOfRangeError(f"Lemma H.3 needs ε <= 1, not {epsilon:.4g}; use more noise")
    grown = math.sqrt(2 * times * math.log(1 / slack)) * epsilon + 2 * times * epsilon**2
    return Guarantee(grown, slack + times * delta)


def classical_composition(each: Guarantee, times: int, slack: float) -> Guarantee:
    """The same with k ε (exp(ε) - 1) for 2 k ε², for any ε (Dwork, Rothblum and Vadhan 2010)."""
    epsilon, delta = each
    _positive(epsilon=epsilon, slack=slack)
    grown = math.sqrt(2 * times * math.log(1 / slack)) * epsilon
    return Guarantee(grown + times * epsilon * math.expm1(epsilon), slack + times * delta)


def sampling_with_replacement(each: Guarantee, batch: int, records: int) -> Guarantee:
    """Of a mechanism on a batch drawn with replacement (song2023 Lemma H.4)."""
    epsilon, delta = each
    if epsilon > 1:
        raise OutOfRangeError(f"Lemma H.4 needs ε <= 1, not {epsilon:.4g}; use more noise")
    if 2 * batch > records:
        raise OutOfRangeError(f"Lemma H.4 needs batch <= records/2, not {batch} of {records}; use smaller batches")
    share = batch / records
    return Guarantee(6 * epsilon * share, math.exp(6 * epsilon * share) * 4 * share * delta)


def amplify_by_sampling(each: Guarantee, share: float) -> Guarantee:
    """Of a mechanism on a batch with this share of the records, drawn without replacement or record by
    record; unlike Lemma H.4 without constants, and for any ε (Balle, Barthe and Gaboardi 2018,
    Theorems 8 and 9).
    """
    return Guarantee(math.log1p(share * math.expm1(each.epsilon)), share * each.delta)


def training_guarantee(each: Guarantee, rounds: int, local_steps: int) -> Guarantee:
    """Of T rounds of K steps: √(TK) ε̂ and TK δ̂ (song2023 Theorem 6.2; with T = 1, Lemma 6.1)."""
    epsilon, delta = each
    if not epsilon < 1 / math.sqrt(local_steps):
        raise OutOfRangeError(
            f"Lemma 6.1 needs a step's ε < 1/√K = {1 / math.sqrt(local_steps):.4g}, not {epsilon:.4g}; use more noise"
        )
    count = rounds * local_steps
    return Guarantee(math.sqrt(count) * epsilon, count * delta)


def _positive(**values: float) -> None:
    for name, value in values.items():
        below = 1.0 if name in ("delta", "slack") else math.inf
        if not 0 < value < below:
            raise ValueError(f"{name}={value} must satisfy 0 < {name} < {below:g}")

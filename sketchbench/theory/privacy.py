"""The lemmas on differential privacy of song2023 (Section 6, Appendix H), one function each, and their sources.
Functions raise OutOfRangeError if the lemma's condition is not met. Logarithms are natural."""

import math
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from sketchbench.base.parameters import Count, Share, checked

LARGEST_EXPONENT = 600.0  # of exp(ε), which must stay a float when multiplied by numbers of steps


class OutOfRangeError(ValueError):
    """Values that do not meet the condition of a lemma; the message names the condition."""


class Guarantee(NamedTuple):
    """(ε, δ)-differential privacy."""

    epsilon: float
    delta: float


def _check(name: str, each: Guarantee) -> None:
    if not (each.epsilon >= 0 and each.delta >= 0):
        raise ValueError(f"{name} has epsilon={each.epsilon} and delta={each.delta}, which must be numbers >= 0")


Known = Annotated[Guarantee, _check]


def gaussian_noise(epsilon: float, delta: float, sensitivity: float) -> float:
    """The σ of an (ε, δ)-private Gaussian release: √(2 log(1.25/δ)) sensitivity/ε (song2023 Lemma H.7). The lemma has
    no condition; its source, Dwork and Roth 2014, Theorem A.1, has ε < 1.

    >>> round(gaussian_noise(1.0, 1e-5, sensitivity=1.0), 4)
    4.8448
    """
    _positive(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    return math.sqrt(2 * _log_share(delta)) * sensitivity / epsilon


def gaussian_epsilon(sigma: float, delta: float, sensitivity: float) -> float:
    """The ε of a Gaussian release with this σ (song2023 Lemma H.7, solved for ε)."""
    _positive(sigma=sigma, delta=delta, sensitivity=sensitivity)
    return math.sqrt(2 * _log_share(delta)) * sensitivity / sigma


def parallel_composition(guarantees: Iterable[Guarantee]) -> Guarantee:
    """The guarantee of mechanisms on disjoint parts of the data together: max ε and max δ (song2023 Lemma H.2)."""
    known = list(guarantees)
    if not known:
        raise ValueError("there is no guarantee to compose; give at least one")
    for each in known:
        _check("a guarantee", each)
    epsilons, deltas = zip(*known, strict=True)
    return Guarantee(max(epsilons), max(deltas))


@checked
def advanced_composition(each: Known, times: Count, slack: float) -> Guarantee:
    """The guarantee of k = `times` mechanisms on the same data: √(2k log(1/δ')) ε + 2k ε² and δ' + k δ.
    `slack` is δ' > 0 (song2023 Lemma H.3, for ε <= 1)."""
    epsilon, delta = each
    _positive(epsilon=epsilon, slack=slack)
    if epsilon > 1:
        raise OutOfRangeError(f"Lemma H.3 needs ε <= 1, not {epsilon:.4g}; use more noise")
    grown = math.sqrt(2 * times * math.log(1 / slack)) * epsilon + 2 * times * epsilon**2
    return Guarantee(grown, slack + times * delta)


@checked
def classical_composition(each: Known, times: Count, slack: float) -> Guarantee:
    """`advanced_composition` with k ε (exp(ε) - 1) for 2k ε², for any ε >= 0 (Dwork, Rothblum and Vadhan 2010). Raises
    OutOfRangeError if that exceeds the largest float."""
    epsilon, delta = each
    _positive(slack=slack)
    if not 0 <= epsilon <= LARGEST_EXPONENT:
        raise OutOfRangeError(
            f"the composition of 2010 grows with exp(ε), and needs a step's 0 <= ε <= {LARGEST_EXPONENT}, not "
            f"{epsilon:.4g}; use more noise"
        )
    grown = math.sqrt(2 * times * math.log(1 / slack)) * epsilon
    return Guarantee(grown + times * epsilon * math.expm1(epsilon), slack + times * delta)


@checked
def sampling_with_replacement(each: Known, batch: Count, records: Count) -> Guarantee:
    """The guarantee of a mechanism on a batch of share p drawn with replacement, for ε <= 1 and p <= 1/2: 6ε p and
    exp(6ε p) 4p δ (song2023 Lemma H.4)."""
    epsilon, delta = each
    if epsilon > 1:
        raise OutOfRangeError(f"Lemma H.4 needs ε <= 1, not {epsilon:.4g}; use more noise")
    if 2 * batch > records:
        raise OutOfRangeError(f"Lemma H.4 needs batch <= records/2, not {batch} of {records}; use smaller batches")
    share = batch / records
    return Guarantee(6 * epsilon * share, math.exp(6 * epsilon * share) * 4 * share * delta)


@checked
def amplify_by_sampling(each: Known, share: Share) -> Guarantee:
    """The guarantee of a mechanism on a batch of share p, drawn without replacement or by Poisson sampling: log(1 +
    p(exp(ε) - 1)) and p δ, for any ε (Balle, Barthe and Gaboardi 2018, Theorems 8 and 9)."""
    if each.epsilon > LARGEST_EXPONENT:
        amplified = each.epsilon + math.log(share + (1 - share) * math.exp(-each.epsilon))
    else:
        amplified = math.log1p(share * math.expm1(each.epsilon))
    return Guarantee(amplified, share * each.delta)


@checked
def training_guarantee(each: Known, rounds: Count, local_steps: Count) -> Guarantee:
    """The guarantee of T rounds of K local steps with ε̂ < 1/√K and δ̂ each: √(TK) ε̂ and TK δ̂ (song2023 Theorem 6.2);
    with T = 1 it is Lemma 6.1."""
    epsilon, delta = each
    if not epsilon < 1 / math.sqrt(local_steps):
        raise OutOfRangeError(
            f"Lemma 6.1 needs a step's ε < 1/√K = {1 / math.sqrt(local_steps):.4g}, not {epsilon:.4g}; use more noise"
        )
    count = rounds * local_steps
    return Guarantee(math.sqrt(count) * epsilon, count * delta)


def _log_share(delta: float) -> float:
    """log(1.25/δ), even if 1.25/δ exceeds the largest float."""
    return math.log(1.25 / delta) if delta > 1e-300 else math.log(1.25) - math.log(delta)


def _positive(**values: float) -> None:
    for name, value in values.items():
        below = 1.0 if name in ("delta", "slack") else math.inf
        if not 0 < value < below:
            raise ValueError(f"{name}={value} must satisfy 0 < {name} < {below:g}")

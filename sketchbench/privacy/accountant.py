"""Accountants: from a mechanism, as data, and δ to ε.

Each refuses a mechanism that it has no theorem for, such as the amplification by sampling that
another sampler has: an ε is for the sampler that really drew the batches.
"""

import math
from collections.abc import Callable
from typing import Any

from scipy import optimize

from sketchbench.parameters import checked, choose
from sketchbench.privacy import gaussian
from sketchbench.privacy.mechanism import Mechanism, SampledGaussian, Steps, steps
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.privacy import Guarantee, OutOfRangeError


class RefusedError(ValueError):
    """A mechanism that the accountant has no theorem for; the message says which would."""


@checked
def epsilon(accountant: str, mechanism: Mechanism, delta: float) -> float:
    """The ε of a mechanism at this δ, by the accountant of this name in ACCOUNTANTS.

    Where clients differ, that of the worst. Raises RefusedError where the accountant does not know the
    mechanism, OutOfRangeError where a lemma's condition is not met, ValueError for another δ than 0 < δ < 1,
    ArithmeticError where an accountant spends more δ than it has.
    """
    choose("accountant", accountant, ACCOUNTANTS)
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must satisfy 0 < delta < 1")
    found = [ACCOUNTANTS[accountant](own, delta) for own in steps(mechanism)]
    for guarantee in found:
        if guarantee.delta > delta * (1 + 1e-9):
            raise ArithmeticError(f"accountant={accountant} spent δ={guarantee.delta} of {delta}")
    return max(guarantee.epsilon for guarantee in found)


def _paper(own: Steps, delta: float) -> Guarantee:
    """song2023 Theorem 6.2 with the σ of Lemma H.7: no constants, no amplification."""
    each = _each(own, delta / own.count)
    local_steps = own.times[-1] if own.times else 1
    return lemmas.training(each, own.count // local_steps, local_steps)


def _advanced(own: Steps, delta: float) -> Guarantee:
    """song2023 Lemmas H.7, H.4 and H.3; half of δ is for the composition, the rest for the steps."""
    goal = delta / 2 / own.count
    each = _repeated(own, own.sampled, goal) if own.sampled else _each(own, goal)
    return lemmas.advanced(each, own.count, delta / 2)


def _classical(own: Steps, delta: float) -> Guarantee:
    """A step's exact ε, amplified by sampling, composed as in 2010; half of δ is for the composition."""
    goal, share = delta / 2 / own.count, 1.0
    if own.sampled:
        _known("classical", own.sampled, "poisson", "without_replacement")
        share = own.sampled.sampling.rate
    alone = min(goal / share, 0.5)
    each = Guarantee(gaussian.epsilon(1 / own.multiplier, alone), alone)
    return lemmas.classical(lemmas.amplified(each, share), own.count, delta / 2)


def _exact(own: Steps, delta: float) -> Guarantee:
    """The Gaussian mechanism's own curve; k of them are one."""
    if own.sampled:
        _known("exact", own.sampled, "full")
    return Guarantee(gaussian.epsilon(math.sqrt(own.count) / own.multiplier, delta), delta)


def _rdp(own: Steps, delta: float) -> Guarantee:
    """Rényi differential privacy."""
    from dp_accounting import NeighboringRelation, rdp

    from_fixed_size = own.sampled and own.sampled.sampling.kind == "without_replacement"
    relation = NeighboringRelation["REPLACE_ONE" if from_fixed_size else "ADD_OR_REMOVE_ONE"]
    accountant = rdp.RdpAccountant(neighboring_relation=relation)
    accountant.compose(_event("rdp", own, "poisson", "without_replacement"), own.count)
    return Guarantee(float(accountant.get_epsilon(delta)), delta)


def _pld(own: Steps, delta: float) -> Guarantee:
    """Privacy loss distributions, rounded up to multiples of an interval."""
    from dp_accounting import NeighboringRelation, pld

    # The interval is in the scale of the losses, of all steps together where they are one Gaussian, else of
    # one step; the ε is then less than 0.01 % above that of much finer ones.
    if own.sampled is None:
        interval = 1e-3 * math.sqrt(own.count) / own.multiplier
    else:
        interval = 0.02 * own.sampled.sampling.rate / own.multiplier
    accountant = pld.PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE, interval)
    accountant.compose(_event("pld", own, "poisson"), own.count)
    return Guarantee(float(accountant.get_epsilon(delta)), delta)


Account = Callable[[Steps, float], Guarantee]
ACCOUNTANTS: dict[str, Account] = {
    "paper": _paper,
    "advanced": _advanced,
    "classical": _classical,
    "exact": _exact,
    "rdp": _rdp,
    "pld": _pld,
}


def _each(own: Steps, delta: float) -> Guarantee:
    """What Lemma H.7 says of a single Gaussian release."""
    return Guarantee(lemmas.gaussian_epsilon(own.multiplier, delta, 1.0), delta)


def _repeated(own: Steps, sampled: SampledGaussian, goal: float) -> Guarantee:
    """Lemma H.4, from the δ of a single release for which it gives the δ `goal`."""
    _known("advanced", sampled, "with_replacement")
    batch, records = sampled.sampling.batch, sampled.sampling.records
    share = batch / records

    def excess(log_delta: float) -> float:
        epsilon = _each(own, math.exp(log_delta)).epsilon
        return 6 * epsilon * share + math.log(4 * share) + log_delta - math.log(goal)

    # With ε <= 1, as the lemma needs it, and share <= 1/2, the δ of a release is at least goal exp(-4).
    low, high = math.log(goal) - 4, min(math.log(goal / (4 * share)), math.log(0.5))
    if excess(low) > 0:
        raise OutOfRangeError("Lemma H.4 needs ε <= 1 and batch <= records/2; use more noise or records")
    alone = math.exp(optimize.brentq(excess, low, high))
    return lemmas.sampling(_each(own, alone), batch, records)


def _event(accountant: str, own: Steps, *samplings: str) -> Any:
    """One step in the words of dp-accounting."""
    import dp_accounting

    release = dp_accounting.GaussianDpEvent(own.multiplier)
    if own.sampled is None:
        return release
    _known(accountant, own.sampled, *samplings)
    sampling = own.sampled.sampling
    if sampling.kind == "poisson":
        return dp_accounting.PoissonSampledDpEvent(sampling.rate, release)
    return dp_accounting.SampledWithoutReplacementDpEvent(sampling.records, sampling.batch, release)


FITTING = {"poisson": "pld", "without_replacement": "rdp", "with_replacement": "advanced"}


def _known(accountant: str, sampled: SampledGaussian, *samplings: str) -> None:
    kind = sampled.sampling.kind
    if kind not in samplings:
        raise RefusedError(
            f"accountant={accountant} is for sampling={' or '.join(samplings)}, and the batches are "
            f"drawn with sampling={kind}; use {FITTING[kind]}"
        )

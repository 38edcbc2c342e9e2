"""Accountants, which compute the ε of a mechanism at a given δ.

| accountant | theorem | batches |
|---|---|---|
| `paper` | song2023 Theorem 6.2 with the σ of Lemma H.7, as printed: no constants, no amplification | any |
| `advanced` | song2023 Lemmas H.7, H.4 and H.3, with their constants | full, with replacement |
| `classical` | exact ε of a step, amplified by sampling, with the composition of 2010 | all but with replacement |
| `exact` | exact curve of the Gaussian mechanism (Balle and Wang 2018); k releases equal one with σ/√k | full |
| `rdp` | Rényi differential privacy, by dp-accounting: an upper bound | all but with replacement |
| `pld` | privacy loss distributions, by dp-accounting: tight up to rounding upwards | full, Poisson |

An accountant raises RefusedError for batches that its theorem does not cover: an ε is for the sampler that drew the
batches.
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
    """A mechanism that the theorem of the accountant does not cover; the message names an accountant that does."""


@checked
def epsilon(accountant: str, mechanism: Mechanism, delta: float) -> float:
    """The ε for which an accountant shows a mechanism to be (ε, δ)-differentially private.

    Where clients differ, it is the largest ε of any client.

    Arguments:
        accountant: name in ACCOUNTANTS; see the module.
        mechanism: everything that is released.
        delta: δ of the whole mechanism, 0 < δ < 1.

    Raises:
        RefusedError: where the accountant's theorem does not cover the mechanism.
        OutOfRangeError: where a lemma's condition on ε, δ or batches is not met.
        ValueError: for an unknown accountant, or a δ out of its range.
        ArithmeticError: where an accountant spends more than δ, which would be a mistake of ours.
    """
    choose("accountant", accountant, ACCOUNTANTS)
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must satisfy 0 < delta < 1")
    guarantees = [ACCOUNTANTS[accountant](own, delta) for own in steps(mechanism)]
    for guarantee in guarantees:
        if guarantee.delta > delta * (1 + 1e-9):
            raise ArithmeticError(f"accountant={accountant} spent δ={guarantee.delta} of {delta}")
    return max(guarantee.epsilon for guarantee in guarantees)


def _paper(own: Steps, delta: float) -> Guarantee:
    """song2023 Theorem 6.2 with the σ of Lemma H.7, without constants or amplification by sampling."""
    each = _single_release(own, delta / own.count)
    local_steps = own.times[-1] if own.times else 1
    return lemmas.training_guarantee(each, own.count // local_steps, local_steps)


def _advanced(own: Steps, delta: float) -> Guarantee:
    """song2023 Lemmas H.7, H.4 and H.3; half of δ is for the composition, half for the steps."""
    goal = delta / 2 / own.count
    each = _resampled_release(own, own.sampled, goal) if own.sampled else _single_release(own, goal)
    return lemmas.advanced_composition(each, own.count, delta / 2)


def _classical(own: Steps, delta: float) -> Guarantee:
    """The exact ε of a step, amplified by sampling (Balle, Barthe and Gaboardi 2018), with the composition of Dwork,
    Rothblum and Vadhan 2010; half of δ is for the composition, half for the steps."""
    goal, share = delta / 2 / own.count, 1.0
    if own.sampled:
        _require_sampling("classical", own.sampled, "poisson", "without_replacement")
        share = own.sampled.sampling.rate
    alone = min(goal / share, 0.5)
    each = Guarantee(gaussian.epsilon(1 / own.multiplier, alone), alone)
    return lemmas.classical_composition(lemmas.amplify_by_sampling(each, share), own.count, delta / 2)


def _exact(own: Steps, delta: float) -> Guarantee:
    """The exact curve of the Gaussian mechanism; k releases equal one with σ/√k."""
    if own.sampled:
        _require_sampling("exact", own.sampled, "full")
    return Guarantee(gaussian.epsilon(math.sqrt(own.count) / own.multiplier, delta), delta)


def _rdp(own: Steps, delta: float) -> Guarantee:
    """Rényi differential privacy, by dp-accounting."""
    from dp_accounting import NeighboringRelation, rdp

    from_fixed_size = own.sampled and own.sampled.sampling.kind == "without_replacement"
    relation = NeighboringRelation["REPLACE_ONE" if from_fixed_size else "ADD_OR_REMOVE_ONE"]
    accountant = rdp.RdpAccountant(neighboring_relation=relation)
    accountant.compose(_event("rdp", own, "poisson", "without_replacement"), own.count)
    return Guarantee(float(accountant.get_epsilon(delta)), delta)


def _pld(own: Steps, delta: float) -> Guarantee:
    """Privacy loss distributions, by dp-accounting, with losses rounded up to multiples of an interval."""
    from dp_accounting import NeighboringRelation, pld

    # The interval is a fraction of the losses: of all steps together for full batches, which make one Gaussian, and
    # else of one step. Its ε is less than 0.01 % above that of much finer intervals.
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


def _single_release(own: Steps, delta: float) -> Guarantee:
    """The guarantee of one Gaussian release on a full batch, by song2023 Lemma H.7."""
    return Guarantee(lemmas.gaussian_epsilon(own.multiplier, delta, 1.0), delta)


def _resampled_release(own: Steps, sampled: SampledGaussian, goal: float) -> Guarantee:
    """The guarantee of one release on a batch with replacement, by song2023 Lemma H.4, with δ = `goal`."""
    _require_sampling("advanced", sampled, "with_replacement")
    batch, records = sampled.sampling.batch, sampled.sampling.records
    share = batch / records

    def excess(log_delta: float) -> float:
        epsilon = _single_release(own, math.exp(log_delta)).epsilon
        return 6 * epsilon * share + math.log(4 * share) + log_delta - math.log(goal)

    # With ε <= 1 and share <= 1/2, which the lemma requires, the δ of a single release is at least goal exp(-4).
    low, high = math.log(goal) - 4, min(math.log(goal / (4 * share)), math.log(0.5))
    if excess(low) > 0:
        raise OutOfRangeError("Lemma H.4 needs ε <= 1 and batch <= records/2; use more noise or records")
    alone = math.exp(optimize.brentq(excess, low, high))
    return lemmas.sampling_with_replacement(_single_release(own, alone), batch, records)


def _event(accountant: str, own: Steps, *samplings: str) -> Any:
    """One step as an event of dp-accounting; RefusedError for sampled batches of none of these samplings."""
    import dp_accounting

    release = dp_accounting.GaussianDpEvent(own.multiplier)
    if own.sampled is None:
        return release
    _require_sampling(accountant, own.sampled, *samplings)
    sampling = own.sampled.sampling
    if sampling.kind == "poisson":
        return dp_accounting.PoissonSampledDpEvent(sampling.rate, release)
    return dp_accounting.SampledWithoutReplacementDpEvent(sampling.records, sampling.batch, release)


RECOMMENDED = {"poisson": "pld", "without_replacement": "rdp", "with_replacement": "advanced"}  # accountant by sampling


def _require_sampling(accountant: str, sampled: SampledGaussian, *samplings: str) -> None:
    """Raise RefusedError unless batches are drawn by one of these samplings."""
    kind = sampled.sampling.kind
    if kind not in samplings:
        raise RefusedError(
            f"accountant={accountant} is for sampling={' or '.join(samplings)}, and the batches are "
            f"drawn with sampling={kind}; use {RECOMMENDED[kind]}"
        )

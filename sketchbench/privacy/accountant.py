"""Accountants, which compute the ε of a mechanism at a given δ.

| accountant | theorem | batches |
|---|---|---|
| `paper` | song2023 Theorem 6.2 with the σ of Lemma H.7, as printed: no constants, no amplification | any |
| `advanced` | song2023 Lemmas H.7, H.4 and H.3, with their constants | full, with replacement |
| `classical` | exact ε of a step, amplified by sampling, with the composition of 2010 | all but with replacement |
| `exact` | exact curve of the Gaussian mechanism (Balle and Wang 2018); k releases equal one with σ/√k | full |
| `rdp` | Rényi differential privacy: an upper bound | all but with replacement |
| `pld` | privacy loss distributions, by dp-accounting: tight up to rounding upwards | full, Poisson |

An accountant raises RefusedError for batches outside its theorem, since an ε belongs to the sampler of the batches, and
beyond its numerical limits; the message names an accountant without the limit.

- `paper`, `advanced`, `classical` and `exact` are formulas, to 9 digits; `classical` ends at steps with ε > 600.
- `rdp` is at most 0.5 % above the bound by the best of all orders, see `privacy.renyi`. Without replacement orders end
  at 1024, which has a least ε.
- `pld` is above the true ε by at most 0.2 %, or 1 % if the finest grid that takes only seconds is coarser. It needs
  δ >= 1e-12, and for Poisson batches at most 1,000,000 steps and δ >= 1e-15 times their number.
"""

import functools
import logging
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from sketchbench.base.parameters import checked, choose
from sketchbench.privacy import gaussian, renyi
from sketchbench.privacy.mechanism import Mechanism, SampledGaussian, Steps, steps
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.privacy import Guarantee, OutOfRangeError

log = logging.getLogger(__name__)
MOST = 1e50  # steps, and σ over the sensitivity or its inverse
LEAST_SHARE = 1e-312  # δ of a step, to ten digits
LEAST_NOISE, MOST_NOISE = 1e-7, 1e6  # σ over the sensitivity for which dp-accounting's divergences have digits left
LEAST_DELTA, ROUNDING = 1e-12, 1e-15  # δ that loss distributions add by truncation, and for each step by rounding
MOST_STEPS = 1_000_000  # Poisson batches, whose losses are on one grid
FINE, COARSE = 200_000, 100_000  # losses of a step on a grid, with the finest interval and with a coarser one
WIDEST_INTERVAL = 500.0  # between losses, as exponentials of it are taken
GIVEN = 0.01  # relative accuracy with a coarse interval


class RefusedError(ValueError):
    """A mechanism or δ that the accountant does not cover; the message names an accountant that does."""


class FloorError(RefusedError):
    """A mechanism with an ε below `limit`, the smallest ε that the accountant can tell."""

    def __init__(self, message: str, limit: float) -> None:
        super().__init__(message)
        self.limit = limit


@checked
def epsilon(accountant: str, mechanism: Mechanism, delta: float) -> float:
    """The ε for which an accountant shows that a mechanism is (ε, δ)-differentially private. If clients differ, it is
    the largest of their ε. The accountant is a name in ACCOUNTANTS (see the module), the mechanism everything that is
    released, 0 < δ < 1.

    Raises RefusedError if the accountant's theorem does not cover the mechanism, or beyond its numerical limits;
    OutOfRangeError if a lemma's condition on ε, δ or batches is not met; ValueError for an unknown accountant, a δ out
    of its range, or numbers above 1e50; ArithmeticError if an accountant spends more than δ, a mistake of ours.
    """
    choose("accountant", accountant, ACCOUNTANTS)
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta} must satisfy 0 < delta < 1")
    guarantees = [_guarantee(accountant, own, delta) for own in steps(mechanism)]
    for guarantee in guarantees:
        if guarantee.delta > delta * (1 + 1e-9):
            raise ArithmeticError(f"accountant={accountant} spent δ={guarantee.delta} of {delta}")
        if not math.isfinite(guarantee.epsilon):
            raise ArithmeticError(f"accountant={accountant} gives ε={guarantee.epsilon} for {mechanism}")
    return max(guarantee.epsilon for guarantee in guarantees)


def _guarantee(accountant: str, own: Steps, delta: float) -> Guarantee:
    """An accountant's guarantee of some steps, whose numbers must be far from the ends of floats."""
    if not 1 / MOST <= own.multiplier <= MOST:
        raise ValueError(
            f"sigma={own.gaussian.sigma:g} over sensitivity={own.gaussian.sensitivity:g} must be >= {1 / MOST:g} and "
            f"<= {MOST:g}"
        )
    if own.count > MOST:
        raise ValueError(f"the mechanism has more than {MOST:g} steps; use fewer rounds")
    try:
        return ACCOUNTANTS[accountant](own, delta)
    except OutOfRangeError as error:
        other = UNCONDITIONAL.get(own.sampled.sampling.kind if own.sampled else "full")
        if other in (None, accountant):
            raise
        raise OutOfRangeError(f"{error}, or accountant={other}") from error


def _paper(own: Steps, delta: float) -> Guarantee:
    """song2023 Theorem 6.2 with the σ of Lemma H.7, without constants or amplification by sampling."""
    each = _single_release(own, _split("paper", own, delta))
    local_steps = own.times[-1] if own.times else 1
    return lemmas.training_guarantee(each, own.count // local_steps, local_steps)


def _advanced(own: Steps, delta: float) -> Guarantee:
    """song2023 Lemmas H.7, H.4 and H.3; half of δ is for the composition, half for the steps."""
    goal = _split("advanced", own, delta / 2)
    each = _resampled_release(own, own.sampled, goal) if own.sampled else _single_release(own, goal)
    return lemmas.advanced_composition(each, own.count, delta / 2)


def _classical(own: Steps, delta: float) -> Guarantee:
    """The exact ε of a step, amplified by sampling (Balle, Barthe and Gaboardi 2018), with the composition of Dwork,
    Rothblum and Vadhan 2010; half of δ is for the composition, half for the steps."""
    if own.sampled:
        _require_sampling("classical", own.sampled, "poisson", "without_replacement")
    alone = min(_split("classical", own, delta / 2) / own.rate, 0.5)
    each = Guarantee(gaussian.epsilon(1 / own.multiplier, alone), alone)
    return lemmas.classical_composition(lemmas.amplify_by_sampling(each, own.rate), own.count, delta / 2)


def _exact(own: Steps, delta: float) -> Guarantee:
    """The exact curve of the Gaussian mechanism; k releases equal one with σ/√k."""
    if own.sampled:
        whole = ("poisson", "without_replacement") if own.rate == 1 else ()  # every record is in every batch
        _require_sampling("exact", own.sampled, "full", *whole)
    return Guarantee(gaussian.epsilon(math.sqrt(own.count) / own.multiplier, delta), delta)


def _rdp(own: Steps, delta: float) -> Guarantee:
    if own.sampled:
        _require_sampling("rdp", own.sampled, "poisson", "without_replacement")
        if own.rate < 1 and own.multiplier < LEAST_NOISE:
            raise OutOfRangeError(
                f"accountant=rdp needs σ >= {LEAST_NOISE:g} times the sensitivity for random batches, not "
                f"{own.multiplier:.3g}; use more noise"
            )
        if own.sampled.sampling.kind == "without_replacement" and own.rate < 1:
            return Guarantee(_fixed_size_epsilon(own, delta), delta)
    return Guarantee(renyi.epsilon(own.count, own.rate, own.multiplier, delta), delta)


def _fixed_size_epsilon(own: Steps, delta: float) -> float:
    """The ε by Theorem 27 of Wang, Balle and Kasiviswanathan 2019, at most the ε of full batches."""
    import dp_accounting
    from dp_accounting import rdp

    assert own.sampled is not None
    sampling = own.sampled.sampling
    if own.multiplier > MOST_NOISE:
        raise RefusedError(
            f"accountant=rdp needs σ <= {MOST_NOISE:g} times the sensitivity for batches without replacement, not "
            f"{own.multiplier:.3g}; use classical"
        )
    batches = dp_accounting.SampledWithoutReplacementDpEvent(
        sampling.records, sampling.batch, dp_accounting.GaussianDpEvent(own.multiplier)
    )

    def best(*orders: float) -> tuple[float, float]:
        accountant = rdp.RdpAccountant(orders or None, dp_accounting.NeighboringRelation.REPLACE_ONE)
        accountant.compose(batches, own.count)
        return accountant.get_epsilon_and_optimal_order(delta)

    sampled, order = best()
    last = 1024
    least = 2 * (math.log1p(-1 / last) - math.log(delta * last) / (last - 1))
    if order == last and sampled < least:
        raise FloorError(
            f"accountant=rdp can't tell how far ε is below {least:.3g} at delta={delta:g} for batches without "
            f"replacement, as its orders end at {last}; use classical",
            least,
        )
    if order >= 63:  # from here on each of dp-accounting's orders is twice the last
        at = functools.cache(lambda order: best(order)[0])
        middle = int(order)
        for low, high in ((middle // 2, middle), (middle, min(2 * middle, last))):
            sampled = min(sampled, at(renyi.lowest(at, low, high)))
    return min(float(sampled), renyi.epsilon(own.count, 1.0, own.multiplier, delta))


def _pld(own: Steps, delta: float) -> Guarantee:
    """Privacy loss distributions, by dp-accounting, with losses rounded up to multiples of an interval."""
    if own.sampled:
        _require_sampling("pld", own.sampled, "poisson")
    other = "rdp" if own.sampled else "exact"
    least = max(LEAST_DELTA, ROUNDING * own.count if own.sampled else 0.0)
    if delta < least:
        raise RefusedError(
            f"accountant=pld needs delta >= {least:.3g} for {own.count} steps, not {delta:.3g}: less is lost in "
            f"rounding; use {other}"
        )
    # The interval is a fraction of the losses: of all steps together for full batches, which make one Gaussian, else of
    # one step. Its ε is less than 0.01 % above the ε of much finer intervals.
    if own.sampled is None:
        mu = math.sqrt(own.count) / own.multiplier
        fine = 1e-3 * math.sqrt(own.count) / own.multiplier
        return Guarantee(_on_grid(own, max(fine, (mu + 20) * mu / COARSE), delta), delta)
    if own.count > MOST_STEPS:
        raise RefusedError(f"accountant=pld needs at most {MOST_STEPS:,} steps, not {own.count:,}; use rdp")
    fine = 0.02 * own.rate / own.multiplier
    span = _span(own)
    if span <= FINE * fine and own.count <= FINE:
        return Guarantee(_on_grid(own, fine, delta), delta)
    interval = max(span / COARSE, fine * own.count / FINE, fine)
    log.info("accountant=pld: losses up to %.3g in multiples of %.3g, not %.3g", span, interval, fine)
    spent = _on_grid(own, interval, delta)
    # The error of an interval falls at least as fast as the interval.
    if interval > 5 * fine and _on_grid(own, 2 * interval, delta) > spent * (1 + GIVEN) + 1e-12:
        raise RefusedError(
            f"accountant=pld can't reach {GIVEN:.0%} with {COARSE:,} losses from 0 to {span:.3g}, as most are near "
            f"{own.rate / own.multiplier:.3g}; use rdp"
        )
    return Guarantee(spent, delta)


def _span(own: Steps) -> float:
    """The range of one step's privacy losses on dp-accounting's grid: up to ten standard deviations."""
    loss = (10 + 0.5 / own.multiplier) / own.multiplier
    highest = math.log1p(own.rate * math.expm1(loss)) if loss < 30 else loss + math.log(own.rate)
    lowest = min(loss, -math.log1p(-own.rate)) if own.rate < 1 else loss
    return max(highest, 0.0) + lowest


def _on_grid(own: Steps, interval: float, delta: float) -> float:
    """The ε with losses rounded up to multiples of an interval; some 50 μs for each loss."""
    from dp_accounting import NeighboringRelation, pld

    if interval > WIDEST_INTERVAL:
        raise OutOfRangeError(
            f"accountant=pld would round losses to multiples of {interval:.3g}, and needs {WIDEST_INTERVAL:g} at most; "
            f"use more noise"
        )
    accountant = pld.PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE, interval)
    accountant.compose(event(own), own.count)
    with np.errstate(over="ignore"):
        spent = float(accountant.get_epsilon(delta))
    if math.isfinite(spent):
        return spent
    # dp-accounting divides by a probability that underflows at ε of about 720.
    return float(optimize.brentq(lambda e: accountant.get_delta(e) - delta, 600.0, 900.0, rtol=1e-9))


Account = Callable[[Steps, float], Guarantee]
ACCOUNTANTS: dict[str, Account] = {
    "paper": _paper,
    "advanced": _advanced,
    "classical": _classical,
    "exact": _exact,
    "rdp": _rdp,
    "pld": _pld,
}


def _split(accountant: str, own: Steps, delta: float) -> float:
    """The δ of each step. Raises RefusedError if it has too few digits."""
    if delta / own.count < LEAST_SHARE:
        raise RefusedError(
            f"accountant={accountant} divides δ={delta:.3g} among {own.count} steps, and needs {LEAST_SHARE:g} or more "
            f"for each; use {UNCONDITIONAL.get(own.sampled.sampling.kind, 'fewer steps') if own.sampled else 'exact'}"
        )
    return delta / own.count


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
    if excess(high) <= 0:  # batches so small that half of all batches could tell everything
        return lemmas.sampling_with_replacement(_single_release(own, math.exp(high)), batch, records)
    if excess(low) > 0:
        raise OutOfRangeError("Lemma H.4 needs ε <= 1 and batch <= records/2; use more noise or records")
    alone = math.exp(optimize.brentq(excess, low, high))
    return lemmas.sampling_with_replacement(_single_release(own, alone), batch, records)


def event(own: Steps) -> Any:
    """One step as an event of dp-accounting; ValueError for batches with replacement, which it lacks."""
    import dp_accounting as dp

    release = dp.GaussianDpEvent(own.multiplier)
    if own.sampled is None:
        return release
    sampling = own.sampled.sampling
    match sampling.kind:
        case "poisson":
            return dp.PoissonSampledDpEvent(sampling.rate, release)
        case "without_replacement":
            return dp.SampledWithoutReplacementDpEvent(sampling.records, sampling.batch, release)
        case "with_replacement":
            raise ValueError(
                "dp-accounting has no accountant for batches with replacement; draw them without, or use "
                "accountant=advanced of this project"
            )
    return release


UNCONDITIONAL = {"full": "exact", "poisson": "rdp", "without_replacement": "rdp"}  # accountant without conditions on ε
RECOMMENDED = {"poisson": "pld", "without_replacement": "rdp", "with_replacement": "advanced"}  # accountant by sampling


def _require_sampling(accountant: str, sampled: SampledGaussian, *samplings: str) -> None:
    kind = sampled.sampling.kind
    if kind not in samplings:
        raise RefusedError(
            f"accountant={accountant} is for sampling={' or '.join(samplings)}, and the batches are "
            f"drawn with sampling={kind}; use {RECOMMENDED[kind]}"
        )

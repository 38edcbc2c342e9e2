"""The privacy lemmas of song2023 beside exact accounts."""

import itertools
import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scipy import optimize

from sketchbench.base.parameters import Checked, Count, NonEmptyList, Positive, Probability, Share
from sketchbench.measure.row import Row
from sketchbench.privacy import gaussian, worst_case
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.mechanism import Composed, GaussianRelease, Parallel, SampledGaussian, mean_sensitivity
from sketchbench.privacy.sampling import Sampling
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.privacy import Guarantee

log = logging.getLogger(__name__)

WHOLE = 1.0  # a total δ of at least this leaves no privacy
CONSTANT = 4.0  # (2ℓ/ℓ)²: replacing a record takes twice the noise of removing one
STEP, TOTAL_DELTA = 0.999, 1e-5  # ε of a step, below 1/√K, and δ of a training on random batches
SAMPLED = 1000  # records from which it draws
PRINTED, SMALLER = "printed", "smaller"


@dataclass(frozen=True)
class PrivacyLemmas(Checked):
    """Computes the ε that a lemma claims, and the exact ε at the same δ, over a grid of parameters. There is no
    randomness. Grid points that don't meet a lemma's condition have no row.

    Rows with `claimed` and `exact_epsilon`; value: exact over claimed; bound: 1, for a correct lemma:
        gaussian (Lemma H.7): a Gaussian release with the lemma's σ for (ε, δ). `range` is `proven` for ε <= 1, as in
            the lemma's source, else `beyond`.
        composition (Lemma H.3): `steps` releases of exactly (ε, δ) each, with δ' = δ.
        sampling (Lemma H.4): one such release on a batch drawn with replacement.
        parallel (Lemma H.2): a Gaussian release by each of three clients, with different σ.
        training (Theorem 6.2): T = steps/K rounds of K local steps, of (ε, δ) each by Lemma H.7, without amplification.
            `reading` names the sensitivity: `bound`, ℓ, as in the paper, or `replace_one`, 2ℓ/batch, that of the mean
            over a batch. `range` is `small` if the claimed ε of the whole training is at most 1, else `large`.
    The `case` of composition and sampling is the mechanism: `gaussian` (for sampling with an upper limit as the exact
    ε), or `worst`, the worst mechanism (see `privacy.worst_case`). `reading` is `printed`, or `smaller`, a wrong lemma
    as a negative control: with half of σ², with the mean of the clients' ε, without the factor 2 of 2k log(1/δ'), or
    with 1 instead of 6 in 6ε k/n.

        sampled (Theorem 6.2): T steps of ε̂ = 0.999 each (K = 1) that add up to the claimed ε = √T ε̂ in `totals`, at
            δ = 1e-5 altogether; each step draws a Poisson batch of 1,000 records, `batch` on average; a
            record is removed. The exact ε is that of the accountant `pld`; of the Gaussian curve if all are drawn.

    And one row with another value:
        constant (Theorem 6.2): the least factor of Lemma H.7's σ² with which a training with batches of one record is
            as private as claimed; the paper has σ² = O(log(1/δ) ℓ²/ε²). Bound: CONSTANT.
    """

    epsilons: NonEmptyList[Positive]  # ε of one release
    deltas: NonEmptyList[Probability]  # δ of one release
    steps: NonEmptyList[Count]  # numbers of composed releases, T K for training
    long: list[Count]  # further numbers of steps, for training alone
    local_steps: NonEmptyList[Count]  # local steps of a round, K
    batches: NonEmptyList[Count]  # sizes of a batch
    records: Count  # records of a client
    totals: NonEmptyList[Positive]  # promised ε of a training on random batches
    rates: NonEmptyList[Share]  # shares of the records in such a batch

    def run(self) -> list[Row]:
        rows: list[Row] = []
        for lemma in (self._gaussian, self._composition, self._sampling, self._parallel, self._training, self._sampled):
            rows += lemma()
            log.info("%s: %d rows so far", lemma.__name__.strip("_"), len(rows))
        return rows

    def _grid(self) -> Iterator[tuple[float, float]]:
        return itertools.product(self.epsilons, self.deltas)

    def _gaussian(self) -> Iterator[Row]:
        for epsilon, delta in self._grid():
            sigma = lemmas.gaussian_noise(epsilon, delta, 1.0)
            row = Row("gaussian", lemma="H.7", epsilon=epsilon, delta=delta)
            row = row.replace(range="proven" if epsilon <= 1 else "beyond")
            yield _compare(row.replace(reading=PRINTED), epsilon, gaussian.epsilon(1 / sigma, delta))
            yield _compare(row.replace(reading=SMALLER), epsilon, gaussian.epsilon(math.sqrt(2) / sigma, delta))

    def _composition(self) -> Iterator[Row]:
        for (epsilon, delta), count in itertools.product(self._grid(), self.steps):
            if epsilon > 1 or (count + 1) * delta >= WHOLE:
                continue
            total = lemmas.advanced_composition(Guarantee(epsilon, delta), count, slack=delta)
            root = math.sqrt(2 * count * math.log(1 / delta)) * epsilon
            mu = math.sqrt(count) * gaussian.mu(epsilon, delta)
            exact = {
                "gaussian": gaussian.epsilon(mu, total.delta),
                "worst": worst_case.composed_epsilon(epsilon, delta, count, total.delta),
            }
            row = Row("composition", lemma="H.3", epsilon=epsilon, delta=delta, steps=count)
            yield from _cases(row, total.epsilon, total.epsilon - root + root / math.sqrt(2), exact)

    def _sampling(self) -> Iterator[Row]:
        for (epsilon, delta), batch in itertools.product(self._grid(), self.batches):
            if epsilon > 1 or 2 * batch > self.records:
                continue
            total = lemmas.sampling_with_replacement(Guarantee(epsilon, delta), batch, self.records)
            exact = {
                "gaussian": _resampled_epsilon(gaussian.mu(epsilon, delta), total.delta, batch, self.records),
                "worst": worst_case.sampled_epsilon(epsilon, delta, batch, self.records, total.delta),
            }
            row = Row("sampling", lemma="H.4", epsilon=epsilon, delta=delta, batch=batch)
            yield from _cases(row, total.epsilon, total.epsilon / 6, exact)

    def _parallel(self) -> Iterator[Row]:
        """The rows of Lemma H.2, for clients with (ε, δ), (ε/2, δ) and (ε, δ/2)."""
        for epsilon, delta in self._grid():
            each = [Guarantee(epsilon, delta), Guarantee(epsilon / 2, delta), Guarantee(epsilon, delta / 2)]
            clients = tuple(GaussianRelease(gaussian.mu(*guarantee), 1.0) for guarantee in each)
            records = tuple(frozenset({client}) for client in range(len(each)))
            total = lemmas.parallel_composition(each)
            exact = accounted("exact", Parallel(clients, records), total.delta)
            row = Row("parallel", lemma="H.2", epsilon=epsilon, delta=delta, clients=len(each))
            mean = sum(guarantee.epsilon for guarantee in each) / len(each)
            yield from _cases(row, total.epsilon, mean, {"worst": exact})

    def _training(self) -> Iterator[Row]:
        numbers = [*self.steps, *self.long]
        for (epsilon, delta), count, inner in itertools.product(self._grid(), numbers, self.local_steps):
            if count % inner or not epsilon < 1 / math.sqrt(inner) or count * delta >= WHOLE:
                continue
            total = lemmas.training_guarantee(Guarantee(epsilon, delta), count // inner, inner)
            sigma = lemmas.gaussian_noise(epsilon, delta, 1.0)
            row = Row("training", lemma="6.2", epsilon=epsilon, delta=delta, steps=count, local_steps=inner)
            row = row.replace(range="small" if total.epsilon <= 1 + 1e-9 else "large")
            readings = [("bound", 1, 1.0)]
            readings += [("replace_one", batch, mean_sensitivity(1.0, batch, "replace_one")) for batch in self.batches]
            for reading, batch, sensitivity in readings:
                mu = math.sqrt(count) * sensitivity / sigma
                exact = gaussian.epsilon(mu, total.delta)
                read = row.replace(reading=reading, batch=batch, sensitivity=sensitivity)
                yield _compare(read, total.epsilon, exact)
                if batch == 1:
                    enough = math.sqrt(count) * sensitivity / gaussian.mu(*total)
                    yield read.replace(quantity="constant", bound=CONSTANT).number((enough / sigma) ** 2)

    def _sampled(self) -> Iterator[Row]:
        for total, rate in itertools.product(self.totals, self.rates):
            steps = round((total / STEP) ** 2)
            claimed = lemmas.training_guarantee(Guarantee(STEP, TOTAL_DELTA / steps), steps, 1)
            sigma = lemmas.gaussian_noise(STEP, TOTAL_DELTA / steps, 1.0)
            release = GaussianRelease(1.0, sigma)
            if rate == 1:
                exact = accounted("exact", Composed(release, steps), claimed.delta)
            else:
                sampling = Sampling("poisson", round(rate * SAMPLED), SAMPLED)
                step = SampledGaussian(release, sampling, sampling.neighbours)
                exact = accounted("pld", Composed(step, steps), claimed.delta)
            row = Row(
                "sampled", lemma="6.2", epsilon=total, delta=TOTAL_DELTA, steps=steps, batch=round(rate * SAMPLED)
            )
            yield _compare(row, claimed.epsilon, exact)


def _compare(row: Row, claimed: float, exact: float) -> Row:
    """Complete a row with the ε that the lemma claims, the exact ε, and their ratio."""
    return row.replace(claimed=claimed, exact_epsilon=float(exact), bound=1.0).number(exact / claimed)


def _cases(row: Row, claimed: float, smaller: float, exact: Mapping[str, float]) -> Iterator[Row]:
    """The rows of mechanisms, by name of their exact ε; the worst also has a row with a wrong lemma's `smaller` ε."""
    for case, epsilon in exact.items():
        yield _compare(row.replace(case=case, reading=PRINTED), claimed, epsilon)
    yield _compare(row.replace(case="worst", reading=SMALLER), smaller, exact["worst"])


def _resampled_epsilon(mu: float, delta: float, batch: int, records: int) -> float:
    """The ε at which `gaussian.resampled_delta` equals δ; 0 if it is below δ even for an ε of almost 0."""

    def excess(log_epsilon: float) -> float:
        reached = gaussian.resampled_delta(mu, math.exp(log_epsilon), batch, records)
        return math.log(max(reached, 1e-300) / delta)

    low, high = math.log(1e-9), math.log(100.0)
    if excess(low) <= 0:
        return 0.0
    if excess(high) > 0:
        raise ValueError(
            f"deltas: for δ={delta:.3g} no ε <= 100 is known for batches with replacement; use larger ones"
        )
    return math.exp(optimize.brentq(excess, low, high, xtol=1e-10))

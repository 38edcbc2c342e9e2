"""The privacy lemmas of song2023 against exact accounts."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scipy import optimize

from sketchbench.kernels import Kernels
from sketchbench.privacy import gaussian
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.mechanism import Gaussian, Parallel, mean_sensitivity
from sketchbench.theory import privacy as lemmas
from sketchbench.theory.privacy import Guarantee

Row = dict[str, Any]
WHOLE = 1.0  # total δ and more is no privacy


@dataclass(frozen=True)
class PrivacyLemmas:
    """What a lemma claims, over a grid of its values: rows with `claimed` and `exact`, the ε of both at the
    claimed δ, and `value`, exact over claimed, which is at most 1 where the lemma is right. No randomness.

    `gaussian` (Lemma H.7): σ for (ε, δ), against the exact curve; `range` is proven for ε <= 1, as its source
    has it, else beyond.
    `composition` (H.3): of `steps` Gaussian releases with exactly (ε, δ) each, and δ' = δ.
    `sampling` (H.4): of one on a batch drawn with replacement; an upper limit stands for the exact ε.
    `parallel` (H.2): of one per client with σ of their own.
    `training` (Theorem 6.2): of T = steps/K rounds of K steps of (ε, δ) each with the σ of Lemma H.7 and no
    amplification. `reading`: the sensitivity is `bound`, ℓ, as the paper has it, or `replace_one`, that
    of the mean over a batch, 2ℓ/batch. `range` is small where the total claimed is at most 1, else large.
    """

    kernels: Kernels
    seed: int
    epsilons: list[float]
    deltas: list[float]
    steps: list[int]
    local_steps: list[int]
    batches: list[int]
    records: int

    def run(self) -> list[Row]:
        parts = (self._gaussian, self._composition, self._sampling, self._parallel, self._training)
        return [{**row, "bound": 1.0} for part in parts for row in part()]

    def _grid(self) -> Iterator[tuple[float, float]]:
        return itertools.product(self.epsilons, self.deltas)

    def _gaussian(self) -> Iterator[Row]:
        for epsilon, delta in self._grid():
            sigma = lemmas.gaussian_noise(epsilon, delta, 1.0)
            row = _row("gaussian", "H.7", epsilon, delta)
            row["range"] = "proven" if epsilon <= 1 else "beyond"
            yield {**row, **_compared(epsilon, gaussian.epsilon(1 / sigma, delta))}

    def _composition(self) -> Iterator[Row]:
        for (epsilon, delta), count in itertools.product(self._grid(), self.steps):
            if epsilon > 1 or (count + 1) * delta >= WHOLE:
                continue
            total = lemmas.advanced(Guarantee(epsilon, delta), count, slack=delta)
            mu = math.sqrt(count) * gaussian.mu(epsilon, delta)
            row = {**_row("composition", "H.3", epsilon, delta), "steps": count}
            yield {**row, **_compared(total.epsilon, gaussian.epsilon(mu, total.delta))}

    def _sampling(self) -> Iterator[Row]:
        for (epsilon, delta), batch in itertools.product(self._grid(), self.batches):
            if epsilon > 1 or 2 * batch > self.records:
                continue
            total = lemmas.sampling(Guarantee(epsilon, delta), batch, self.records)
            exact = _resampled(gaussian.mu(epsilon, delta), total.delta, batch, self.records)
            row = {**_row("sampling", "H.4", epsilon, delta), "batch": batch}
            yield {**row, **_compared(total.epsilon, exact)}

    def _parallel(self) -> Iterator[Row]:
        """The first client with this ε and δ, another with half the ε, one with half the δ."""
        for epsilon, delta in self._grid():
            each = [Guarantee(epsilon, delta), Guarantee(epsilon / 2, delta)]
            each.append(Guarantee(epsilon, delta / 2))
            clients = tuple(Gaussian(gaussian.mu(*own), 1.0) for own in each)
            records = tuple(frozenset({client}) for client in range(len(each)))
            total = lemmas.parallel(each)
            exact = accounted("exact", Parallel(clients, records), total.delta)
            row = {**_row("parallel", "H.2", epsilon, delta), "clients": len(each)}
            yield {**row, **_compared(total.epsilon, exact)}

    def _training(self) -> Iterator[Row]:
        for (epsilon, delta), count, inner in itertools.product(self._grid(), self.steps, self.local_steps):
            if count % inner or not epsilon < 1 / math.sqrt(inner) or count * delta >= WHOLE:
                continue
            total = lemmas.training(Guarantee(epsilon, delta), count // inner, inner)
            sigma = lemmas.gaussian_noise(epsilon, delta, 1.0)
            row = {**_row("training", "6.2", epsilon, delta), "steps": count, "local_steps": inner}
            row["range"] = "small" if total.epsilon <= 1 + 1e-9 else "large"
            readings = [("bound", 1, 1.0)]
            readings += [("replace_one", batch, mean_sensitivity(1.0, batch, "replace_one")) for batch in self.batches]
            for reading, batch, sensitivity in readings:
                mu = math.sqrt(count) * sensitivity / sigma
                exact = gaussian.epsilon(mu, total.delta)
                told = {"reading": reading, "batch": batch, "sensitivity": sensitivity}
                yield {**row, **told, **_compared(total.epsilon, exact)}


def _row(quantity: str, lemma: str, epsilon: float, delta: float) -> Row:
    return {"quantity": quantity, "lemma": lemma, "epsilon": epsilon, "delta": delta}


def _compared(claimed: float, exact: float) -> Row:
    return {"claimed": claimed, "exact_epsilon": exact, "value": exact / claimed}


def _resampled(mu: float, delta: float, batch: int, records: int) -> float:
    """The ε at which `gaussian.resampled_delta` is δ; 0 where it is below even at almost 0."""

    def excess(log_epsilon: float) -> float:
        found = gaussian.resampled_delta(mu, math.exp(log_epsilon), batch, records)
        return math.log(max(found, 1e-300) / delta)

    low, high = math.log(1e-9), math.log(100.0)
    if excess(low) <= 0:
        return 0.0
    return math.exp(optimize.brentq(excess, low, high, xtol=1e-10))

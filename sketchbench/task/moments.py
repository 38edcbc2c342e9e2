"""Bias and second moment of gᵀRᵀRh over pairs (g, h)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.sketch.family import Family
from sketchbench.task import trials, vectors
from sketchbench.theory.known import Known

ROAMING = "roaming_spike"  # g = h = a unit vector at a random place, a new one for every trial


@dataclass(frozen=True)
class Moments:
    """Rows per pair: `inner_product`, the mean of gᵀRᵀRh, whose exact value is gᵀh; and
    `embedding_constant`, the mean of b (gᵀRᵀRh - gᵀh)²: the a of song2023 Definition 4.1 for pairs
    of unit norm, with the exact a (if known) and the claimed one as its bound.

    By unbiasedness E[(gᵀRᵀRh)²] - (gᵀh)² = E[(gᵀRᵀRh - gᵀh)²]; the right side, measured here, has a
    much smaller variance, and a biased operator fails it all the same.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: int
    pairs: list[str]

    def run(self) -> list[dict[str, Any]]:
        d, xp = self.family.d, self.kernels.xp
        fixed = [name for name in self.pairs if name != ROAMING]
        pairs = [vectors.pair(name, d, self.seed) for name in fixed]
        g = self.kernels.asarray(np.array([g for g, _ in pairs]).reshape(1, -1, d))
        h = self.kernels.asarray(np.array([h for _, h in pairs]).reshape(1, -1, d))
        key = seeds.key(self.seed, task="moments", family=repr(self.family))
        random = seeds.generator(self.seed, task="moments", family=repr(self.family))
        products = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(pairs) + 1):
            left, right = g, h
            if ROAMING in self.pairs:
                count = sketch.operators or 1
                spikes = xp.zeros((count, 1, d))
                spikes[xp.arange(count), 0, xp.asarray(random.integers(0, d, count))] = 1.0
                left, right = (
                    xp.concatenate(
                        [xp.broadcast_to(side, (count, *side.shape[1:])), spikes], axis=1
                    )
                    for side in (g, h)
                )
            products.append((trials.desketched(sketch, right) * left).sum(axis=-1))
        measured = self.kernels.to_numpy(xp.concatenate(products))
        rows = []
        for index, (name, (g_one, h_one)) in enumerate(zip(fixed, pairs, strict=True)):
            rows += self._rows(name, measured[:, index], g_one, h_one)
        if ROAMING in self.pairs:
            rows += self._rows(ROAMING, measured[:, -1], np.eye(d), np.eye(d))
        return rows

    def _rows(self, name: str, measured: Any, g: Any, h: Any) -> list[dict[str, Any]]:
        """Two rows for the measured products of a pair, or of all pairs that a trial may draw."""
        b, known = self.family.b, self.known
        inner = float((g * h).sum(axis=-1).mean())
        exact = None
        if known.second_moment:
            exact = b * float(np.mean(known.second_moment(g, h, b=b) - inner**2))
        error = b * (measured - inner) ** 2
        return [
            {"quantity": "inner_product", "case": name, "exact": inner, **summarize(measured)},
            {
                "quantity": "embedding_constant",
                "case": name,
                "exact": exact,
                "bound": known.embedding_constant,
                **summarize(error),
            },
        ]

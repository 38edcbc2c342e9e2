"""Bias and second moment of gᵀRᵀRh over pairs (g, h)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Several
from sketchbench.sketch.family import Family
from sketchbench.task import trials, vectors
from sketchbench.theory.known import Known

# g = h = a unit vector at a random one of up to PLACES places, a new one for every trial
ROAMING = "roaming_spike"
PLACES = 1024


@dataclass(frozen=True)
class Moments(Checked):
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
    trials: Several
    pairs: list[str]

    def run(self) -> list[Row]:
        d, b, known, xp = self.family.d, self.family.b, self.known, self.kernels.xp
        fixed = [name for name in self.pairs if name != ROAMING]
        pairs = [vectors.pair(name, d, self.seed) for name in fixed]
        g = self.kernels.asarray(np.array([g for g, _ in pairs]).reshape(1, -1, d))
        h = self.kernels.asarray(np.array([h for _, h in pairs]).reshape(1, -1, d))
        key = seeds.key(self.seed, task="moments", family=repr(self.family))
        random = seeds.generator(self.seed, task="moments", family=repr(self.family))
        places = np.unique(np.linspace(0, d - 1, PLACES).round().astype(np.int64))
        products = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(pairs) + 1):
            left, right = g, h
            if ROAMING in self.pairs:
                count = sketch.operators or 1
                spikes = xp.zeros((count, 1, d))
                drawn = places[random.integers(0, len(places), count)]
                spikes[xp.arange(count), 0, xp.asarray(drawn)] = 1.0
                left, right = (
                    xp.concatenate([xp.broadcast_to(side, (count, *side.shape[1:])), spikes], axis=1) for side in (g, h)
                )
            products.append((trials.desketched(sketch, right) * left).sum(axis=-1))
        measured = self.kernels.to_numpy(xp.concatenate(products))
        rows: list[Row] = []
        for index, (name, (g_one, h_one)) in enumerate(zip(fixed, pairs, strict=True)):
            moment = known.second_moment and float(known.second_moment(g_one, h_one, b=b))
            rows += self._rows(name, measured[:, index], float(g_one @ h_one), moment)
        if ROAMING in self.pairs:
            moment = known.second_moment and self._mean_moment(places)
            rows += self._rows(ROAMING, measured[:, -1], 1.0, moment)
        return rows

    def _mean_moment(self, places: Any) -> float:
        """The exact second moment for g = h = a unit vector, averaged over its place."""
        assert self.known.second_moment is not None
        total, step = 0.0, max(1, trials.WORKSPACE // self.family.d)
        for start in range(0, len(places), step):
            block = places[start : start + step]
            spikes = np.zeros((len(block), self.family.d))
            spikes[np.arange(len(block)), block] = 1.0
            total += float(self.known.second_moment(spikes, spikes, b=self.family.b).sum())
        return total / len(places)

    def _rows(self, name: str, measured: Any, inner: float, moment: float | None) -> list[Row]:
        """Two rows for the products measured of a pair, whose exact mean and second moment are given."""
        b, known = self.family.b, self.known
        exact = None if moment is None else b * (moment - inner**2)
        error = b * (measured - inner) ** 2
        constant = Row("embedding_constant", case=name, exact=exact, bound=known.embedding_constant)
        return [Row("inner_product", case=name, exact=inner).mean(measured), constant.mean(error)]

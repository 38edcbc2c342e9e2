"""Bias and second moment of gᵀRᵀRh for pairs of vectors (g, h)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, NonEmptyList
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.task.sketches import trials, vectors
from sketchbench.task.sketches.worst_pair import worst_pair
from sketchbench.theory.known import Known

# the pair g = h, a basis vector at a random one of up to PLACES coordinates in every trial
ROAMING = "roaming_spike"
PLACES = 1024
WORST = "worst"  # the pair that `worst_pair` finds for the family


@dataclass(frozen=True)
class Moments(Checked):
    """Measures bias and second moment of gᵀRᵀRh for pairs of unit vectors (g, h), with a fresh R in every trial.

    Rows for each pair (`case`):
        inner_product: mean of gᵀRᵀRh; exact: gᵀh.
        embedding_constant: mean of b (gᵀRᵀRh - gᵀh)², the a of song2023 Definition 4.1; exact: b times the exact
            variance, if it is known; bound: the a that the family's config claims.
        exact_constant: b times the exact variance, a value without randomness, if it and a claimed a are known; bound:
            the claimed a.

    For an unbiased R, E[(gᵀRᵀRh)²] - (gᵀh)² = E[(gᵀRᵀRh - gᵀh)²]. The right side is measured: it varies much less, and
    also detects bias.

    Arguments:
        trials: number of operators.
        pairs: names of `vectors.pair`; `roaming_spike` is g = h, a basis vector at a random coordinate in each trial;
            `worst` is the pair that `worst_pair` finds for the family, with other operators than the measured.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    pairs: NonEmptyList[Literal[vectors.Pair, "roaming_spike", "worst"]]

    def run(self) -> list[Row]:
        d, b, known, xp = self.family.d, self.family.b, self.known, self.kernels.xp
        fixed = [name for name in self.pairs if name != ROAMING]
        pairs = [self._pair(name) for name in fixed]
        g = self.kernels.asarray(np.array([g for g, _ in pairs]).reshape(1, -1, d))
        h = self.kernels.asarray(np.array([h for _, h in pairs]).reshape(1, -1, d))
        key = seeds.key(self.seed, task="moments", family=repr(self.family))
        random = seeds.generator(self.seed, task="moments", family=repr(self.family))
        places = np.unique(np.linspace(0, d - 1, PLACES).round().astype(np.int64))
        products = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(pairs) + 1):
            left, right = g, h
            if ROAMING in self.pairs:
                spikes = self._spikes(sketch, places, random)
                left, right = (
                    xp.concatenate([xp.broadcast_to(side, (len(spikes), *side.shape[1:])), spikes], axis=1)
                    for side in (g, h)
                )
            products.append((trials.sketch_and_desketch(sketch, right) * left).sum(axis=-1))
        measured = self.kernels.to_numpy(xp.concatenate(products))
        rows: list[Row] = []
        for index, (name, (g_one, h_one)) in enumerate(zip(fixed, pairs, strict=True)):
            moment = known.second_moment and float(known.second_moment(g_one, h_one, b=b))
            rows += self._rows(name, measured[:, index], float(g_one @ h_one), moment)
        if ROAMING in self.pairs:
            moment = known.second_moment and self._mean_moment(places)
            rows += self._rows(ROAMING, measured[:, -1], 1.0, moment)
        return rows

    def _pair(self, name: str) -> tuple[vectors.Vector, vectors.Vector]:
        """The vectors (g, h) of a pair that is the same in all trials."""
        if name == WORST:
            return worst_pair(self.family, self.kernels, self.seed)
        return vectors.pair(name, self.family.d, self.seed)

    def _spikes(self, sketch: Sketch, places: NDArray[np.int64], random: np.random.Generator) -> Array:
        """A basis vector at a random coordinate for each operator of a stack, (T, 1, d)."""
        xp, count = self.kernels.xp, sketch.operators or 1
        spikes = xp.zeros((count, 1, self.family.d))
        drawn = places[random.integers(0, len(places), count)]
        spikes[xp.arange(count), 0, xp.asarray(drawn)] = 1.0
        return spikes

    def _mean_moment(self, places: NDArray[np.int64]) -> float:
        """The exact second moment for g = h, a basis vector, averaged over its coordinate."""
        assert self.known.second_moment is not None
        total, step = 0.0, max(1, trials.WORKSPACE // self.family.d)
        for start in range(0, len(places), step):
            block = places[start : start + step]
            spikes = np.zeros((len(block), self.family.d))
            spikes[np.arange(len(block)), block] = 1.0
            total += float(self.known.second_moment(spikes, spikes, b=self.family.b).sum())
        return total / len(places)

    def _rows(self, name: str, products: NDArray[np.float64], inner: float, moment: float | None) -> list[Row]:
        """The rows of a pair, from the products gᵀRᵀRh (trials,), `inner` gᵀh, and the exact second moment or None."""
        b, claimed = self.family.b, self.known.embedding_constant
        exact = None if moment is None else b * (moment - inner**2)
        constant = Row("embedding_constant", case=name, exact=exact, bound=claimed)
        rows = [
            Row("inner_product", case=name, exact=inner).mean(products),
            constant.mean(b * (products - inner) ** 2),
        ]
        if exact is not None and claimed is not None:
            rows.append(Row("exact_constant", case=name, bound=claimed).number(exact))
        return rows

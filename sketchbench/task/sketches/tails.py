"""The tail of the error |gᵀRᵀRh - gᵀh|: the frequency of large errors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Natural, NonEmptyList, Probability
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.summary import ROUNDING
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials, vectors
from sketchbench.theory.known import Known

LEAST = 0.02  # the smallest threshold of the empirical tail
ENOUGH = 10  # the least expected number of trials beyond the quantile in a batch: with fewer, quantiles are too skewed


@dataclass(frozen=True)
class Tails(Checked):
    """Measures the error |gᵀRᵀRh - gᵀh| for pairs of unit vectors (g, h), with a fresh R in every trial.

    Rows for each pair (`case`):
        exceedance, by lemma and δ: the number of trials in which the error reaches the lemma's `threshold`; bound: 2δ,
            the lemma's probability.
        constant, by lemma and δ: the (1 - 2δ)-quantile of the error over the lemma's threshold, the smallest factor of
            the threshold at which the lemma would hold; bound: 1. The mean over 50 batches of trials; left out if 2δ of
            a batch is fewer than 10 trials.
        largest_error, by lemma, for lemmas whose threshold no draw may exceed: mean error, and the number of trials in
            which it exceeds the threshold, which is the bound.
        tail: the number of trials in which the error reaches each of `points` thresholds from 0.02 to 1 + d/b, the
            largest error that unbiased sampling of coordinates can make.

    Arguments:
        trials: number of operators.
        pairs: names of `vectors.pair`.
        deltas: failure probabilities δ.
        points: number of thresholds of the empirical tail.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    pairs: NonEmptyList[vectors.Pair]
    deltas: NonEmptyList[Probability]
    points: Natural

    def run(self) -> list[Row]:
        d = self.family.d
        pairs = [vectors.pair(name, d, self.seed) for name in self.pairs]
        g, h = (self.kernels.asarray(np.array(side)) for side in zip(*pairs, strict=True))
        inner = (g * h).sum(axis=-1)
        key = seeds.key(self.seed, task="tails", family=repr(self.family))
        errors = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, len(pairs)):
            products = (trials.sketch_and_desketch(sketch, h[None]) * g).sum(axis=-1)
            errors.append(abs(products - inner))
        measured = self.kernels.to_numpy(self.kernels.xp.concatenate(errors))
        return [row for index, name in enumerate(self.pairs) for row in self._rows(name, measured[:, index])]

    def _rows(self, name: str, errors: NDArray[np.float64]) -> Iterator[Row]:
        d, b = self.family.d, self.family.b
        for lemma, threshold in self.known.tails.items():
            for delta in self.deltas:
                level = float(threshold(delta, d=d, b=b))
                row = Row("exceedance", case=name, lemma=lemma, delta=delta, threshold=level, bound=2 * delta)
                reached = errors >= level * (1 - ROUNDING)  # an error may equal the threshold, as Lemma D.26's does
                yield row.counted(reached.sum(), errors.size)
                if 2 * delta * (errors.size // trials.BATCHES) >= ENOUGH:
                    factor = Row("constant", case=name, lemma=lemma, delta=delta, threshold=level, bound=1.0)
                    yield factor.mean(trials.batch_quantiles(errors, 1 - 2 * delta) / level)
        for lemma, threshold in self.known.always.items():
            level = float(threshold(min(self.deltas), d=d, b=b))
            yield Row("largest_error", case=name, lemma=lemma).exceedances(errors, level).mean(errors)
        for level in np.geomspace(LEAST, 1 + d / b, self.points):
            yield Row("tail", case=name, threshold=float(level)).counted((errors >= level).sum(), errors.size)

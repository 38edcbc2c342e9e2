"""The largest inner product of two different columns of a sketch."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, NonEmptyList, Probability
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials
from sketchbench.theory.known import ALWAYS, Known

FACTORS = {"unnamed": 2.0}  # the factor of the threshold that a reading allows, if it is not 1


@dataclass(frozen=True)
class InnerProducts(Checked):
    """Measures M, the largest |⟨R_i, R_j⟩| of two different columns of R, with a fresh R in every trial. Raises
    ValueError for d = 1, since there are no two columns.

    Rows:
        largest: mean of M; for a family with a sure upper bound of M, that bound, and the number of trials that exceed
            it.
        scaled: mean of M √b / √(log d), which stays bounded as d and b grow if M scales like √(log d / b).
        exceedance, by reading of the lemma (`case`) and δ: the number of trials in which M reaches the lemma's
            `threshold`; bound: 2δ, the lemma's probability.
        constant, by reading and δ: the (1 - 2δ)-quantile of M over the threshold, the smallest factor of the threshold
            at which the lemma would hold; mean over 50 batches of trials, left out if 2δ of a batch is less than one
            trial. Bound: 1, or 2 for the reading `unnamed`, which leaves a factor open: the factor of the lemma's
            proof, since √(2 log(2n²/δ)) <= 2 √(log(n/δ)) for δ <= 1/2.

    Arguments:
        trials: number of operators.
        deltas: failure probabilities δ.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    deltas: NonEmptyList[Probability]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family.d < 2:
            raise ValueError(f"inner products of two columns need d >= 2, not d={self.family.d}")

    def run(self) -> list[Row]:
        """Draw the operators, and measure M of each. O(trials d² b)."""
        d, b, xp = self.family.d, self.family.b, self.kernels.xp
        key = seeds.key(self.seed, task="inner_products", family=repr(self.family))
        diagonal = xp.arange(d)
        maxima = []
        for sketch in trials.operators(self.family, key, self.kernels, self.trials, d):
            matrix = sketch.materialize()
            gram = abs(matrix.swapaxes(-1, -2) @ matrix)
            gram[:, diagonal, diagonal] = 0.0
            maxima.append(gram.max(axis=(-1, -2)))
        measured = self.kernels.to_numpy(xp.concatenate(maxima))
        largest = Row("largest")
        if ALWAYS in self.known.inner_products:
            largest = largest.exceedances(measured, self.known.inner_products[ALWAYS]())
        scaled = measured * math.sqrt(b / math.log(d))
        return [largest.mean(measured), Row("scaled").mean(scaled), *self._lemmas(measured)]

    def _lemmas(self, maxima: NDArray[np.float64]) -> Iterator[Row]:
        """The rows `exceedance` and `constant`, from M of every trial (trials,)."""
        readings = {name: known for name, known in self.known.inner_products.items() if name != ALWAYS}
        for reading, threshold in readings.items():
            for delta in self.deltas:
                level = float(threshold(delta, d=self.family.d, b=self.family.b))
                exceedance = Row("exceedance", case=reading, delta=delta, threshold=level, bound=2 * delta)
                yield exceedance.counted((maxima >= level).sum(), maxima.size)
                if 2 * delta * (maxima.size // trials.BATCHES) >= 1:
                    quantiles = trials.batch_quantiles(maxima, 1 - 2 * delta)
                    allowed = FACTORS.get(reading, 1.0)
                    constant = Row("constant", case=reading, delta=delta, threshold=level, bound=allowed)
                    yield constant.mean(quantiles / level)

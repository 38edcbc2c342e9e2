"""Iterative sketching with the steps and rounds that song2023 Theorems F.8 and F.10 give for a target."""

import dataclasses
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Positive, choose
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.theorems import Alpha, assumptions, find_theorem
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.objective import MakeObjective, Objective
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity
from sketchbench.theory.convergence import Assumptions
from sketchbench.theory.corollaries import COROLLARIES, Corollary
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prescribed(Checked):
    """`trials` runs of iterative sketching for each target ε, with a theorem's step size and number T of rounds.

    Rows by target (`case`), means of f - f* at w^T (F.10), or at the mean of all weights (F.8):

    `excess`: bound: ε. `excess_early`: after a quarter of the rounds, a near miss; same bound.
    `excess_step`, for b < d: bound: f - f* of the same training without sketches, after as many bits.
    `excess_bits`, for b < d: the same, but with the largest step of Theorem E.1 or E.2 without sketches.

    `targets`: values of ε, in units of the threshold at which the regime changes, σ²/((1 + α)²L) for F.8 and σ²/(16(1 +
    α)²μ) for F.10; the heterogeneity σ² of the clients must be above 0.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    theorem: str  # F.8 or F.10
    alpha: Alpha  # the variance parameter of the steps, `claimed` or `exact`
    targets: NonEmptyList[Positive]
    trials: AtLeastTwo
    local_steps: Count  # K, local steps of a round; 1 in the proof of F.10, and any in that of F.8

    def run(self) -> list[Row]:
        corollary = COROLLARIES[choose("theorem", self.theorem, COROLLARIES)]
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        bound = find_theorem(corollary.bound)
        p = assumptions(objective, bound, self.family, self.known, local_steps=self.local_steps, alpha=self.alpha)
        if p.heterogeneity == 0:
            raise ValueError("heterogeneity=0 must be > 0, as targets are in proportion to it")
        return [row for share in self.targets for row in self._rows(objective, corollary, p, share)]

    def _rows(self, objective: Objective, corollary: Corollary, p: Assumptions, share: float) -> Iterator[Row]:
        target, case = share * corollary.threshold(p), f"{share:g} thresholds"
        rounds, step = corollary.rounds(p, target), corollary.step(p, target)
        early = max(1, rounds // 4)
        key = seeds.key(self.seed, task=f"prescribed {share:g}", family=repr(self.family))

        def excess(algorithm: IterativeSketching, trials: int, *times: int) -> list[NDArray[np.float64]]:
            states = algorithm.run(objective, key, trials=trials, rounds=times[-1])
            reached = {at.t: at.w for at in _weights(states, average=corollary.average) if at.t in times}
            return [self.kernels.to_numpy(objective.loss(reached[t])) - objective.minimum for t in times]

        after_quarter, last = excess(
            IterativeSketching(self.family, step, self.local_steps), self.trials, early, rounds
        )
        log.info("%s: %.3g after %d rounds, target %.3g", case, last.mean(), rounds, target)
        yield Row("excess", case=case, rounds=rounds, bound=target).mean(last)
        yield Row("excess_early", case=case, rounds=early, bound=target).mean(after_quarter)
        d, b = self.family.d, self.family.b
        if b < d:
            plain = Identity(d, d)
            largest = find_theorem(corollary.unsketched).rate(dataclasses.replace(p, alpha=0.0))
            for name, rate, steps in (("excess_step", step, self.local_steps), ("excess_bits", largest, 1)):
                (bound,) = excess(IterativeSketching(plain, rate, steps), 1, max(1, rounds * b // d))
                yield Row(name, case=case, rounds=rounds, bound=float(bound[0])).mean(last)


def _weights(states: Iterator[Round], *, average: bool) -> Iterator[Round]:
    """The states; if `average`, with w replaced by the mean of the weights at which gradients were taken."""
    total: Array = 0
    for at in states:
        total = total + at.local if at.t else total
        yield at._replace(w=total / at.t) if average and at.t else at

"""Iterative sketching with the steps and rounds that song2023 Theorem F.10 gives for a target."""

import logging
from dataclasses import dataclass

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.theorems import assumptions, find_theorem
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Several
from sketchbench.sketch.family import Family
from sketchbench.theory import corollaries
from sketchbench.theory.convergence import Assumptions
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prescribed(Checked):
    """`trials` runs for each target ε, with the step and the number of rounds that the theorem gives for it. Rows:

    `excess`, by target (`case`): f(w^T) - f* after those rounds, against ε.

    Arguments:
        targets: ε over σ²/(16(1 + α)²μ), from which on the theorem's rate is linear. The clients must differ.
        local_steps: K; the theorem's proof has 1.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    targets: NonEmptyList[Positive]
    trials: Several
    local_steps: Count

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        p = assumptions(objective, find_theorem("F.9"), self.family, self.known, local_steps=self.local_steps)
        if p.heterogeneity == 0:
            raise ValueError("heterogeneity=0 must be > 0, as targets are in proportion to it")
        return [self._row(objective, p, share) for share in self.targets]

    def _row(self, objective: Objective, p: Assumptions, share: float) -> Row:
        target = share * corollaries.threshold(p)
        rounds = corollaries.rounds(p, target)
        algorithm = IterativeSketching(self.family, corollaries.step(p, target), self.local_steps)
        key = seeds.key(self.seed, task=f"prescribed {share:g}", family=repr(self.family))
        for at in algorithm.run(objective, key, trials=self.trials, rounds=rounds):
            last = at
        excess = self.kernels.to_numpy(objective.loss(last.w)) - objective.minimum
        log.info("%g thresholds: %.3g after %d rounds, target %.3g", share, excess.mean(), rounds, target)
        return Row("excess", case=f"{share:g} thresholds", rounds=rounds, bound=target).mean(excess)

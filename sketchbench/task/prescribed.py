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
    """`trials` runs of iterative sketching for each target ε, with the step size and the number T of rounds that
    song2023 Theorem F.10 prescribes for it.

    Row `excess`, by target (`case`): mean of f(w^T) - f*; bound: ε.

    Arguments:
        targets: values of ε, in units of the threshold σ²/(16(1 + α)²μ) above which the theorem's rate is linear; the
            heterogeneity σ² of the clients must be above 0.
        local_steps: K, local steps of a round; the theorem's proof has 1.
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

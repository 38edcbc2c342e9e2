"""The change of weights and loss in one round of iterative sketching (song2023 Lemmas F.2 and G.1)."""

import logging
from dataclasses import dataclass, replace

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Share
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.theorems import algorithm_of, find_theorem
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.objective import MakeObjective, Objective
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.theory.corollaries import most_change
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
EXACT = 1e-12  # relative distance that rounding can explain


@dataclass(frozen=True)
class OneRound(Checked):
    """The first round of `trials` runs of iterative sketching. Rows:

    `residual`, by `case`: the distance between the two sides of the third equation of Lemma F.2, relative to the length
    of the step, and the number of trials in which it exceeds the bound for rounding. The cases: `as sketched`, when the
    operator that sketched desketches the server's answer; `line 9`, when another operator desketches it, as in the
    paper's listing: a negative control.
    `change`, by `reading`: mean of f(w¹) - f(w⁰); bound: that of Lemma G.1, `printed` or `derived`, for the exact α.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: AtLeastTwo
    factor: Share  # the step size, as a share of the largest that Theorem G.2 allows
    local_steps: Count  # K, local steps of the round

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        theorem = find_theorem("G.2-corrected")
        algorithm, p = algorithm_of(
            theorem,
            objective,
            self.family,
            self.known,
            factor=self.factor,
            local_steps=self.local_steps,
            alpha="exact",
        )
        eta = algorithm.local_rate
        start, after = self._round(objective, algorithm)
        _, other = self._round(objective, replace(algorithm, desketch="paper"))
        square = float((objective.gradient(start.w[:1]) ** 2).sum())
        change = self.kernels.to_numpy(objective.loss(after.w) - objective.loss(start.w))
        log.info("one round changes the loss by %.3g in the mean", change.mean())
        bounds = {
            reading: most_change(p, eta, square, printed=reading == "printed") for reading in ("printed", "derived")
        }
        return [
            Row("residual", case="as sketched").exceedances(self._residual(start, after, eta), EXACT),
            Row("residual", case="line 9").exceedances(self._residual(start, other, eta), EXACT),
            *(Row("change", reading=reading, bound=bound).mean(change) for reading, bound in bounds.items()),
        ]

    def _round(self, objective: Objective, algorithm: IterativeSketching) -> tuple[Round, Round]:
        """The states before and after the first round, the latter with its local steps."""
        key = seeds.key(self.seed, task="one round", family=repr(self.family))
        start, after = algorithm.run(objective, key, trials=self.trials, rounds=1, keep_path=True)
        return start, after

    def _residual(self, start: Round, after: Round, eta: float) -> Array:
        """‖w¹ - (ū - ηḡ + η(I - RᵀR)Σḡ)‖/‖ηΣḡ‖, (trials,), with the last step's mean weights ū and gradient ḡ."""
        assert after.operators is not None
        gradients = [step.gradients.mean(axis=1) for step in after.path]
        total = sum(gradients[1:], gradients[0])
        left = total - after.operators.project(total[:, None])[:, 0]
        expected = after.path[-1].weights.mean(axis=1) - eta * gradients[-1] + eta * left
        apart = ((after.w - expected) ** 2).sum(axis=-1) / (eta**2 * (total**2).sum(axis=-1))
        return self.kernels.to_numpy(apart) ** 0.5

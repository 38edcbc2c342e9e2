"""What one round of iterative sketching does to the weights and the loss (song2023 Lemmas F.2 and G.1)."""

import logging
from dataclasses import dataclass

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import Desketching, IterativeSketching, Round
from sketchbench.federated.theorems import assumptions, find_theorem
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.parameters import Checked, Count, Several, Share
from sketchbench.sketch.family import Family
from sketchbench.theory.corollaries import most_change
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
EXACT = 1e-12  # relative distance that rounding can explain


@dataclass(frozen=True)
class OneRound(Checked):
    """The first round of `trials` runs. Rows:

    `residual`, by case: the distance between the two sides of Lemma F.2's third equation over the step that they
    make, against rounding; `as sketched`, or `line 9`, desketched by another operator, a negative control;
    `change`, by reading: f(w¹) - f(w⁰) against Lemma G.1, as printed and as derived, for the exact α.

    Arguments:
        factor: of the largest step that Theorem G.2 allows.
        local_steps: K.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: Several
    factor: Share
    local_steps: Count

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        theorem = find_theorem("G.2-corrected")
        p = assumptions(objective, theorem, self.family, self.known, local_steps=self.local_steps, alpha="exact")
        eta = self.factor * theorem.rate(p)
        start, after = self._round(objective, eta, "same")
        _, other = self._round(objective, eta, "paper")
        square = float((objective.gradient(start.w[:1]) ** 2).sum())
        change = self.kernels.to_numpy(objective.loss(after.w) - objective.loss(start.w))
        log.info("the loss changes by %.3g on average", change.mean())
        bounds = {
            reading: most_change(p, eta, square, printed=reading == "printed") for reading in ("printed", "derived")
        }
        return [
            Row("residual", case="as sketched").exceedances(self._residual(start, after, eta), EXACT),
            Row("residual", case="line 9").exceedances(self._residual(start, other, eta), EXACT),
            *(Row("change", reading=reading, bound=bound).mean(change) for reading, bound in bounds.items()),
        ]

    def _round(self, objective: Objective, eta: float, desketch: Desketching) -> tuple[Round, Round]:
        """The states before and after the first round, with its path."""
        algorithm = IterativeSketching(self.family, eta, self.local_steps, desketch=desketch)
        key = seeds.key(self.seed, task="one round", family=repr(self.family))
        start, after = algorithm.run(objective, key, trials=self.trials, rounds=1, keep_path=True)
        return start, after

    def _residual(self, start: Round, after: Round, eta: float) -> Array:
        """‖w¹ - (ū - ηḡ + η(I - RᵀR)Σḡ)‖ over ‖ηΣḡ‖, with ū and ḡ those of the last local step, (trials,)."""
        assert after.operators is not None
        gradients = [step.gradients.mean(axis=1) for step in after.path]
        total = sum(gradients[1:], gradients[0])
        left = total - after.operators.project(total[:, None])[:, 0]
        expected = after.path[-1].weights.mean(axis=1) - eta * gradients[-1] + eta * left
        apart = ((after.w - expected) ** 2).sum(axis=-1) / (eta**2 * (total**2).sum(axis=-1))
        return self.kernels.to_numpy(apart) ** 0.5

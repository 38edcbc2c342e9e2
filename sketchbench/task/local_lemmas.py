"""The lemmas behind the theorems on local steps, along the path of a run (song2023 Lemmas F.3-F.6)."""

import logging
from dataclasses import dataclass

import numpy as np

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.local_lemmas import LEMMAS, averages, difference_after_sketch, ratios
from sketchbench.federated.theorems import assumptions, find_theorem
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.objective import MakeObjective
from sketchbench.parameters import Checked, Count, Several
from sketchbench.sketch.family import Family
from sketchbench.task.trials import shown_rounds
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalLemmas(Checked):
    """Runs with the step of Theorem F.9. Rows:

    `ratio`, by lemma: of its smaller side over its larger one, the largest of all rounds and local steps, against
    1, which no trial may exceed (see `theory.local_steps`);
    `difference`: at about `points` rounds, of the two sides of F.6 where a round ends and the sketch comes in, which is
    about means, against 0.

    Arguments:
        local_steps: K.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: Several
    rounds: Count
    local_steps: Count
    points: Count

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        theorem = find_theorem("F.9")
        p = assumptions(objective, theorem, self.family, self.known, local_steps=self.local_steps)
        eta = theorem.rate(p)
        algorithm = IterativeSketching(self.family, eta, self.local_steps)
        key = seeds.key(self.seed, task="local lemmas", family=repr(self.family))
        shown = shown_rounds(self.rounds, self.points)
        worst = {lemma: np.zeros(self.trials) for lemma in LEMMAS}
        rows: list[Row] = []
        for at in algorithm.run(objective, key, trials=self.trials, rounds=self.rounds, keep_path=True):
            if not at.path:
                continue
            path = averages(at, objective)
            for lemma, ratio in ratios(path, p, eta, objective).items():
                worst[lemma] = np.maximum(worst[lemma], self.kernels.to_numpy(ratio))
            if at.t in shown:
                difference = self.kernels.to_numpy(difference_after_sketch(at, path, p, eta, objective))
                rows.append(Row("difference", lemma="F.6", round=at.t, bound=0.0).mean(difference))
                log.info("round %d of %d, difference %.3g", at.t, self.rounds, difference.mean())
        return rows + [Row("ratio", lemma=lemma).exceedances(ratio, 1.0) for lemma, ratio in worst.items()]

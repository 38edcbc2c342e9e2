"""The lemmas behind the theorems on local steps, checked in the rounds of a run (song2023 Lemmas F.3-F.6)."""

import logging
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count
from sketchbench.federated.local_lemmas import LEMMAS, averages, difference_after_sketch, ratios
from sketchbench.federated.theorems import algorithm_of, find_theorem
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.objective import MakeObjective
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches.trials import shown_rounds
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalLemmas(Checked):
    """Runs of iterative sketching with the step size of Theorem F.9, whose lemmas are checked in every round. Rows:

    `ratio`, by `lemma`: the lemma's smaller side over the other side: the largest ratio over all rounds and local
    steps, and the number of trials in which it exceeds the bound 1 (see `theory.local_steps`).
    `difference`, at about `points` rounds: the two sides of Lemma F.6 at the end of a round, where the sketch enters:
    mean of ‖w - w*‖² minus the lemma's bound; bound: 0.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: AtLeastTwo  # independent runs, which differ in their sketches
    rounds: Count  # of a run
    local_steps: Count  # K, local steps of a round
    points: Count  # about how many rounds have a row `difference`

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        theorem = find_theorem("F.9")
        algorithm, p = algorithm_of(theorem, objective, self.family, self.known, local_steps=self.local_steps)
        eta = algorithm.local_rate
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

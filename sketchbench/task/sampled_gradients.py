"""What sampling of records or clients does to the rounds that iterative sketching takes (song2023 §6)."""

import logging
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.sampled import Sampled
from sketchbench.federated.theorems import assumptions, find_theorem
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.empirical import EmpiricalRisk
from sketchbench.objective.objective import MakeObjective
from sketchbench.parameters import Checked, Count, Positive, Probability, Range, Several, Share
from sketchbench.sketch.family import Family
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SampledGradients(Checked):
    """Iterative sketching with gradients of samples until a `target` share of f(w⁰) - f* is left, beside the same with
    all records and clients, trial by trial with the same operators. Rows by `case`:

    `rounds`: over those without sampling, against `allowed`; for `records`, a share of which every client draws for
    each round; for `clients`, a share of which take part in a round; and for `half of the step` without sampling, a
    negative control. Where a trial does not arrive in `patience` times the rounds, the status is `diverged`.

    Arguments:
        factor: of the largest step that Theorem E.1 allows for the exact α.
        share: of the records or clients.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: Several
    rounds: Count
    factor: Share
    target: Probability
    share: Share
    allowed: Positive
    patience: Annotated[float, Range(1)]

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        if not isinstance(objective, EmpiricalRisk):
            raise ValueError("the objective must have records to sample; choose digits or thumbnails")
        plain = self._arrivals(objective, 1.0, 1.0, 1.0, self.rounds)
        if np.isnan(plain).any():
            raise ValueError(f"rounds={self.rounds} without sampling do not reach target={self.target}; allow more")
        limit = int(self.patience * plain.max())
        settings = {
            "records": (self.share, 1.0, 1.0),
            "clients": (1.0, self.share, 1.0),
            "half of the step": (1.0, 1.0, 0.5),
        }
        return [
            self._row(case, self._arrivals(objective, *setting, limit) / plain) for case, setting in settings.items()
        ]

    def _row(self, case: str, ratios: NDArray[np.float64]) -> Row:
        row, missing = Row("rounds", case=case, bound=self.allowed), int(np.isnan(ratios).sum())
        log.info("%s: %d of %d trials arrived", case, self.trials - missing, self.trials)
        if missing:
            return row.lost("diverged", f"{missing} of the trials did not reach the target", self.trials)
        return row.but(status="finite").mean(ratios)

    def _arrivals(
        self, objective: EmpiricalRisk, records: float, clients: float, step: float, rounds: int
    ) -> NDArray[np.float64]:
        """The round in which each trial reaches the target, (trials,); NaN where it does not."""
        p = assumptions(objective, find_theorem("E.1"), self.family, self.known, alpha="exact")
        algorithm = IterativeSketching(self.family, step * self.factor * find_theorem("E.1").rate(p))
        random = seeds.generator(self.seed, task="sampled gradients", records=str(records), clients=str(clients))
        key = seeds.key(self.seed, task="sampled gradients", family=repr(self.family))
        gradients = Sampled(objective, random, records, clients) if records < 1 or clients < 1 else None
        arrived = np.full(self.trials, np.nan)
        for at in algorithm.run(objective, key, trials=self.trials, rounds=rounds, gradients=gradients):
            left = self.kernels.to_numpy(objective.loss(at.w) - objective.minimum) / objective.gap
            arrived[np.isnan(arrived) & (left <= self.target)] = at.t
            if not np.isnan(arrived).any():
                break
        return arrived

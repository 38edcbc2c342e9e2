"""The increase of rounds of iterative sketching when records or clients are sampled (song2023 §6)."""

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive, Probability, Share
from sketchbench.federated.sampled import SampledEstimates
from sketchbench.federated.theorems import algorithm_of, find_theorem
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.empirical import EmpiricalRisk
from sketchbench.learning.objective.objective import MakeObjective
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.theory.known import Known

PATIENCE = 4  # the most rounds of a run with sampling, as a multiple of the allowed number
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SampledGradients(Checked):
    """Iterative sketching with sampled gradients until f(w) - f* is at most `target` times f(w⁰) - f*. The same runs
    with all records and clients, and the same operators trial by trial, are the reference.

    Row `rounds`, by `case`: mean number of rounds, over the number without sampling; bound: `allowed`. The cases:
        records: in each round every client takes its gradient over a random `share` of its records.
        clients: in each round a random `share` of the clients takes part.
        fewer records, fewer clients: the same with a quarter of `share`, but at least one: near misses.
        half of the step: no sampling, but half the step size.
    If a trial misses the target in `PATIENCE` times the allowed rounds, the row has the status `diverged`, and no mean.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: AtLeastTwo
    rounds: Count  # the most rounds of a run without sampling
    theorem: str  # of the step size: E.1, or F.9 for several local steps
    local_steps: Count  # of a round, each with a sample of its own
    factor: Share  # the step size, as a share of the largest that the theorem allows for the exact α
    target: Probability  # the share of f(w⁰) - f* at which a run ends
    share: Share  # of the records or clients
    allowed: Positive  # the ratio of rounds that the claim allows

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        if not isinstance(objective, EmpiricalRisk):
            raise ValueError("the objective must have records to sample; choose digits or thumbnails")
        plain = self._arrivals(objective, 1.0, 1.0, 1.0, self.rounds)
        if np.isnan(plain).any():
            raise ValueError(f"rounds={self.rounds} without sampling do not reach target={self.target}; allow more")
        limit = int(PATIENCE * self.allowed * plain.max())
        settings = {
            "records": (self.share, 1.0, 1.0),
            "clients": (1.0, self.share, 1.0),
            "fewer records": (self.share / 4, 1.0, 1.0),
            "fewer clients": (1.0, self.share / 4, 1.0),
            "half of the step": (1.0, 1.0, 0.5),
        }
        return [
            self._row(case, self._arrivals(objective, *setting, limit) / plain) for case, setting in settings.items()
        ]

    def _row(self, case: str, ratios: NDArray[np.float64]) -> Row:
        row, missing = Row("rounds", case=case, bound=self.allowed), int(np.isnan(ratios).sum())
        log.info("%s: %d of %d trials reached the target", case, self.trials - missing, self.trials)
        if missing:
            return row.without_number("diverged", f"{missing} of the trials did not reach the target", self.trials)
        return row.replace(status="finite").mean(ratios)

    def _arrivals(
        self, objective: EmpiricalRisk, records: float, clients: float, step: float, rounds: int
    ) -> NDArray[np.float64]:
        """The first round in which each trial has reached the target, (trials,); NaN for never."""
        theorem, steps = find_theorem(self.theorem), self.local_steps
        algorithm, _ = algorithm_of(
            theorem,
            objective,
            self.family,
            self.known,
            factor=step * self.factor,
            local_steps=steps,
            alpha="exact",
        )
        random = seeds.generator(self.seed, task="sampled gradients", records=str(records), clients=str(clients))
        key = seeds.key(self.seed, task="sampled gradients", family=repr(self.family))
        gradients = SampledEstimates(objective, random, records, clients) if records < 1 or clients < 1 else None
        arrived = np.full(self.trials, np.nan)
        for at in algorithm.run(objective, key, trials=self.trials, rounds=rounds, gradients=gradients):
            left = self.kernels.to_numpy(objective.loss(at.w) - objective.minimum) / objective.gap
            arrived[np.isnan(arrived) & (left <= self.target)] = at.t
            if not np.isnan(arrived).any():
                break
        return arrived

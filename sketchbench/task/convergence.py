"""Iterative sketching against the theorems about it."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import Desketch, IterativeSketching, Round
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.summary import summarize
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.sketch.family import Family
from sketchbench.theory.convergence import THEOREMS, Problem, Theorem
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
GROWN = 1e6  # a loss that has grown so much has diverged


@dataclass(frozen=True)
class Convergence:
    """`trials` independent runs for each theorem, over `rounds` rounds, with the largest step that the
    theorem allows, times `step`. Rows, at about `points` rounds, evenly spread on a log scale:
    what the theorem bounds, by its name (see `theory.convergence`), against its bound, with the bytes that
    a client has sent and received.

    A run that diverges ends with a row of the status `diverged`, and no mean.
    local_steps: K of the theorems that are about more than one.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    theorems: list[str]
    step: float
    trials: int
    rounds: int
    local_steps: int
    fresh: bool
    desketch: Desketch
    points: int

    def run(self) -> list[dict[str, Any]]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        return [row for name in self.theorems for row in self._rows(objective, _theorem(name))]

    def _rows(self, objective: Objective, theorem: Theorem) -> list[dict[str, Any]]:
        problem = self._problem(objective, theorem)
        if not 0 < self.step <= 1:
            raise ValueError(f"step={self.step} must be > 0 and <= 1, the largest that is allowed")
        eta = self.step * theorem.rate(problem)
        algorithm = IterativeSketching(
            self.family, eta, problem.local_steps, fresh=self.fresh, desketch=self.desketch
        )
        key = seeds.key(self.seed, task=f"convergence {theorem.place}", family=repr(self.family))
        shown = np.unique(np.geomspace(1, self.rounds, self.points).round().astype(int))
        bounds = dict(zip(shown.tolist(), theorem.bound(problem, eta, shown).tolist(), strict=True))
        rounds = algorithm.run(objective, key, trials=self.trials, rounds=self.rounds)
        rows: list[dict[str, Any]] = []
        for at, values in MEASURED[theorem.measured](objective, rounds):
            if at.t not in bounds:
                continue
            shared = {
                "quantity": theorem.measured,
                "case": theorem.place,
                "round": at.t,
                "bytes_up": at.bytes_up,
                "bytes_down": at.bytes_down,
                "bound": bounds[at.t],
                "trials": self.trials,
            }
            found = self.kernels.to_numpy(values)
            if not np.isfinite(found).all() or found.max() > GROWN * max(objective.gap, 1.0):
                rows.append({**shared, "status": "diverged"})
                log.info("%s: diverged in round %d", theorem.place, at.t)
                break
            rows.append({**shared, "status": "finite", **summarize(found)})
        log.info("%s: %d trials, %d rounds", theorem.place, self.trials, at.t)
        return rows

    def _problem(self, objective: Objective, theorem: Theorem) -> Problem:
        constant = self.known.embedding_constant
        if constant is None:
            raise ValueError("the sketch's config needs an embedding_constant under `theory`")
        if objective.convexity < theorem.needs:
            raise ValueError(
                f"Theorem {theorem.place} needs a convexity of at least {theorem.needs:g}, and the "
                f"objective has {objective.convexity:g}; choose another theorem or objective"
            )
        return Problem(
            objective.smoothness,
            objective.convexity,
            objective.gradient_bound,
            objective.gap,
            objective.squared_distance,
            objective.heterogeneity,
            constant * self.family.d / self.family.b,
            1 if theorem.single_step else self.local_steps,
        )


def _theorem(name: str) -> Theorem:
    if name not in THEOREMS:
        raise ValueError(f"theorem {name} is unknown; choose from {', '.join(THEOREMS)}")
    return THEOREMS[name]


def _excess(objective: Objective, rounds: Iterator[Round]) -> Iterator[tuple[Round, Array]]:
    """f(w^t) - f*."""
    for at in rounds:
        yield at, objective.loss(at.w) - objective.minimum


def _average_excess(objective: Objective, rounds: Iterator[Round]) -> Iterator[tuple[Round, Array]]:
    """f of the mean of the weights at which gradients were taken, less f*."""
    total: Array = 0
    for at in rounds:
        if at.t:
            total = total + at.local
            yield at, objective.loss(total / at.t) - objective.minimum


def _squared_gradient(
    objective: Objective, rounds: Iterator[Round]
) -> Iterator[tuple[Round, Array]]:
    """The mean of ‖∇f(w^s)‖² over s = 0, ..., t."""
    total: Array = 0
    for at in rounds:
        total = total + (objective.gradient(at.w) ** 2).sum(axis=-1)
        yield at, total / (at.t + 1)


MEASURED = {
    "excess": _excess,
    "average_excess": _average_excess,
    "squared_gradient": _squared_gradient,
}

"""Iterative sketching against the theorems about it."""

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import Desketch, IterativeSketching, Round
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.divergence import diverged
from sketchbench.measure.summary import summarize
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.sketch.family import Family
from sketchbench.task.trials import shown_rounds
from sketchbench.theory.convergence import THEOREMS, Problem, Theorem
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)

Alpha = Literal["claimed", "exact"]
Held = Literal["theorem", "none"]


@dataclass(frozen=True)
class Convergence:
    """`trials` independent runs for each theorem, over `rounds` rounds, with the largest step that the
    theorem allows, times `step`. Rows, at about `points` rounds, evenly spread on a log scale:
    what the theorem bounds, by its name (see `theory.convergence`), against its bound, with the bytes that
    a client has sent and received.

    A run that diverges ends with a row of the status `diverged`, and no mean.
    local_steps: K of the theorems that are about more than one. alpha: the step is for the variance parameter that
    the sketch's config claims, or for its exact one. claim: `none` allows a larger step, and gives no
    bounds.
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
    alpha: Alpha
    claim: Held

    def run(self) -> list[dict[str, Any]]:
        for name, value, known in (
            ("alpha", self.alpha, get_args(Alpha)),
            ("claim", self.claim, get_args(Held)),
        ):
            if value not in known:
                raise ValueError(f"{name}={value} is unknown; choose one of {', '.join(known)}")
        if not (0 < self.step <= 1 or (self.claim == "none" and 0 < self.step < math.inf)):
            raise ValueError(
                f"step={self.step} must be > 0 and <= 1, the largest that the theorem allows; "
                "set claim=none for a larger one"
            )
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        return [row for name in self.theorems for row in self._rows(objective, theorem_named(name))]

    def _rows(self, objective: Objective, theorem: Theorem) -> list[dict[str, Any]]:
        steps = 1 if theorem.single_step else self.local_steps
        problem = problem_of(objective, theorem, self.family, self.known, steps, self.alpha)
        eta = self.step * theorem.rate(problem)
        algorithm = IterativeSketching(self.family, eta, problem.local_steps, fresh=self.fresh, desketch=self.desketch)
        key = seeds.key(self.seed, task=f"convergence {theorem.place}", family=repr(self.family))
        shown = shown_rounds(self.rounds, self.points)
        rounds = algorithm.run(objective, key, trials=self.trials, rounds=self.rounds)
        rows: list[dict[str, Any]] = []
        for at, values in MEASURED[theorem.measured](objective, rounds):
            found = self.kernels.to_numpy(values)
            gone = diverged(found, objective.gap)
            if at.t not in shown and not gone:
                continue
            bound = None
            if self.claim == "theorem":
                bound = float(theorem.bound(problem, eta, np.array(at.t)))
            shared = {
                "quantity": theorem.measured,
                "case": theorem.place,
                "round": at.t,
                "bytes_up": at.bytes_up,
                "bytes_down": at.bytes_down,
                "bound": bound,
                "trials": self.trials,
            }
            if gone:
                rows.append({**shared, "status": "diverged"})
                log.info("%s: diverged in round %d", theorem.place, at.t)
                break
            rows.append({**shared, "status": "finite", **summarize(found)})
        log.info("%s: %d trials, %d rounds", theorem.place, self.trials, at.t)
        return rows


def problem_of(
    objective: Objective,
    theorem: Theorem,
    family: Family,
    known: Known,
    local_steps: int,
    alpha: Alpha = "claimed",
) -> Problem:
    """The constants that a theorem's step and bound are made of.

    Raises ValueError for an objective that it does not hold for, or a sketch without a variance parameter.
    """
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
        known.exact_alpha(family.d, family.b) if alpha == "exact" else known.claimed_alpha(family.d, family.b),
        local_steps,
    )


def theorem_named(name: str) -> Theorem:
    """By its place; ValueError for one that is unknown."""
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


def _squared_gradient(objective: Objective, rounds: Iterator[Round]) -> Iterator[tuple[Round, Array]]:
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

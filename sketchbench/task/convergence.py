"""Iterative sketching against the theorems about it."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import Desketching, IterativeSketching
from sketchbench.federated.theorems import Alpha, assumptions, measured, theorem_named
from sketchbench.kernels import Kernels
from sketchbench.measure.divergence import has_diverged
from sketchbench.measure.row import Row
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.parameters import Checked, Count, Positive, Several
from sketchbench.sketch.family import Family
from sketchbench.task.trials import shown_rounds
from sketchbench.theory.convergence import Theorem
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
RESOLVED = 1e-5  # of f(w⁰) - f*: below that a verdict would rest on its tolerance for rounding, 1e-9, or on rare runs


@dataclass(frozen=True)
class StepSize(Checked):
    """The step size, and what is claimed for it.

    Arguments:
        factor: of the largest step that the theorem allows.
        alpha: which variance parameter of the sketch that step is for: the one that its config claims, or its exact
            one.
        claim: `theorem` gives the theorem's bounds; `none` allows a larger step, and gives no bounds.
    """

    factor: Positive
    alpha: Alpha
    claim: Literal["theorem", "none"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.claim == "theorem" and self.factor > 1:
            raise ValueError(
                f"factor={self.factor} must be <= 1, the largest step that the theorem allows; "
                "set claim=none for a larger one"
            )


@dataclass(frozen=True)
class Operators(Checked):
    """Which operators the rounds use.

    Arguments:
        fresh, desketch: as for `IterativeSketching`.
    """

    fresh: bool
    desketch: Desketching


@dataclass(frozen=True)
class Convergence(Checked):
    """`trials` independent runs for each theorem. Rows, at about `points` rounds, evenly spread on a log scale:
    what the theorem bounds, by its name (see `theory.convergence`), against its bound, with the bytes that a client has
    sent and received. A run that diverges ends with a row of the status `diverged`, and no mean; one whose bound falls
    below 1e-5 of f(w⁰) - f* ends there, without a row for that round.

    Arguments:
        theorems: by their places in song2023.
        local_steps: K of the theorems that are about more than one.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    theorems: list[str]
    step: StepSize
    operators: Operators
    trials: Several
    rounds: Count
    local_steps: Count
    points: Count

    def run(self) -> list[Row]:
        theorems = [theorem_named(name) for name in self.theorems]
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        return [row for theorem in theorems for row in self._rows(objective, theorem)]

    def _rows(self, objective: Objective, theorem: Theorem) -> Iterator[Row]:
        steps = 1 if theorem.single_step else self.local_steps
        p = assumptions(objective, theorem, self.family, self.known, local_steps=steps, alpha=self.step.alpha)
        eta = self.step.factor * theorem.rate(p)
        fresh, desketch = self.operators.fresh, self.operators.desketch
        algorithm = IterativeSketching(self.family, eta, steps, fresh=fresh, desketch=desketch)
        key = seeds.key(self.seed, task=f"convergence {theorem.place}", family=repr(self.family))
        rounds = algorithm.run(objective, key, trials=self.trials, rounds=self.rounds)
        shown = shown_rounds(self.rounds, self.points)
        for at, array in measured(theorem, objective, rounds):
            values = self.kernels.to_numpy(array)
            lost = has_diverged(values, objective.gap)
            if at.t not in shown and not lost:
                continue
            row = Row(theorem.measured, case=theorem.place, round=at.t, bytes_up=at.bytes_up, bytes_down=at.bytes_down)
            if self.step.claim == "theorem":
                bound = float(theorem.bound(p, eta, np.array(at.t)))
                if bound < RESOLVED * objective.gap:
                    break
                row = row.but(bound=bound)
            if lost:
                log.info("%s: diverged in round %d", theorem.place, at.t)
                yield row.lost("diverged", "it is not finite, or has grown a million times", self.trials)
                return
            yield row.but(status="finite").mean(values)
        log.info("%s: %d trials, %d rounds", theorem.place, self.trials, self.rounds)

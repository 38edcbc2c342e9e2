"""Runs of iterative sketching beside the bounds of the theorems about it."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive
from sketchbench.federated.iterative_sketching import Desketching
from sketchbench.federated.theorems import Alpha, algorithm_of, find_theorem, measure
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.objective import MakeObjective, Objective
from sketchbench.measure.divergence import has_diverged
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches.trials import shown_rounds
from sketchbench.theory.convergence import Theorem
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
RESOLVED = 1e-5  # share of f(w⁰) - f*: smaller bounds leave a verdict to rounding (tolerance 1e-9) or to rare runs


@dataclass(frozen=True)
class StepSize(Checked):
    """The step size, and whether the theorem's bound is claimed for it.

    Arguments:
        factor: the step size over the theorem's largest.
        alpha: the variance parameter of the sketch in the theorem: `claimed` by its config, or `exact`.
        claim: `theorem` writes the theorem's bounds; `none` allows factors above 1, and writes no bounds; `equality` is
            for Theorem E.1 on f = L/2 ‖w - w*‖² with the exact α: the bound for the largest step is then the mean.
    """

    factor: Positive
    alpha: Alpha
    claim: Literal["theorem", "none", "equality"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.claim == "theorem" and self.factor > 1:
            raise ValueError(
                f"factor={self.factor} must be <= 1, the largest step that the theorem allows; "
                "set claim=none for a larger one"
            )


@dataclass(frozen=True)
class Operators(Checked):
    """The operators of the rounds; see `IterativeSketching`."""

    fresh: bool
    desketch: Desketching


@dataclass(frozen=True)
class Convergence(Checked):
    """`trials` independent runs of iterative sketching for each theorem.

    Each row has the quantity that the theorem bounds: `excess`, `average_excess` or `squared_gradient` (see
    `theory.convergence`). Rows by theorem (`case`) at about `points` rounds, evenly spread on a log scale: its mean
    over the trials, the theorem's bound, and the bytes that a client has sent and received so far.

    If the claim is an equality, from round 1 on: `relative_excess`, the mean of `excess` over the bound for the largest
    step, which is exactly 1 with that step.

    Runs that diverge end with a row of the status `diverged`, and no mean. Runs end without a further row when the
    bound falls below 1e-5 (f(w⁰) - f*).

    Arguments:
        theorems: their numbers in song2023.
        rounds: of a run.
        local_steps: K, for the theorems about several local steps.
        points: about how many rounds have a row.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    theorems: list[str]
    step: StepSize
    operators: Operators
    trials: AtLeastTwo
    rounds: Count
    local_steps: Count
    points: Count

    def run(self) -> list[Row]:
        theorems = [find_theorem(name) for name in self.theorems]
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        return [row for theorem in theorems for row in self._rows(objective, theorem)]

    def _rows(self, objective: Objective, theorem: Theorem) -> Iterator[Row]:
        steps = 1 if theorem.single_step else self.local_steps
        factor, alpha, claim = self.step.factor, self.step.alpha, self.step.claim
        if claim == "equality" and not (
            theorem.place == "E.1" and alpha == "exact" and objective.convexity == objective.smoothness
        ):
            raise ValueError(
                f"claim=equality with theorem {theorem.place}, alpha={alpha}, and an objective with μ = "
                f"{objective.convexity:g} and L = {objective.smoothness:g}: there is one for Theorem E.1, alpha=exact "
                "and μ = L only, such as on a quadratic of one client and condition 1"
            )
        algorithm, p = algorithm_of(
            theorem, objective, self.family, self.known, factor=factor, local_steps=steps, alpha=alpha
        )
        algorithm = replace(algorithm, fresh=self.operators.fresh, desketch=self.operators.desketch)
        key = seeds.key(self.seed, task=f"convergence {theorem.place}", family=repr(self.family))
        average = theorem.measured == "average_excess"
        rounds = algorithm.run(objective, key, trials=self.trials, rounds=self.rounds, average=average)
        shown = shown_rounds(self.rounds, self.points)
        for at, most, compute in measure(theorem, objective, rounds):
            if at.t not in shown and not has_diverged(self.kernels.to_numpy(most), objective.gap):
                continue
            values = self.kernels.to_numpy(compute())
            lost = has_diverged(values, objective.gap)
            if at.t not in shown and not lost:
                continue
            row = Row(theorem.measured, case=theorem.place, round=at.t, bytes_up=at.bytes_up, bytes_down=at.bytes_down)
            if claim != "none":
                rate = algorithm.local_rate if claim == "theorem" else theorem.rate(p)
                bound = float(theorem.bound(p, rate, np.array(at.t)))
                if bound < RESOLVED * objective.gap:
                    break
                if claim == "theorem":
                    row = row.replace(bound=bound)
                else:
                    row, values = row.replace(quantity="relative_excess", exact=1.0), values / bound
            if lost:
                log.info("%s: diverged in round %d", theorem.place, at.t)
                yield row.without_number("diverged", "it is not finite, or has grown a million times", self.trials)
                return
            yield row.replace(status="finite").mean(values)
        log.info("%s: %d trials, %d rounds", theorem.place, self.trials, self.rounds)

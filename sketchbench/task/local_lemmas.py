"""The lemmas behind the theorems on local steps, along the path of a run (song2023 Lemmas F.3-F.6)."""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching, LocalStep
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.summary import summarize
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.sketch.family import Family
from sketchbench.task.convergence import problem_of, theorem_named
from sketchbench.task.trials import exceedances, shown_rounds
from sketchbench.theory import local_steps as lemmas
from sketchbench.theory.convergence import Problem
from sketchbench.theory.known import Known
from sketchbench.theory.local_steps import State

Row = dict[str, Any]
RESOLVED = 1e-9  # of f(w⁰) - f*: where less than that is left, both sides are mostly rounding


@dataclass(frozen=True)
class LocalLemmas:
    """Runs with the step of Theorem F.9. Rows:

    `ratio`, by lemma: of its smaller side over its larger one, the largest of all rounds and local steps, against
    1, which no trial may exceed (see `theory.local_steps`);
    `difference`: of the two sides of F.6 where a round ends and the sketch comes in, which is about means,
    against 0.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: int
    rounds: int
    local_steps: int
    points: int

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        theorem = theorem_named("F.9")
        problem = problem_of(objective, theorem, self.family, self.known, self.local_steps)
        eta = theorem.rate(problem)
        algorithm = IterativeSketching(self.family, eta, self.local_steps)
        key = seeds.key(self.seed, task="local lemmas", family=repr(self.family))
        shown = shown_rounds(self.rounds, self.points)
        worst = {name: np.zeros(self.trials) for name in ("F.3", "F.4", "F.5", "F.6")}
        rows: list[Row] = []
        states = algorithm.run(objective, key, trials=self.trials, rounds=self.rounds, keep_path=True)
        for at in states:
            if not at.path:
                continue
            path = [_state(step, objective) for step in at.path]
            for name, found in _ratios(path, problem, eta, objective).items():
                worst[name] = np.maximum(worst[name], self.kernels.to_numpy(found))
            if at.t in shown:
                best = self.kernels.asarray(objective.minimiser)
                distance = ((at.w - best) ** 2).sum(axis=-1)
                allowed = lemmas.most_distance_after_sketch(problem, eta, path)
                difference = self.kernels.to_numpy(distance - allowed)
                shared = {"quantity": "difference", "lemma": "F.6", "round": at.t, "bound": 0.0}
                rows.append({**shared, **summarize(difference)})
        return rows + [{"quantity": "ratio", "lemma": name, **exceedances(found, 1.0)} for name, found in worst.items()]


def _state(step: LocalStep, objective: Objective) -> State:
    """Entries of shape (trials,)."""
    mean, gradient = step.weights.mean(axis=1), step.gradients.mean(axis=1)
    away = mean - objective.kernels.asarray(objective.minimiser)
    return State(
        ((step.weights - mean[:, None]) ** 2).sum(axis=-1).mean(axis=-1),
        (gradient**2).sum(axis=-1),
        objective.loss(mean) - objective.minimum,
        (away**2).sum(axis=-1),
        (away * gradient).sum(axis=-1),
    )


def _ratios(path: list[State], p: Problem, eta: float, objective: Objective) -> dict[str, Array]:
    """The smaller over the larger side of every lemma, the largest of a round's local steps, (trials,)."""
    pairs: dict[str, list[tuple[Array, Array]]] = {
        "F.3": [(at.squared_gradient, lemmas.most_gradient(p, at)) for at in path],
        "F.4": [(lemmas.least_progress(p, at), at.progress + p.smoothness / 2 * at.spread) for at in path],
        "F.5": [(sum(at.spread for at in path), lemmas.most_spread(p, eta, path))],
        "F.6": [
            (after.squared_distance, lemmas.most_distance(p, eta, before)) for before, after in itertools.pairwise(path)
        ],
    }
    xp = objective.kernels.xp
    unresolved = path[0].excess <= RESOLVED * objective.gap
    return {
        name: functools.reduce(xp.maximum, [~unresolved * small / large for small, large in sides])
        for name, sides in pairs.items()
        if sides
    }

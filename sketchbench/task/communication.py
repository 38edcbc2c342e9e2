"""What it costs to reach a target with sketches, over what it costs without."""

import logging
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.kernels import Kernels
from sketchbench.measure.divergence import diverged
from sketchbench.measure.summary import summarize
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity
from sketchbench.task.convergence import MEASURED, problem_of, theorem_named
from sketchbench.task.trials import shown_rounds
from sketchbench.theory.convergence import ROUNDS_FACTOR
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
Row = dict[str, Any]


class Journey(NamedTuple):
    """Rounds and bytes until every trial has arrived, (trials,), NaN where one has not; and the curve."""

    rounds: NDArray[np.float64]
    bytes: NDArray[np.float64]
    rows: list[Row]


@dataclass(frozen=True)
class Communication:
    """Iterative sketching with the largest step that the theorem allows, until what it bounds has fallen to
    `target` times f(w⁰) - f*, beside the same without sketches and with the step for α = 0. Rows:

    `rounds`: of a trial with sketches over those without, against 2(1 + α) (see `theory.convergence`);
    `bytes`: sent by a client, likewise, against 2(1 + α) b/d;
    `curve`: what is bounded over f(w⁰) - f*, at about `points` rounds, by algorithm (`case`).

    rounds: the most without sketches; with them there are `patience` (1 + α) times as many as it took
    without. Where a trial does not arrive by then, or diverges, both ratios have the status `diverged`, and no
    mean.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    theorem: str
    trials: int
    rounds: int
    target: float
    patience: float
    points: int

    def run(self) -> list[Row]:
        if not 0 < self.target < 1:
            raise ValueError(f"target={self.target} must satisfy 0 < target < 1")
        if not self.patience >= 1:
            raise ValueError(f"patience={self.patience} must be >= 1")
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        d, b = self.family.d, self.family.b
        nothing = Identity(d, d), Known(embedding_constant=0.0)
        plain = self._journey("no sketch", objective, *nothing, 2, self.rounds)
        if np.isnan(plain.rounds).any():
            raise ValueError(
                f"{self.rounds} rounds without sketches do not reach target={self.target}; "
                "allow more rounds, or a larger target"
            )
        alpha = self.known.claimed_alpha(d, b)
        limit = math.ceil(self.patience * (1 + alpha) * plain.rounds[0])
        found = self._journey("sketch", objective, self.family, self.known, self.trials, limit)
        rows = plain.rows + found.rows
        allowed = ROUNDS_FACTOR * (1 + alpha)
        for name, ratio, bound in (
            ("rounds", found.rounds / plain.rounds[0], allowed),
            ("bytes", found.bytes / plain.bytes[0], allowed * b / d),
        ):
            shared = {"quantity": name, "bound": bound, "trials": self.trials}
            late = np.isnan(ratio).any()
            rows.append(
                {**shared, "status": "diverged"} if late else {**shared, "status": "finite", **summarize(ratio)}
            )
        return rows

    def _journey(
        self,
        name: str,
        objective: Objective,
        family: Family,
        known: Known,
        trials: int,
        rounds: int,
    ) -> Journey:
        theorem = theorem_named(self.theorem)
        problem = problem_of(objective, theorem, family, known, 1)
        algorithm = IterativeSketching(family, theorem.rate(problem))
        key = seeds.key(self.seed, task="communication", family=repr(family))
        states = algorithm.run(objective, key, trials=trials, rounds=rounds)
        shown = shown_rounds(rounds, self.points)
        arrived, sent = np.full((2, trials), np.nan)
        rows: list[Row] = []
        for at, values in MEASURED[theorem.measured](objective, states):
            share = self.kernels.to_numpy(values) / objective.gap
            if diverged(share, 1.0):
                log.info("%s: diverged in round %d", name, at.t)
                break
            new = np.isnan(arrived) & (share <= self.target)
            arrived[new], sent[new] = at.t, at.bytes_up
            over = not np.isnan(arrived).any()
            if at.t in shown or over:
                log.info("%s: round %d, %.3g of the loss left", name, at.t, share.mean())
                rows.append(
                    {
                        "quantity": "curve",
                        "case": name,
                        "round": at.t,
                        "bytes_up": at.bytes_up,
                        "bytes_down": at.bytes_down,
                        **summarize(share),
                    }
                )
            if over:
                log.info("%s: %d trials arrived within %d rounds", name, trials, at.t)
                break
        return Journey(arrived, sent, rows)

"""Rounds and bytes that iterative sketching takes to a target, relative to training without sketches."""

import logging
import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Probability, Range, Share
from sketchbench.federated.theorems import algorithm_of, find_theorem, measure
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.objective import MakeObjective, Objective
from sketchbench.measure.divergence import has_diverged
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.identity import Identity
from sketchbench.task.sketches.trials import shown_rounds
from sketchbench.theory.convergence import ROUNDS_FACTOR
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)


class Journey(NamedTuple):
    """Rounds and a client's bytes until each trial reached the target, (trials,), NaN if it never did; and rows
    `curve`."""

    rounds: NDArray[np.float64]
    bytes: NDArray[np.float64]
    rows: list[Row]


@dataclass(frozen=True)
class Communication(Checked):
    """Iterative sketching until the quantity that a theorem bounds has fallen to `target` times f(w⁰) - f*.

    The same training without sketches, at the theorem's step size for α = 0, is the reference. Rows:

    `rounds`: mean number of rounds with sketches over that without; bound: 2(1 + α) (see `theory.convergence`).
    `bytes`: mean of a client's sent bytes by then, over those without sketches; bound: 2(1 + α) b/d.
    `increase`: the same ratio of bytes; bound: 1.
    `curve`, at about `points` rounds, by `case` (`sketch` or `no sketch`): mean of the quantity over f(w⁰) - f*.

    If a trial diverges or misses the target, the ratios have the status `diverged`, and no mean.

    `patience`: a training with sketches has at most `patience` (1 + α) times the rounds without.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: MakeObjective
    theorem: str  # its number in song2023
    factor: Share  # the step size with sketches, as a share of the theorem's largest
    trials: AtLeastTwo
    rounds: Count  # the most rounds of the training without sketches
    target: Probability  # the share of f(w⁰) - f* at which a training ends
    patience: Annotated[float, Range(1)]
    points: Count  # about how many rounds have a row `curve`

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        d, b = self.family.d, self.family.b
        require(b <= d, f"sketch size b={b} must be <= d={d}: what is measured is the share b/d of the bytes")
        plain = self._journey("no sketch", objective, Identity(d, d), Known(embedding_constant=0.0), 2, self.rounds)
        if np.isnan(plain.rounds).any():
            raise ValueError(
                f"{self.rounds} rounds without sketches do not reach target={self.target}; "
                "allow more rounds, or a larger target"
            )
        alpha = self.known.claimed_alpha(d, b)
        limit = math.ceil(self.patience * (1 + alpha) * plain.rounds[0])
        sketched = self._journey("sketch", objective, self.family, self.known, self.trials, limit)
        allowed, sent = ROUNDS_FACTOR * (1 + alpha), sketched.bytes / plain.bytes[0]
        return [
            *plain.rows,
            *sketched.rows,
            self._ratio("rounds", sketched.rounds / plain.rounds[0], allowed),
            self._ratio("bytes", sent, allowed * b / d),
            self._ratio("increase", sent, 1.0),
        ]

    def _ratio(self, quantity: str, ratio: NDArray[np.float64], bound: float) -> Row:
        row, missing = Row(quantity, bound=bound), int(np.isnan(ratio).sum())
        if missing:
            return row.without_number("diverged", f"{missing} of the trials did not reach the target", self.trials)
        return row.replace(status="finite").mean(ratio)

    def _journey(
        self, name: str, objective: Objective, family: Family, known: Known, trials: int, rounds: int
    ) -> Journey:
        theorem = find_theorem(self.theorem)
        factor = 1.0 if isinstance(family, Identity) else self.factor
        algorithm, _ = algorithm_of(theorem, objective, family, known, factor=factor)
        key = seeds.key(self.seed, task="communication", family=repr(family))
        states = algorithm.run(objective, key, trials=trials, rounds=rounds)
        shown = shown_rounds(rounds, self.points)
        arrived, sent = np.full((2, trials), np.nan)
        rows: list[Row] = []
        for at, _, compute in measure(theorem, objective, states):
            share = self.kernels.to_numpy(compute()) / objective.gap
            if has_diverged(share, 1.0):
                log.info("%s: diverged in round %d", name, at.t)
                break
            new = np.isnan(arrived) & (share <= self.target)
            arrived[new], sent[new] = at.t, at.bytes_up
            over = not np.isnan(arrived).any()
            if at.t in shown or over:
                log.info("%s: round %d, %.3g of the initial gap left", name, at.t, share.mean())
                row = Row("curve", case=name, round=at.t, bytes_up=at.bytes_up, bytes_down=at.bytes_down)
                rows.append(row.mean(share))
            if over:
                log.info("%s: all %d trials reached the target within %d rounds", name, trials, at.t)
                break
        return Journey(arrived, sent, rows)

"""Gradient descent on quadratics, against the rate that is claimed for it (song2023 Theorem K.3)."""

import logging
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sketchbench import seeds
from sketchbench.measure.row import Row
from sketchbench.parameters import Checked, Count, NonEmptyList, Range, Several
from sketchbench.theory import descent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Descent(Checked):
    """`trials` runs on L(x) = xᵀAx from normal starts, with the largest step that Theorem K.3 allows. Rows for each
    condition number of A (`case`), with the largest of all steps of a run for each trial, which no trial may exceed:

    `distance`: what a step leaves of ‖x‖, against the theorem as printed;
    `squared`: what it leaves of ‖x‖², against what the proof has;
    `squared still`: the same for a step of 0, a negative control.

    Arguments:
        d: length of x.
        conditions: the eigenvalues of A lie between 1 and these, evenly spread.
        steps: of a run.
    """

    seed: int
    d: Count
    conditions: NonEmptyList[Annotated[float, Range(1)]]
    trials: Several
    steps: Count

    def run(self) -> list[Row]:
        return [row for condition in self.conditions for row in self._rows(condition)]

    def _rows(self, condition: float) -> list[Row]:
        eta = descent.largest_step(1.0, condition)
        left, still = self._left(condition, eta), self._left(condition, 0.0)
        case = f"condition {condition:g}"
        printed, proven = descent.contraction_printed(1.0, eta), descent.contraction_proven(1.0, eta)
        log.info("%s: %.4g left at most, %.4g as printed", case, left.max(), printed)
        return [
            Row("distance", case=case).exceedances(left, printed),
            Row("squared", case=case).exceedances(left**2, proven),
            Row("squared still", case=case).exceedances(still**2, proven),
        ]

    def _left(self, condition: float, eta: float) -> np.ndarray:
        """The largest share of its norm that a step leaves of x, (trials,)."""
        random = seeds.generator(self.seed, task="descent", d=self.d)
        x, worst = random.standard_normal((self.trials, self.d)), np.zeros(self.trials)
        for _ in range(self.steps):
            after = x - eta * 2 * np.linspace(1.0, condition, self.d) * x
            worst = np.maximum(worst, np.linalg.norm(after, axis=-1) / np.linalg.norm(x, axis=-1))
            x = after
        return worst

"""Gradient descent on quadratics, beside its claimed rate (song2023 Theorem K.3)."""

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
    """`trials` runs of gradient descent on L(x) = xᵀAx from normal starts, with the largest step size that Theorem K.3
    allows. Rows for each condition number of A (`case`), with the largest value over the steps of a run, and in how
    many runs it exceeds the bound:

    `distance`: the ratio of ‖x‖ after a step to ‖x‖ before; bound: the theorem's, as printed.
    `squared`: the ratio of ‖x‖² after a step to ‖x‖² before; bound: the one that the proof shows.
    `squared still`, `squared twice`: the same for the step size 0, a negative control, and for twice the largest one.

    Arguments:
        d: length of x.
        conditions: condition numbers of A, whose eigenvalues are evenly spread from 1 to the condition number.
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
        left, still, twice = (self._left(condition, step) for step in (eta, 0.0, 2 * eta))
        case = f"condition {condition:g}"
        printed, proven = descent.contraction_printed(1.0, eta), descent.contraction_proven(1.0, eta)
        log.info("%s: a step leaves at most %.4g of the norm, the printed bound is %.4g", case, left.max(), printed)
        return [
            Row("distance", case=case).exceedances(left, printed),
            Row("squared", case=case).exceedances(left**2, proven),
            Row("squared still", case=case).exceedances(still**2, proven),
            Row("squared twice", case=case).exceedances(twice**2, proven),
        ]

    def _left(self, condition: float, eta: float) -> np.ndarray:
        """The largest ratio of ‖x‖ after a step to ‖x‖ before, (trials,)."""
        random = seeds.generator(self.seed, task="descent", d=self.d)
        x, worst = random.standard_normal((self.trials, self.d)), np.zeros(self.trials)
        for _ in range(self.steps):
            after = x - eta * 2 * np.linspace(1.0, condition, self.d) * x
            before, left = (np.linalg.norm(at, axis=-1) for at in (x, after))
            worst = np.maximum(worst, np.divide(left, before, out=np.zeros(self.trials), where=before > 0))
            x = after
        return worst

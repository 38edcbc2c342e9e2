"""Gradient descent on semi-strongly convex losses, beside its claimed rate (song2023 Theorem K.3)."""

import itertools
import logging
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Positive, Probability, Range
from sketchbench.measure.row import Row
from sketchbench.theory import descent

log = logging.getLogger(__name__)

RIPPLED = "rippled"
SCALES = (1e-3, 10.0)  # about the smallest and largest distance of a pair, for each entry


@dataclass(frozen=True)
class Descent(Checked):
    """`trials` runs of gradient descent from normal starts, with the largest step size that Theorem K.3 allows.

    Rows for L(x) = xᵀAx with each condition number of A (`case`), and for `rippled`, which is not convex
    (`theory.descent.Rippled`), with the largest value over the steps of a run, and the number of runs in which it
    exceeds the bound:

    `distance`: the ratio of ‖x‖ after a step to ‖x‖ before; bound: the theorem's, as printed.
    `squared`: the ratio of ‖x‖² after a step to ‖x‖² before; bound: the one that the proof shows.
    `squared still`, `squared twice`: the same for the step size 0, a negative control, and for twice the largest step.

    For `rippled`, with a random pair of points in each trial, at distances between 1/1000 and 10:

    `assumptions`: the largest ratio to their bounds of the quantities in the definitions of semi-strong convexity, a
    semi-Lipschitz gradient and a non-critical point; bound: 1.
    `assumptions smooth`: the same without the terms of c and α, a negative control.

    Without trials, on ½‖w‖² with sketched gradients and momentum m, for every m and α (`case`):

    `momentum`: the factor by which E‖w‖² falls in a round in the long run, with the step (1 - m)/(1 + α); bound: 1.
    `momentum thrice`: with three times that step, a near miss.
    `momentum full`: with the step of Theorem E.1 without momentum, 1/(1 + α).

    `beside_sgd`, for every α (`case`) and number of `rounds`: E‖w‖² with sketched gradients over that of SGD with the
    best steps, and noise of the variance that a sketch adds to the first gradient (see `theory.descent`); bound: 1.
    `beside_quieter_sgd`: with a quarter of that variance, a near miss.

    `first_gradient`: |f'(w¹)|² of a loss that is not convex (`theory.descent.first_gradients`); bound: that of Theorem
    E.3 for T = 1, as printed. `first_two_gradients`: the smaller of |f'(w⁰)|² and |f'(w¹)|².

    `conditions`: condition numbers of A, whose eigenvalues are evenly spread from 1 to the condition number.
    """

    seed: int
    d: Count  # length of x
    conditions: NonEmptyList[Annotated[float, Range(1)]]
    trials: AtLeastTwo
    steps: Count  # of a run
    momenta: NonEmptyList[Probability]  # values of m
    variances: NonEmptyList[Positive]  # values of α
    rounds: NonEmptyList[Count]  # beside SGD

    def run(self) -> list[Row]:
        ellipsoids = {f"condition {condition:g}": descent.Ellipsoid(condition) for condition in self.conditions}
        rows = [row for case, loss in ellipsoids.items() for row in self._rows(case, loss)]
        rippled = descent.Rippled()
        return [
            *rows,
            *self._rows(RIPPLED, rippled),
            *self._assumptions(rippled),
            *self._momentum(),
            *self._beside_sgd(),
            *_first(),
        ]

    def _rows(self, case: str, loss: descent.Loss) -> list[Row]:
        eta = descent.largest_step(loss.constants)
        left, still, twice = (self._left(loss, step) for step in (eta, 0.0, 2 * eta))
        printed, proven = (bound(loss.constants, eta) for bound in (descent.printed, descent.proven))
        log.info("%s: a step leaves at most %.4g of the norm, the printed bound is %.4g", case, left.max(), printed)
        return [
            Row("distance", case=case).exceedances(left, printed),
            Row("squared", case=case).exceedances(left**2, proven),
            Row("squared still", case=case).exceedances(still**2, proven),
            Row("squared twice", case=case).exceedances(twice**2, proven),
        ]

    def _assumptions(self, loss: descent.Rippled) -> list[Row]:
        random = seeds.generator(self.seed, task="descent", case=RIPPLED, d=self.d)
        at, move = random.standard_normal((2, self.trials, self.d))
        low, high = np.log(SCALES)
        scale = np.exp(random.uniform(low, high, (self.trials, 1)))
        x, y = 2 * at, 2 * at + scale * move
        constants = {"assumptions": loss.constants, "assumptions smooth": loss.constants.smooth()}
        return [
            Row(name, case=RIPPLED).exceedances(loss.excess(x, y, claimed), 1.0) for name, claimed in constants.items()
        ]

    def _momentum(self) -> list[Row]:
        return [
            Row(name, case=f"m = {m:g}, α = {alpha:g}", bound=1.0).number(
                descent.with_momentum(m, step / (1 + alpha), alpha)
            )
            for m, alpha in itertools.product(self.momenta, self.variances)
            for name, step in (("momentum", 1 - m), ("momentum thrice", 3 * (1 - m)), ("momentum full", 1.0))
        ]

    def _beside_sgd(self) -> list[Row]:
        return [
            Row(name, case=f"α = {alpha:g}", round=rounds, bound=1.0).number(
                descent.beside_sgd(alpha, rounds, quieter=quieter)
            )
            for alpha, rounds in itertools.product(self.variances, self.rounds)
            for name, quieter in (("beside_sgd", 1.0), ("beside_quieter_sgd", 4.0))
        ]

    def _left(self, loss: descent.Loss, eta: float) -> np.ndarray:
        """The largest ratio of ‖x‖ after a step to ‖x‖ before, (trials,)."""
        random = seeds.generator(self.seed, task="descent", d=self.d)
        x, worst = random.standard_normal((self.trials, self.d)), np.zeros(self.trials)
        for _ in range(self.steps):
            after = x - loss.move(x, eta)
            before, left = (np.linalg.norm(at, axis=-1) for at in (x, after))
            worst = np.maximum(worst, np.divide(left, before, out=np.zeros(self.trials), where=before > 0))
            x = after
        return worst


def _first() -> list[Row]:
    before, after, bound = descent.first_gradients()
    smaller = {"first_gradient": after, "first_two_gradients": min(before, after)}
    return [Row(name, lemma="E.3", round=1, bound=bound).number(value) for name, value in smaller.items()]

"""The bound of zhang2021 Remark 1: the part of an update that two broadcasts hide from all linear estimates."""

import logging
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Positive
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.sketch.family import Family
from sketchbench.theory.double_blind import unreachable_share

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RemarkOne(Checked):
    """Measures the part of an update Δ that no linear estimate Δ̂ = W_old S_old Z₁ - W_new S_new Z₂ recovers. The
    weights W (d_out, d) are normal, the update has a hundredth of their size, and sketches S are fresh in each trial.

    Row for each of `outputs`, d_out (column `length`), with the case `d_out <= 2s` or `d_out > 2s`:
        missed: mean of the least ‖Δ̂ - Δ‖²/‖Δ‖² over all Z₁ and Z₂, and the `count` of trials in which it is below
            `least`; the bound 1/2, for a probability, is for the count.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: AtLeastTwo
    outputs: NonEmptyList[Count]  # values of d_out, the number of outputs of a layer
    least: Positive  # the constant that replaces the paper's Ω(1)

    def run(self) -> list[Row]:
        rows = []
        for outputs in self.outputs:
            values = np.array([self._missed(outputs, trial) for trial in range(self.trials)])
            case = "d_out <= 2s" if outputs <= 2 * self.family.b else "d_out > 2s"
            row = Row("missed", case=case, length=outputs, bound=MEDIAN, count=int((values < self.least).sum()))
            rows.append(row.mean(values))
            log.info("%d outputs: %d trials, at least %.3g missed", outputs, self.trials, values.min())
        return rows

    def _missed(self, outputs: int, trial: int) -> float:
        random = seeds.generator(self.seed, task="remark 1", outputs=outputs, trial=trial)
        old, update = random.standard_normal((2, outputs, self.family.d))
        new = old - 0.01 * update
        key = seeds.key(self.seed, task="remark 1", family=repr(self.family), outputs=outputs, trial=trial)
        sketches = self.family.draw(key, operators=2, kernels=self.kernels)
        first, second = self.kernels.to_numpy(sketches.materialize())
        return unreachable_share(old @ first.T, new @ second.T, old - new)

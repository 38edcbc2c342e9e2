"""Error bound of a recovery for a signal that does not depend on the operator: tang2021 Equation (8)."""

import logging
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.sparsity import tail_norms
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.recovery import signals

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ForEach(Checked):
    """Measures how often the error of a recovery A, ‖A(Φx) - x‖, exceeds (1 + ς)‖x - x^[k]‖, over fresh operators Φ.

    Row `for_each`, by `case`: the number of trials in which it does; bound: 1/d, for the probability. The cases:
        fixed: one signal x with k large entries, independent of Φ.
        chosen: for each Φ a signal with large entries at coordinate 0 and at the k - 1 coordinates that share most of
            its measurements.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of operators
    k: Count  # large entries of the signal, and recovered entries
    excess: Positive  # ς

    def run(self) -> list[Row]:
        """Draw the operators, and recover both signals; return the two rows. Raises ValueError for k > d."""
        d, recovery = self.family.d, self.recovery(k=self.k)
        (fixed,) = signals.draw_sparse(d, self.k, 1, self.seed, noise=0.05)
        tail = 0.05 * seeds.generator(self.seed, data="tail", d=d).standard_normal(d)
        key = seeds.key(self.seed, task="for each", family=repr(self.family))
        exceeded = {"fixed": 0, "chosen": 0}
        for t in range(self.trials):
            sketch = self.family.draw(key, first=t, kernels=self.kernels)
            both = np.stack([fixed, tail + self._colliding(sketch)])
            estimates = self.kernels.to_numpy(recovery.recover(sketch, sketch.sketch(self.kernels.asarray(both))).x)
            allowed = (1 + self.excess) * tail_norms(both, self.k).two
            for case, exceeds in zip(exceeded, np.linalg.norm(estimates - both, axis=-1) > allowed, strict=True):
                exceeded[case] += int(exceeds)
        log.info("%d operators", self.trials)
        return [Row("for_each", case=case, bound=1 / d).counted(n, self.trials) for case, n in exceeded.items()]

    def _colliding(self, sketch: Sketch) -> signals.Signals:
        """A vector (d,) with 1 at coordinate 0, and ±1 at the k - 1 coordinates with the most similar measurements."""
        alone = np.zeros(sketch.d)
        alone[0] = 1
        alike = self.kernels.to_numpy(sketch.desketch(sketch.sketch(self.kernels.asarray(alone[None]))))[0]
        alike[0] = np.inf
        at = np.argsort(-abs(alike), kind="stable")[: self.k]
        x = np.zeros(sketch.d)
        x[at] = np.where(alike[at] < 0, -1.0, 1.0)
        return x

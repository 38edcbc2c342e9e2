"""The growth of a recovery's error with noise in the measurements and with the signal's tail."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList, Positive
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.sparsity import tail_constants
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.recovery import signals
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
SUPPORTS = 10  # number of random supports
WORST = "worst"


@dataclass(frozen=True)
class Stability(Checked):
    """Measures the error of recovering x + tail from y = Φ(x + tail) + w, for k-sparse x of norm 1.

    All signals go through one operator Φ. Either the tail or the noise w is zero; the other has the norm `amount`. Its
    direction is random, or worse (case `worst`): as noise the sketch of an error in the entries of x, and as tail k
    equal entries. tang2021 Lemma 2 gives no constants, so that the bound of an error is the bare amount.

    Rows for each amount and case:
        noise_error: mean of ‖x - x̂‖₂ with noise; bound: the amount.
        noise_ratio: mean of that error over ‖w‖₂; its maximum is the smallest C_n of Lemma 2 for these trials.
        tail_error, tail_ratio: the same with a tail, for the distance of x̂ from x + tail.
        tail_constant: mean of the smallest C with error <= (C + 1)‖z - z^[k]‖₂ + C/√k ‖z - z^[k]‖₁ for z = x + tail;
            its maximum is the smallest C_s of Lemma 2 for these trials.
    One row for the operator:
        isometry: mean and maximum of δ_S (see `task.isometry`) over `SUPPORTS` random supports S of 4k coordinates, a
            lower limit of the δ_4k that the lemma assumes to be small.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of signals for each amount
    k: Count  # nonzeros of a signal, and recovered entries
    amounts: NonEmptyList[Positive]  # norms of noise and tail

    def run(self) -> list[Row]:
        """Recover all signals; return ten rows for each amount, and one. Raises ValueError for k > d."""
        return list(self._rows())

    def _rows(self) -> Iterator[Row]:
        d, b = self.family.d, self.family.b
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "stability")
        recovery = self.recovery(k=self.k)
        x = signals.normalise(signals.draw_sparse(d, self.k, self.trials, self.seed))
        random = seeds.generator(self.seed, data="stability", d=d, b=b)
        noise = signals.normalise(random.standard_normal((self.trials, b)))
        tail = signals.normalise(random.standard_normal((self.trials, d)))
        mistaken = sketch.sketch(self.kernels.asarray((x != 0) * random.choice([-1.0, 1.0], x.shape)))
        equal = signals.normalise(
            (signals.draw_sparse(d, self.k, self.trials, self.seed, first=self.trials) != 0).astype(float)
        )
        still = np.zeros_like(noise)
        for amount in self.amounts:
            for name, case, whole, w in (
                ("noise", None, x, amount * noise),
                ("tail", None, x + amount * tail, still),
                ("noise", WORST, x, amount * signals.normalise(self.kernels.to_numpy(mistaken))),
                ("tail", WORST, x + amount * equal, still),
            ):
                y = sketch.sketch(self.kernels.asarray(whole)) + self.kernels.asarray(w)
                estimates = self.kernels.to_numpy(recovery.recover(sketch, y).x)
                errors = np.linalg.norm(whole - estimates, axis=-1)
                log.info("recovered %d signals with a %s of norm %g", self.trials, name, amount)
                yield Row(f"{name}_error", case=case, amount=amount, bound=amount).mean(errors)
                yield Row(f"{name}_ratio", case=case, amount=amount).mean(errors / amount)
                if name == "tail":
                    yield Row("tail_constant", case=case, amount=amount).mean(tail_constants(errors, whole, self.k))
        yield Row("isometry").mean(self._isometry(sketch))

    def _isometry(self, sketch: Sketch) -> NDArray[np.float64]:
        """δ_S of random supports of min(4k, d) coordinates, (SUPPORTS,)."""
        d, size = self.family.d, min(4 * self.k, self.family.d)
        random = seeds.generator(self.seed, data="supports", d=d, k=size)
        deviations = []
        for _ in range(SUPPORTS):
            vectors = np.zeros((size, d))
            vectors[np.arange(size), random.choice(d, size, replace=False)] = 1
            columns = self.kernels.to_numpy(sketch.sketch(self.kernels.asarray(vectors)))
            deviations.append(abs(np.linalg.eigvalsh(columns @ columns.T) - 1).max())
        return np.array(deviations)

"""How the error of a recovery grows with noise in the measurements and with the signal's tail."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.sparsity import tail_constants
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Several
from sketchbench.recovery.recovery import MakeRecovery
from sketchbench.sketch.family import Family
from sketchbench.task import signals, trials

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stability(Checked):
    """Measures the error of recovering x + tail from y = Φ(x + tail) + w, for k-sparse x of norm 1.

    All signals go through one operator Φ. Either the tail or the noise w is zero, and the other one has a random
    direction and the norm `amount`. The paper gives no constants, so that the bound of an error is the amount alone:
    the shape of what tang2021 Lemma 2 states.

    Rows for each amount:
        noise_error: mean ‖x - x̂‖₂ with noise; bound: the amount.
        noise_ratio: that error over ‖w‖₂. Its maximum is the smallest C_n of Lemma 2 that these trials allow.
        tail_error, tail_ratio: the same with a tail, for the distance of x̂ from x + tail.
        tail_constant: the smallest C with error <= (C + 1)‖z - z^[k]‖₂ + C/√k ‖z - z^[k]‖₁ for z = x + tail. Its
            maximum is the smallest C_s of Lemma 2 that these trials allow.

    Arguments:
        trials: number of signals for each amount.
        k: nonzeros of a signal, and entries that are recovered.
        amounts: norms of noise and tail.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: Several
    k: Count
    amounts: NonEmptyList[Positive]

    def run(self) -> list[Row]:
        """Measure; returns five rows for each amount. Raises ValueError for k > d."""
        return list(self._rows())

    def _rows(self) -> Iterator[Row]:
        """All rows, made while the recovery runs."""
        d, b = self.family.d, self.family.b
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "stability")
        recovery = self.recovery(k=self.k)
        x = _unit(signals.sparse(d, self.k, self.trials, self.seed))
        random = seeds.generator(self.seed, data="stability", d=d, b=b)
        noise = _unit(random.standard_normal((self.trials, b)))
        tail = _unit(random.standard_normal((self.trials, d)))
        for amount in self.amounts:
            for name, whole, w in (
                ("noise", x, amount * noise),
                ("tail", x + amount * tail, 0 * noise),
            ):
                y = sketch.sketch(self.kernels.asarray(whole)) + self.kernels.asarray(w)
                estimates = self.kernels.to_numpy(recovery.recover(sketch, y).x)
                errors = np.linalg.norm(whole - estimates, axis=-1)
                log.info("recovered %d signals with a %s of norm %g", self.trials, name, amount)
                yield Row(f"{name}_error", amount=amount, bound=amount).mean(errors)
                yield Row(f"{name}_ratio", amount=amount).mean(errors / amount)
                if name == "tail":
                    yield Row("tail_constant", amount=amount).mean(tail_constants(errors, whole, self.k))


def _unit(v: signals.Signals) -> signals.Signals:
    """The rows of v (N, d), scaled to norm 1."""
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))

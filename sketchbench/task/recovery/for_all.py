"""Error bounds of a recovery for all signals through one operator: tang2021 Lemma 3, and the form of Appendix D."""

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Probability
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row, exceeding
from sketchbench.measure.sparsity import sparsity, tail_norms
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import MakeRecovery, Recovery
from sketchbench.task.recovery import signals
from sketchbench.task.recovery.probes import constants, errors
from sketchbench.task.sketches import trials
from sketchbench.theory.compressed_sensing import sparsity_limit

log = logging.getLogger(__name__)

NOISE = (0.0, 0.1, 1.0)  # norms of the noise, relative to the signal


@dataclass(frozen=True)
class ForAll(Checked):
    """Measures the errors of recovering signals that are as hard as the bounds allow, through one operator Φ.

    Rows:
        lemma_3: the largest error over √(γ/2)‖x‖ + C_n‖w‖, and the number of signals for which it exceeds the bound 1.
            The signals (`case`) have as many `equal` entries as condition (7) allows at γ, which leaves the largest
            tail, or `geometric` magnitudes; the noise w is 0, or has a random direction. `lemma_3_twice`: the same for
            twice as many equal entries, a near miss.
        c_1: mean of the smallest C₁ with error <= C₁/√k ‖x - x^[m]‖₁, for k + 1 equal entries or a dense tail, the
            larger of both; m = k (case `printed`), or m = k/2 (case `corrected`): Appendix D for 2m nonzeros.
        tail_constant, noise_constant: C_s and C_n of Lemma 2, see `task.probes`.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of signals of each kind
    k: AtLeastTwo  # recovered entries, an even number below d
    gamma: Probability  # γ of condition (7)

    def run(self) -> list[Row]:
        """Recover all signals; return the rows. Raises ValueError for a k that is odd or not below d."""
        if self.k % 2 or self.k >= self.family.d:
            raise ValueError(f"k={self.k} must be even, and < d={self.family.d}")
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "for all")
        recovery = self.recovery(k=self.k)
        tail, noise = constants(sketch, recovery, self.trials, self.seed)
        log.info("%d trials: C_s %.3g, C_n %.3g", self.trials, tail, noise)
        return [
            *self._lemma_3(sketch, recovery, tail, noise),
            *self._appendix_d(sketch, recovery),
            Row("tail_constant", trials=self.trials, mean=tail),
            Row("noise_constant", trials=self.trials, mean=noise),
        ]

    def _lemma_3(self, sketch: Sketch, recovery: Recovery, tail: float, noise: float) -> Iterator[Row]:
        limit = sparsity_limit(self.k, sketch.d, tail, self.gamma)
        count = min(sketch.d, math.floor(limit * sketch.d))
        if count < 1:
            return  # no signal is sparse enough for the lemma at these constants
        decay = np.exp(-np.arange(sketch.d) / max(1.0, count / 2.1))
        equal, twice = (np.arange(sketch.d) < many for many in (count, 2 * count))
        kinds = (("lemma_3", "equal", equal), ("lemma_3", "geometric", decay), ("lemma_3_twice", "equal", twice))
        for quantity, case, magnitudes in kinds:
            x = self._signals(np.asarray(magnitudes, dtype=float))
            assert quantity == "lemma_3_twice" or not exceeding(sparsity(x), limit)  # the lemma requires it
            length = np.linalg.norm(x, axis=-1)
            ratios = []
            for size in NOISE:
                w = self._directions(sketch.b) * size * length[:, None]
                allowed = (self.gamma / 2) ** 0.5 * length + noise * np.linalg.norm(w, axis=-1)
                ratios.append(errors(sketch, recovery, x, w) / allowed)
            yield Row(quantity, case=case).exceedances(np.concatenate(ratios), 1.0)

    def _appendix_d(self, sketch: Sketch, recovery: Recovery) -> Iterator[Row]:
        equal = self._signals((np.arange(sketch.d) <= self.k).astype(float))
        dense = signals.draw_sparse(sketch.d, self.k, self.trials, self.seed, noise=0.05)
        for case, kept in (("printed", self.k), ("corrected", self.k // 2)):
            needed = [errors(sketch, recovery, x, 0.0) * self.k**0.5 / tail_norms(x, kept).one for x in (equal, dense)]
            yield Row("c_1", case=case).mean(np.maximum(*needed))

    def _signals(self, magnitudes: signals.Signals) -> signals.Signals:
        """Signals with these magnitudes (d,) at random places, with random signs, (trials, d)."""
        random = seeds.generator(self.seed, data="for all", d=self.family.d, k=self.k)
        placed = random.permuted(np.tile(magnitudes, (self.trials, 1)), axis=1)
        return np.asarray(placed * random.choice([-1.0, 1.0], placed.shape))

    def _directions(self, b: int) -> signals.Signals:
        random = seeds.generator(self.seed, data="directions", b=b)
        return signals.normalise(random.standard_normal((self.trials, b)))

"""Test of the identity that the server's memory is a sketch of e(t) (tang2021 Lemma 1, and the proof of Theorem 1)."""

import logging
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonNegative
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, track
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.objective import MakeObjective
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.recovery.recovery import MakeRecovery
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
Deviations = NDArray[np.float64]  # (trials,)
EXACT = 1e-9  # relative deviation far above rounding in all rounds, and far below any other error


@dataclass(frozen=True)
class FeedbackIdentity(Checked):
    """Runs of SGD with compressed sensing over a noisy channel, with the vectors p and e by the lemma's recursion.

    Rows with the largest deviation of all rounds, relative to ‖z(t)‖₂, and the number of trials in which it exceeds the
    bound 1e-9 for rounding:

    `memory`: of the memory ε from Φe.
    `target`: of z from Φp + ηw.
    `virtual`: of the step of Φx̃ = Φx - ε from -ηΦg, as in the proof of Theorem 1 (case `printed`), or from -ηΦ(g +
    (Q/d)Φᵀw) (case `corrected`).
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: AtLeastTwo
    rounds: Count
    k: Count  # entries of a step
    channel_noise: NonNegative  # standard deviation of the noise w in every entry that the server receives

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "feedback")
        algorithm = CompressedSensingSGD(self.recovery(k=self.k), self.rounds**-0.5, self.channel_noise)
        states = algorithm.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)
        worst: dict[tuple[str, str | None], Deviations] = defaultdict(lambda: np.zeros(self.trials))
        before: Array = 0.0
        for at, vectors in track(states, algorithm, sketch):
            virtual = sketch.sketch(at.w) - at.error
            if at.sent is not None and vectors is not None:
                sent, step = at.sent, algorithm.rate * sketch.sketch(at.sent.gradient)
                returned = sketch.sketch(sketch.desketch(sent.noise)) * sketch.b / sketch.d
                for about, difference in (
                    (("memory", None), at.error - sketch.sketch(vectors.e)),
                    (("target", None), sent.z - sketch.sketch(vectors.p) - algorithm.rate * sent.noise),
                    (("virtual", "printed"), virtual - before + step),
                    (("virtual", "corrected"), virtual - before + step + algorithm.rate * returned),
                ):
                    worst[about] = np.maximum(worst[about], self._norm(difference) / self._norm(sent.z))
            before = virtual
        log.info("%d trials, %d rounds", self.trials, self.rounds)
        return [Row(name, case=case).exceedances(values, EXACT) for (name, case), values in worst.items()]

    def _norm(self, v: Array) -> Deviations:
        return np.asarray(np.linalg.norm(self.kernels.to_numpy(v), axis=-1))

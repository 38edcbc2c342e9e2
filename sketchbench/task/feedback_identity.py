"""Whether the server's memory is a sketch of what it did not recover (tang2021 Lemma 1)."""

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench.federated.compressed_sensing import CompressedSensingSGD, tracked
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.objective import MakeObjective
from sketchbench.parameters import Checked, Count, NonNegative, Several
from sketchbench.recovery.recovery import MakeRecovery
from sketchbench.sketch.family import Family
from sketchbench.task import trials

log = logging.getLogger(__name__)
EXACT = 1e-9  # relative: far above what rounds of rounding add up to, far below any other error


@dataclass(frozen=True)
class FeedbackIdentity(Checked):
    """Runs of SGD with compressed sensing over a noisy channel. Rows: the largest deviation over all rounds,
    relative to ‖z(t)‖₂, of ε from Φe (`memory`) and of z from Φp + ηw (`target`), with p and e by the
    recursion of the lemma; how many of the trials deviate beyond rounding.

    Arguments:
        k: entries of a step.
        channel_noise: standard deviation of every entry that the server receives.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: Several
    rounds: Count
    k: Count
    channel_noise: NonNegative

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "feedback")
        algorithm = CompressedSensingSGD(self.recovery(k=self.k), self.rounds**-0.5, self.channel_noise)
        states = algorithm.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)
        worst = {"memory": np.zeros(self.trials), "target": np.zeros(self.trials)}
        for at, vectors in tracked(states, algorithm, sketch):
            if at.sent is None or vectors is None:
                continue
            target = sketch.sketch(vectors.p) + algorithm.rate * at.sent.noise
            length = self._norm(at.sent.z)
            for name, difference in (
                ("memory", at.error - sketch.sketch(vectors.e)),
                ("target", at.sent.z - target),
            ):
                worst[name] = np.maximum(worst[name], self._norm(difference) / length)
        log.info("%d trials, %d rounds", self.trials, self.rounds)
        return [Row(name).exceedances(deviations, EXACT) for name, deviations in worst.items()]

    def _norm(self, v: Array) -> NDArray[np.float64]:
        """‖v‖₂ along the last axis."""
        return np.asarray(np.linalg.norm(self.kernels.to_numpy(v), axis=-1))

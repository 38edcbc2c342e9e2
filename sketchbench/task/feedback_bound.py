"""SGD with compressed sensing against tang2021 Theorem 1, where its condition can hold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, tracked
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.sparsity import sparsity, tail_constants
from sketchbench.measure.summary import summarize
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.recovery.recovery import MakeRecovery, Recovery
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.task import signals, trials
from sketchbench.theory.compressed_sensing import Setting, sparsity_limit

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class FeedbackBound:
    """`trials` runs of `rounds` rounds with the step 1/(L√T), all with one operator. Rows:

    `squared_gradient`: the mean over rounds of ‖∇f(x(t))‖², and `average_excess`: f(x̄) - f*, against Theorem 1;
    `condition`: in how many runs (7) does not hold in every round, and the largest sp(p(t));
    `tail_constant`, `noise_constant`: C_s and C_n of Lemma 2, the largest that `probes` signals through
    the same operator need, none of them from a run: lower limits of what any signal needs. The noise of a probe
    is spread over all measurements, or looks like that of k wrong coordinates, which is worse.
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: int
    rounds: int
    k: int
    channel_noise: float
    gamma: float
    probes: int

    def run(self) -> list[dict[str, Any]]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        if objective.mean_convexity < 0:
            raise ValueError(
                "Theorem 1 bounds f(x̄) - f* for convex f; choose a convex objective, such as sparse_gradients"
            )
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "feedback bound")
        recovery = self.recovery(k=self.k)
        tail, noise = self._tail_constant(sketch, recovery), self._noise_constant(sketch, recovery)
        d, b = self.family.d, self.family.b
        setting = Setting(
            objective.mean_smoothness,
            objective.gap,
            objective.squared_distance,
            objective.noise_energy,
            self.channel_noise**2 * b,
            b / d,
            tail,
            noise,
            self.gamma,
            self.rounds,
        )
        limit = sparsity_limit(self.k, d, tail, self.gamma)
        squared, excess, densest = self._measured(objective, sketch, recovery, setting.rate)
        shared = {"round": self.rounds}
        bound = {"bound": setting.squared_gradient}
        return [
            {"quantity": "squared_gradient", **shared, **bound, **summarize(squared)},
            {
                "quantity": "average_excess",
                **shared,
                "bound": setting.average_excess,
                **summarize(excess),
            },
            {"quantity": "condition", **shared, **trials.exceedances(densest, limit)},
            {"quantity": "tail_constant", "mean": tail, "trials": self.probes},
            {"quantity": "noise_constant", "mean": noise, "trials": self.probes},
        ]

    def _measured(
        self, objective: Objective, sketch: Sketch, recovery: Recovery, rate: float
    ) -> tuple[Vectors, Vectors, Vectors]:
        """Of every trial: the mean squared gradient, f(x̄) - f*, and the largest sp(p(t))."""
        algorithm = CompressedSensingSGD(recovery, rate, self.channel_noise)
        steps = algorithm.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)
        squared: Array = 0.0
        total: Array = 0.0
        densest = np.zeros(self.trials)
        for at, vectors in tracked(steps, algorithm, sketch):
            if vectors is not None:
                densest = np.maximum(densest, sparsity(self.kernels.to_numpy(vectors.p)))
            if at.t < self.rounds:
                squared = squared + (objective.gradient(at.w) ** 2).sum(axis=-1) / self.rounds
                total = total + at.w / self.rounds
        excess = objective.loss(total) - objective.minimum
        return self.kernels.to_numpy(squared), self.kernels.to_numpy(excess), densest

    def _errors(self, sketch: Sketch, recovery: Recovery, x: Vectors, w: Vectors) -> Vectors:
        """‖A(Φx + w) - x‖₂."""
        y = sketch.sketch(self.kernels.asarray(x)) + self.kernels.asarray(w)
        found = self.kernels.to_numpy(recovery.recover(sketch, y).x)
        return np.asarray(np.linalg.norm(found - x, axis=-1))

    def _tail_constant(self, sketch: Sketch, recovery: Recovery) -> float:
        """The smallest C_s >= 0 of Lemma 2 for signals with a dense tail, of several sizes."""
        d, largest = self.family.d, 0.0
        for size in (0.01, 0.1, 1.0):
            x = signals.sparse(d, self.k, self.probes, self.seed, noise=size)
            errors = self._errors(sketch, recovery, x, np.zeros((self.probes, self.family.b)))
            largest = max(largest, float(tail_constants(errors, x, self.k).max()))
        return largest

    def _noise_constant(self, sketch: Sketch, recovery: Recovery) -> float:
        """The smallest C_n of Lemma 2 for exactly sparse signals and noise of both kinds."""
        d, largest = self.family.d, 0.0
        x = signals.sparse(d, self.k, self.probes, self.seed, noise=0.0)
        random = seeds.generator(self.seed, data="feedback bound", d=d, b=self.family.b)
        wrong = signals.sparse(d, self.k, self.probes, self.seed, first=self.probes, noise=0.0)
        spread = random.standard_normal((self.probes, self.family.b))
        looking = self.kernels.to_numpy(sketch.sketch(self.kernels.asarray(wrong)))
        for noise in (spread, looking):
            for size in (0.01, 0.1, 1.0):
                w = size * noise * np.linalg.norm(x, axis=-1, keepdims=True)
                w /= np.linalg.norm(noise, axis=-1, keepdims=True)
                errors = self._errors(sketch, recovery, x, w)
                largest = max(largest, float((errors / np.linalg.norm(w, axis=-1)).max()))
        return largest

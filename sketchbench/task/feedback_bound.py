"""SGD with compressed sensing against tang2021 Theorem 1, where its condition can hold."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, tracked
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.row import Row
from sketchbench.measure.sparsity import sparsity, tail_constants
from sketchbench.objective.objective import MakeObjective, Objective
from sketchbench.parameters import Checked, Count, NonNegative, Probability, Several
from sketchbench.recovery.recovery import MakeRecovery, Recovery
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.task import signals, trials
from sketchbench.theory.compressed_sensing import Setting, sparsity_limit

log = logging.getLogger(__name__)
SIZES = (0.01, 0.1, 1.0)  # norms of the tails and noise of probes, relative to the signal

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class FeedbackBound(Checked):
    """`trials` runs of `rounds` rounds with the step 1/(L√T), all with one operator. Rows:

    `squared_gradient`: the mean over rounds of ‖∇f(x(t))‖², and `average_excess`: f(x̄) - f*, against Theorem 1;
    `condition`: in how many runs (7) does not hold in every round, and the largest sp(p(t));
    `tail_constant`, `noise_constant`: C_s and C_n of Lemma 2, the largest that `probes` signals through
    the same operator need, none of them from a run: lower limits of what any signal needs. The noise of a probe
    is spread over all measurements, or looks like that of k wrong coordinates, which is worse.

    Arguments:
        k: entries of a step.
        channel_noise: standard deviation of every entry that the server receives.
        gamma: γ of the condition.
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
    gamma: Probability
    probes: Count

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        if objective.mean_convexity < 0:
            raise ValueError(
                "Theorem 1 bounds f(x̄) - f* for convex f; choose a convex objective, such as sparse_gradients"
            )
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "feedback bound")
        recovery = self.recovery(k=self.k)
        tail, noise = self._tail_constant(sketch, recovery), self._noise_constant(sketch, recovery)
        log.info("%d probes: C_s %.3g, C_n %.3g", self.probes, tail, noise)
        d, b = self.family.d, self.family.b
        setting = Setting(
            smoothness=objective.mean_smoothness,
            gap=objective.gap,
            squared_distance=objective.squared_distance,
            noise_energy=objective.noise_energy,
            channel_energy=self.channel_noise**2 * b,
            share=b / d,
            tail=tail,
            noise=noise,
            gamma=self.gamma,
            rounds=self.rounds,
        )
        limit = sparsity_limit(self.k, d, tail, self.gamma)
        squared, excess, densest = self._measured(objective, sketch, recovery, setting.rate)
        log.info("%d trials, %d rounds", self.trials, self.rounds)
        return [
            Row("squared_gradient", round=self.rounds, bound=float(setting.squared_gradient)).mean(squared),
            Row("average_excess", round=self.rounds, bound=float(setting.average_excess)).mean(excess),
            Row("condition", round=self.rounds).exceedances(densest, limit),
            Row("tail_constant", mean=tail, trials=self.probes),
            Row("noise_constant", mean=noise, trials=self.probes),
        ]

    def _measured(
        self, objective: Objective, sketch: Sketch, recovery: Recovery, rate: float
    ) -> tuple[Vectors, Vectors, Vectors]:
        """Of every trial: the mean squared gradient, f(x̄) - f*, and the largest sp(p(t))."""
        algorithm = CompressedSensingSGD(recovery, rate, self.channel_noise)
        states = algorithm.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)
        squared: Array = 0.0
        total: Array = 0.0
        densest = np.zeros(self.trials)
        for at, vectors in tracked(states, algorithm, sketch):
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
        recovered = self.kernels.to_numpy(recovery.recover(sketch, y).x)
        return np.asarray(np.linalg.norm(recovered - x, axis=-1))

    def _tail_constant(self, sketch: Sketch, recovery: Recovery) -> float:
        """The smallest C_s >= 0 of Lemma 2 for signals with a dense tail, of several sizes."""
        largest, silence = 0.0, np.zeros((self.probes, self.family.b))
        for size in SIZES:
            x = signals.sparse(self.family.d, self.k, self.probes, self.seed, noise=size)
            errors = self._errors(sketch, recovery, x, silence)
            largest = max(largest, float(tail_constants(errors, x, self.k).max()))
        return largest

    def _noise_constant(self, sketch: Sketch, recovery: Recovery) -> float:
        """The smallest C_n of Lemma 2 for exactly sparse signals and noise of both kinds."""
        largest = 0.0
        x = signals.sparse(self.family.d, self.k, self.probes, self.seed, noise=0.0)
        for noise in self._noises(sketch):
            for size in SIZES:
                w = size * noise * np.linalg.norm(x, axis=-1, keepdims=True)
                w /= np.linalg.norm(noise, axis=-1, keepdims=True)
                errors = self._errors(sketch, recovery, x, w)
                largest = max(largest, float((errors / np.linalg.norm(w, axis=-1)).max()))
        return largest

    def _noises(self, sketch: Sketch) -> Iterator[Vectors]:
        """The noise of the probes, spread over all measurements, and looking like k wrong coordinates: (probes, b)."""
        d, b = self.family.d, self.family.b
        yield seeds.generator(self.seed, data="feedback bound", d=d, b=b).standard_normal((self.probes, b))
        wrong = signals.sparse(d, self.k, self.probes, self.seed, first=self.probes, noise=0.0)
        yield self.kernels.to_numpy(sketch.sketch(self.kernels.asarray(wrong)))

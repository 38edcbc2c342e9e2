"""SGD with compressed sensing beside the bounds of tang2021 Theorem 1 and Lemma 4, in a setting that they cover."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonNegative, Probability
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, track
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.objective.objective import MakeObjective, Objective
from sketchbench.measure.row import Row
from sketchbench.measure.sparsity import sparsity
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import MakeRecovery, Recovery
from sketchbench.task.recovery.probes import constants
from sketchbench.task.sketches import trials
from sketchbench.theory.compressed_sensing import SensingSetting, sparsity_limit

log = logging.getLogger(__name__)

Vectors = NDArray[np.float64]


class Seen(NamedTuple):
    """Measurements of each trial, each (trials,)."""

    squared_gradient: Vectors  # the mean of ‖∇f(x(t))‖² over the rounds
    excess: Vectors  # f(x̄) - f* at the mean x̄ of the weights
    memory: Vectors  # the mean of ‖e(t)‖² over the rounds
    densest: Vectors  # the largest sp(p(t)) of all rounds


@dataclass(frozen=True)
class FeedbackBound(Checked):
    """`trials` runs of T = `rounds` rounds with the step size 1/(L√T), all with one operator. Rows:

    `squared_gradient`, by `case`: mean of ‖∇f(x(t))‖² over rounds and trials; bound: Theorem 1, `printed` or
    `corrected`.
    `average_excess`, by `case`: mean of f(x̄) - f* at the mean x̄ of the weights; bound: from the same theorem.
    `memory_energy`: mean of ‖e(t)‖² over the rounds, minus the multiple of ‖∇f(x(t))‖² that Lemma 4 allows; bound: the
    rest of the lemma's bound.
    `condition`: the number of runs in which sp(p(t)) exceeds the limit of condition (7) in some round, and the largest
    sp(p(t)).
    `tail_constant`, `noise_constant`: C_s and C_n of Lemma 2, from `probes` signals of each kind that no run contains
    (see `task.probes`).
    """

    family: Family
    recovery: MakeRecovery
    kernels: Kernels
    seed: int
    objective: MakeObjective
    trials: AtLeastTwo
    rounds: Count
    k: Count  # entries of a step
    channel_noise: NonNegative  # standard deviation of the noise in every entry that the server receives
    gamma: Probability  # γ of condition (7)
    probes: Count  # number of signals of each kind, for the constants

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        if objective.mean_convexity < 0:
            raise ValueError(
                "Theorem 1 bounds f(x̄) - f* for convex f; choose a convex objective, such as sparse_gradients"
            )
        sketch = trials.fixed_operator(self.family, self.kernels, self.seed, "feedback bound")
        recovery = self.recovery(k=self.k)
        tail, noise = constants(sketch, recovery, self.probes, self.seed)
        log.info("C_s %.3g, C_n %.3g", tail, noise)
        d, b = self.family.d, self.family.b
        setting = SensingSetting(
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
        seen = self._measure(objective, sketch, recovery, setting.rate)
        log.info("%d trials, %d rounds", self.trials, self.rounds)
        return [
            *self._theorem_1("printed", setting, seen),
            *self._theorem_1("corrected", setting.with_channel_noise, seen),
            Row("memory_energy", round=self.rounds, bound=setting.memory_energy).mean(
                seen.memory - setting.memory_slope * seen.squared_gradient
            ),
            Row("condition", round=self.rounds).exceedances(seen.densest, sparsity_limit(self.k, d, tail, self.gamma)),
            Row("tail_constant", mean=tail, trials=self.probes),
            Row("noise_constant", mean=noise, trials=self.probes),
        ]

    def _theorem_1(self, case: str, setting: SensingSetting, seen: Seen) -> Iterator[Row]:
        row = partial(Row, round=self.rounds, case=case)
        yield row("squared_gradient", bound=setting.squared_gradient).mean(seen.squared_gradient)
        yield row("average_excess", bound=setting.average_excess).mean(seen.excess)

    def _measure(self, objective: Objective, sketch: Sketch, recovery: Recovery, rate: float) -> Seen:
        algorithm = CompressedSensingSGD(recovery, rate, self.channel_noise)
        states = algorithm.run(objective, sketch, self.seed, trials=self.trials, rounds=self.rounds)
        squared: Array = 0.0
        total: Array = 0.0
        memory: Array = 0.0
        densest = np.zeros(self.trials)
        for at, vectors in track(states, algorithm, sketch):
            if vectors is not None:
                densest = np.maximum(densest, sparsity(self.kernels.to_numpy(vectors.p)))
            if at.t < self.rounds:
                squared = squared + (objective.gradient(at.w) ** 2).sum(axis=-1) / self.rounds
                total = total + at.w / self.rounds
                memory = memory if vectors is None else memory + (vectors.e**2).sum(axis=-1) / self.rounds
        excess = objective.loss(total) - objective.minimum
        squared, excess, memory = (self.kernels.to_numpy(values) for values in (squared, excess, memory))
        return Seen(squared, excess, memory, densest)

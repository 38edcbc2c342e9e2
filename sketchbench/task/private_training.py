"""What privacy costs: the loss and accuracy of private training over ε."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.summary import summarize
from sketchbench.objective.logistic import Logistic
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_sensitivity
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.sketch.family import Family
from sketchbench.task.convergence import problem_of
from sketchbench.theory.convergence import THEOREMS, noise_floor, noisy_strongly_convex
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
Row = dict[str, Any]
NONE = "none"  # the case without noise
# Our reading of noise that hardly affects convergence: a tenth of the progress is lost.
HARDLY = 0.1


@dataclass(frozen=True)
class PrivateTraining:
    """Private iterative sketching with one local step and the largest step size of Theorem E.1, with σ
    calibrated to each of `epsilons` at δ, and without noise (case none): `trials` runs of each, with the
    same batches and sketches. After the last round, rows

    `excess`: f(w) - f*, against Theorem E.1 with the variance of noise and batches;
    `cost`: what noise adds to the loss of the same run without, against what that bound adds for it;
    `lost`: that cost over what the run without noise gained on the start, against HARDLY;
    `accuracy`: on the samples held out.

    clip: ℓ, to which records' gradients are clipped, and then no bounds are known; null takes the bound that they
    have anyway, and clips none. The sensitivity is that of the sampling's own neighbours.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: Callable[..., Logistic]
    sampling: Kind
    accountant: str
    batch: int
    epsilons: list[float]
    delta: float
    clip: float | None
    rounds: int
    trials: int

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        problem = problem_of(objective, THEOREMS["E.1"], self.family, self.known, 1)
        bound = objective.record_bound if self.clip is None else self.clip
        sampling = Sampling(self.sampling, self.batch, objective.records.shape[1])
        eta = THEOREMS["E.1"].rate(problem)
        training = PrivateSketching(IterativeSketching(self.family, eta), sampling, 1.0, bound)
        mechanism = training.mechanism(objective, self.rounds, sampling.neighbours)

        # E‖noise‖² of the mean of all clients: of batches here, of a σ below.
        spared = 0.0 if sampling.kind.endswith("_replacement") else sampling.rate
        batches = (1 - spared) * bound**2 / self.batch / objective.clients
        t = np.array(self.rounds)
        free: Array = None
        rows: list[Row] = []
        for epsilon in (None, *self.epsilons):
            sigma = 0.0
            if epsilon is not None:
                sigma = calibrated_sigma(self.accountant, mechanism, epsilon, self.delta)
            end = self._trained(objective, training, sigma)
            excess = self.kernels.to_numpy(objective.loss(end.w)) - objective.minimum
            free = excess if epsilon is None else free
            noise = objective.d * sigma**2 / objective.clients
            limits: dict[str, Any] = {"lost": HARDLY}
            if self.clip is None:
                limits["excess"] = noisy_strongly_convex(problem, eta, t, noise + batches)
                limits["cost"] = noise_floor(problem, eta, t, noise)
            measured = {
                "excess": excess,
                "cost": excess - free,
                "lost": (excess - free) / (objective.gap - free),
                "accuracy": self.kernels.to_numpy(objective.accuracy(end.w)),
            }
            shared = {
                "case": NONE if epsilon is None else f"{epsilon:g}",
                "epsilon": epsilon,
                "delta": self.delta,
                "sigma": sigma,
                "sensitivity": mean_sensitivity(bound, self.batch, sampling.neighbours),
                "neighbours": sampling.neighbours,
                "accountant": self.accountant,
                "round": self.rounds,
                "bytes_up": end.bytes_up,
            }
            for quantity, values in measured.items():
                if epsilon is None and quantity in ("cost", "lost"):
                    continue
                limit = limits.get(quantity)
                row = {"quantity": quantity, **shared, "bound": limit and float(limit)}
                rows.append({**row, **summarize(values)})
            log.info("epsilon %s: sigma %.3g, excess %.3g", epsilon, sigma, excess.mean())
        return rows

    def _trained(self, objective: Logistic, training: PrivateSketching, sigma: float) -> Round:
        """The last round with this σ."""
        noisy = replace(training, sigma=sigma)
        key = seeds.key(self.seed, task="private training", family=repr(self.family))
        *_, end = noisy.run(objective, self.seed, key, trials=self.trials, rounds=self.rounds)
        return end

"""What privacy costs: the loss and accuracy of private training over ε."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.federated.theorems import assumptions
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row
from sketchbench.objective.logistic import Logistic
from sketchbench.parameters import Checked, Count, Positive, Probability, Several
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_sensitivity
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.family import Family
from sketchbench.theory.convergence import THEOREMS, Assumptions, noise_floor, noisy_strongly_convex
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
NONE = "none"  # the case without noise
HARDLY = 0.1  # our reading of noise that hardly affects convergence: a tenth of the progress is lost

Numbers = NDArray[np.float64]  # (trials,)


@dataclass(frozen=True)
class PrivateTraining(Checked):
    """Private iterative sketching with one local step and the largest step size of Theorem E.1, with σ
    calibrated to each of `epsilons` at δ, and without noise (case none): `trials` runs of each, with the
    same batches and sketches. After the last round, rows

    `excess`: f(w) - f*, against Theorem E.1 with the variance of noise and batches;
    `cost`: what noise adds to the loss of the same run without noise, against what that bound adds for it;
    `lost`: that cost over what the run without noise gained on the start, against HARDLY;
    `accuracy`: on the samples that are held out.

    The sensitivity is that of the neighbours for which the sampling amplifies privacy.

    Arguments:
        sampling: of batches; wants the records of a client.
        accountant: one that knows this sampling.
        delta: δ.
        clip: ℓ, to which records' gradients are clipped, and then no bounds are known; None takes the bound that they
            have anyway, and clips none.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: Callable[..., Logistic]
    sampling: Callable[..., Sampling]
    accountant: str
    epsilons: list[Positive]
    delta: Probability
    clip: Positive | None
    rounds: Count
    trials: Several

    def run(self) -> list[Row]:
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        p = assumptions(objective, THEOREMS["E.1"], self.family, self.known)
        bound = objective.record_bound if self.clip is None else self.clip
        sampling = self.sampling(records=objective.records.shape[1])
        algorithm = IterativeSketching(self.family, THEOREMS["E.1"].rate(p))
        training = PrivateSketching(algorithm, sampling, 1.0, bound)
        mechanism = training.mechanism(objective, self.rounds, sampling.neighbours)
        noiseless = self._last(objective, replace(training, sigma=0.0))
        baseline = self._excess(objective, noiseless)
        rows = list(self._rows(objective, p, replace(training, sigma=0.0), noiseless, None, baseline))
        for epsilon in self.epsilons:
            sigma = calibrated_sigma(self.accountant, mechanism, epsilon, self.delta)
            private = replace(training, sigma=sigma)
            rows += self._rows(objective, p, private, self._last(objective, private), epsilon, baseline)
        return rows

    def _last(self, objective: Logistic, training: PrivateSketching) -> Round:
        """The last round of a training."""
        key = seeds.key(self.seed, task="private training", family=repr(self.family))
        *_, last = training.run(objective, self.seed, key, trials=self.trials, rounds=self.rounds)
        return last

    def _excess(self, objective: Logistic, at: Round) -> Numbers:
        return self.kernels.to_numpy(objective.loss(at.w)) - objective.minimum

    def _rows(
        self,
        objective: Logistic,
        p: Assumptions,
        training: PrivateSketching,
        last: Round,
        epsilon: float | None,
        baseline: Numbers,
    ) -> Iterator[Row]:
        """The rows of one ε, or of none; `baseline` is the excess without noise."""
        excess, sampling = self._excess(objective, last), training.sampling
        measured = {"excess": excess}
        if epsilon is not None:
            cost = excess - baseline
            measured |= {"cost": cost, "lost": cost / (objective.gap - baseline)}
        measured["accuracy"] = self.kernels.to_numpy(objective.accuracy(last.w))
        bounds = self._bounds(objective, p, training)
        for quantity, values in measured.items():
            row = Row(
                quantity,
                case=NONE if epsilon is None else f"{epsilon:g}",
                epsilon=epsilon,
                delta=self.delta,
                sigma=float(training.sigma),
                sensitivity=float(mean_sensitivity(training.bound, sampling.batch, sampling.neighbours)),
                neighbours=sampling.neighbours,
                accountant=self.accountant,
                round=self.rounds,
                bytes_up=last.bytes_up,
                bound=bounds.get(quantity),
            )
            yield row.mean(values)
        log.info("epsilon %s: sigma %.3g, excess %.3g", epsilon, training.sigma, excess.mean())

    def _bounds(self, objective: Logistic, p: Assumptions, training: PrivateSketching) -> dict[str, float]:
        """By quantity, where there is one; the variance of gradients is that of the mean of all clients."""
        if self.clip is not None:
            return {"lost": HARDLY}
        noise = objective.d * training.sigma**2 / objective.clients
        sampling, eta, t = training.sampling, training.algorithm.local_rate, np.array(self.rounds)
        spared = 0.0 if sampling.kind.endswith("_replacement") else sampling.rate
        batches = (1 - spared) * training.bound**2 / sampling.batch / objective.clients
        return {
            "lost": HARDLY,
            "excess": float(noisy_strongly_convex(p, eta, t, noise + batches)),
            "cost": float(noise_floor(p, eta, t, noise)),
        }

"""The cost of privacy: loss and accuracy of private training at several ε."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.parameters import (
    AtLeastTwo,
    Checked,
    Count,
    NonEmptyList,
    NonNegative,
    Positive,
    Probability,
    Share,
)
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.federated.theorems import Alpha, assumptions
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.logistic import Logistic
from sketchbench.measure.row import Row
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_sensitivity
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.family import Family
from sketchbench.theory.convergence import THEOREMS, Assumptions, noise_floor, noisy_strongly_convex
from sketchbench.theory.known import Known

log = logging.getLogger(__name__)
NONE = "none"  # the case without noise
LOOKED_AT = 10  # rounds from one test of the progress to the next, as computing a loss takes longer than a round
HARDLY = 0.1  # our reading of "noise hardly affects convergence": it costs at most a tenth of the progress

Numbers = NDArray[np.float64]  # (trials,)


@dataclass(frozen=True)
class Privacy(Checked):
    """The privacy of trainings, and their noise."""

    accountant: str  # the name of an accountant for the sampling
    epsilons: list[Positive]  # values of ε to which σ is calibrated
    delta: Probability  # δ
    noises: NonEmptyList[NonNegative]  # factors of σ that trainings use; 1 is the accounted noise


@dataclass(frozen=True)
class PrivateTraining(Checked):
    """Private iterative sketching with one local step and the largest step size of Theorem E.1.

    It has `trials` runs with σ calibrated to each ε at δ, and `trials` runs without noise, with the same batches and
    sketches. All runs have as many rounds as the runs without noise need to close the share `progress` of the gap f(w⁰)
    - f*. The sensitivity is that of the neighbours for which the sampling amplifies privacy. Rows after the last round,
    by ε (`case`, or `none` without noise) and factor of the noise, with the bounds of the accounted noise:

    `excess`: mean of f(w) - f*; bound: Theorem E.1, with the variance of noise and batches.
    `cost`: mean of the loss minus that of the same run without noise; bound: the part of that bound due to the noise.
    `lost`: mean of that cost over the progress of the run without noise; bound: 1/10.
    `accuracy`: mean accuracy on held-out samples.
    `start`: f(w⁰) - f*; bound: that of `excess`. A negative control: a run that does not move must not meet the bound.

    `clip`: ℓ, the norm to which records' gradients are clipped; no bounds are then known. None uses the objective's own
    bound, and clips nothing.
    """

    family: Family
    known: Known
    kernels: Kernels
    seed: int
    objective: Callable[..., Logistic]
    sampling: Callable[..., Sampling]  # makes the sampling of batches, from the number of a client's records
    alpha: Alpha  # the sketch's variance parameter for step and bounds: `claimed` by its config, or `exact`
    privacy: Privacy  # ε, δ and the noise
    clip: Positive | None
    rounds: Count  # the most rounds
    progress: Share | None  # the share of the gap that runs without noise must close; None trains for all rounds
    trials: AtLeastTwo  # runs of each kind

    def run(self) -> list[Row]:
        """Train; return the rows of the case `none`, then of each ε and factor of the noise in turn. Raises
        ArithmeticError if `rounds` are too few for the progress."""
        objective = self.objective(kernels=self.kernels, seed=self.seed)
        p = assumptions(objective, THEOREMS["E.1"], self.family, self.known, alpha=self.alpha)
        bound = objective.record_bound if self.clip is None else self.clip
        sampling = self.sampling(records=objective.records.shape[1])
        algorithm = IterativeSketching(self.family, THEOREMS["E.1"].rate(p))
        training = PrivateSketching(algorithm, sampling, 1.0, bound)
        noiseless = self._noiseless(objective, replace(training, sigma=0.0))
        mechanism = training.mechanism(objective, noiseless.t, sampling.neighbours)
        baseline = self._excess(objective, noiseless)
        rows = list(self._rows(objective, p, replace(training, sigma=0.0), noiseless, NONE, baseline))
        for epsilon in self.privacy.epsilons:
            sigma = calibrated_sigma(self.privacy.accountant, mechanism, epsilon, self.privacy.delta)
            private = replace(training, sigma=sigma)
            for noise in self.privacy.noises:
                *_, last = self._rounds(objective, replace(private, sigma=noise * sigma), noiseless.t)
                of_noise = self._rows(objective, p, private, last, f"{epsilon:g}", baseline)
                rows += [row.replace(epsilon=epsilon, noise=float(noise)) for row in of_noise]
        return rows

    def _noiseless(self, objective: Logistic, training: PrivateSketching) -> Round:
        """The first round, among every LOOKED_AT-th, after which the runs without noise have made their progress."""
        for at in self._rounds(objective, training, self.rounds):
            if self.progress is None or at.t % LOOKED_AT:
                continue
            if self._excess(objective, at).mean() <= (1 - self.progress) * objective.gap:
                return at
        if self.progress is not None:
            raise ArithmeticError(
                f"rounds={self.rounds} are too few: without noise {self._excess(objective, at).mean():.3g} of the gap "
                f"{objective.gap:.3g} are left; train longer, or for less progress than {self.progress}"
            )
        return at

    def _rounds(self, objective: Logistic, training: PrivateSketching, rounds: int) -> Iterator[Round]:
        key = seeds.key(self.seed, task="private training", family=repr(self.family))
        return training.run(objective, self.seed, key, trials=self.trials, rounds=rounds)

    def _excess(self, objective: Logistic, at: Round) -> Numbers:
        return self.kernels.to_numpy(objective.loss(at.w)) - objective.minimum

    def _rows(
        self,
        objective: Logistic,
        p: Assumptions,
        training: PrivateSketching,
        last: Round,
        case: str,
        baseline: Numbers,
    ) -> Iterator[Row]:
        """The rows of one ε, or without noise; `training` has the bounds' σ, `baseline` the noiseless f(w) - f*."""
        excess, sampling = self._excess(objective, last), training.sampling
        measured = {"excess": excess, "start": np.full(self.trials, objective.gap)}
        if case != NONE:
            cost = excess - baseline
            measured |= {"cost": cost, "lost": cost / (objective.gap - baseline)}
        measured["accuracy"] = self.kernels.to_numpy(objective.accuracy(last.w))
        bounds = self._bounds(objective, p, training, last.t)
        for quantity, values in measured.items():
            row = Row(
                quantity,
                case=case,
                delta=self.privacy.delta,
                sigma=float(training.sigma),
                sensitivity=float(mean_sensitivity(training.bound, sampling.batch, sampling.neighbours)),
                neighbours=sampling.neighbours,
                accountant=self.privacy.accountant,
                rounds=last.t,
                bytes_up=last.bytes_up,
                bound=bounds.get(quantity),
            )
            yield row.mean(values)
        log.info("epsilon %s: sigma %.3g, %d rounds, excess %.3g", case, training.sigma, last.t, excess.mean())

    def _bounds(self, objective: Logistic, p: Assumptions, training: PrivateSketching, rounds: int) -> dict[str, float]:
        """The known bounds by quantity, with the variance of the clients' mean gradient."""
        if self.clip is not None:
            return {"lost": HARDLY}
        noise = objective.d * training.sigma**2 / objective.clients
        sampling, eta, t = training.sampling, training.algorithm.local_rate, np.array(rounds)
        spared = 0.0 if sampling.kind.endswith("_replacement") else sampling.rate
        batches = (1 - spared) * training.bound**2 / sampling.batch / objective.clients
        excess = float(noisy_strongly_convex(p, eta, t, noise + batches))
        return {"lost": HARDLY, "excess": excess, "start": excess, "cost": float(noise_floor(p, eta, t, noise))}

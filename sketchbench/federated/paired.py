"""Trainings with a compressor beside the same ones without compression, each with its own best learning rate."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.compressor.compressor import Compressor
from sketchbench.compressor.plain import Plain
from sketchbench.dataset.dataset import Dataset
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.frontier import Arm, Federation, Gradients, make_federation, train
from sketchbench.federated.tuning import hold_out
from sketchbench.kernels import Kernels
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Probability, choose
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_step, private_training
from sketchbench.privacy.sampling import Sampling

Numbers = NDArray[np.float64]  # (trials,)
calibrate = functools.cache(calibrated_sigma)  # the same for all compressors of a process


@dataclass(frozen=True)
class Rounds(Checked):
    """How all networks are trained.

    Arguments:
        batch: records of a client in a round; under privacy their expected number.
        rounds: of a training.
        judged: the last of them, over which accuracies are averaged: single rounds differ by the noise of batches.
        stack: trials that are trained at once, as memory allows.
    """

    batch: Count
    rounds: Count
    judged: Count
    stack: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.judged > self.rounds:
            raise ValueError(f"judged={self.judged} must be <= {self.rounds}, the rounds of a training")


@dataclass(frozen=True)
class RecordPrivacy(Checked):
    """Privacy of a client's records against the server.

    Arguments:
        case: the partition that is trained with privacy, too.
        epsilons: values of ε that the noise is calibrated to.
        delta: δ, below 1 over a client's records.
        clip: norm that the gradient of a record is clipped to.
        accountant: one that knows Poisson batches.
    """

    case: str
    epsilons: list[Positive]
    delta: Probability
    clip: Positive
    accountant: str


@dataclass(frozen=True)
class RateChoice(Checked):
    """How the learning rate of a compressor is chosen, for each setting by itself.

    Arguments:
        rates: to choose from.
        rounds: of a training that tries one.
        trials: trainings that try one; they are none of those that are judged. All of all rates are one stack.
    """

    rates: NonEmptyList[Positive]
    rounds: Count
    trials: Count


class Setting(NamedTuple):
    """What is trained.

    Arguments:
        case: the name of a partition.
        epsilon: ε; None without privacy.
    """

    case: str
    epsilon: float | None = None

    def __str__(self) -> str:
        return self.case if self.epsilon is None else f"{self.case}, epsilon {self.epsilon:g}"


class Reached(NamedTuple):
    """What `trials` trainings of one method reach.

    Arguments:
        start, end: accuracies, (trials,); at the end 0 where one has diverged.
        diverged: how many have.
        bytes_up, bytes_down: of a client in a round; of received ones the mean.
        rate: the learning rate.
    """

    start: Numbers
    end: Numbers
    diverged: int
    bytes_up: int
    bytes_down: float
    rate: float


class Pair(NamedTuple):
    """No compression, and the compressor, in the same trials, with noise of this standard deviation."""

    plain: Reached
    compressed: Reached
    sigma: float


class Method(NamedTuple):
    """A compressor after noise of this standard deviation."""

    compressor: Compressor
    sigma: float

    def arm(self, rates: NDArray[Any]) -> Arm:
        """With the learning rate of each trial."""
        return Arm(self.compressor, rates.astype(np.float32), self.sigma)


KEPT = 32  # trainings without compression that a process remembers
_PLAIN: dict[tuple[Any, ...], list[Reached]] = {}


@dataclass(frozen=True)
class PairedTrainings:
    """Trainings of the same networks by several methods: with the same partition, start, batches and noise, trial by
    trial, none of which depends on a compressor.

    Arguments:
        kernels: backend of all arrays.
        seed: root of all randomness.
        data: its training images are dealt out, its test images are judged.
        model: a perceptron.
        partitions: by case.
        training, privacy, tuning: see there.
        trials: of each method.
    """

    kernels: Kernels
    seed: int
    data: Dataset
    model: MakeModel
    partitions: dict[str, MakeParts]
    training: Rounds
    privacy: RecordPrivacy
    tuning: RateChoice
    trials: int

    def __post_init__(self) -> None:
        choose("privacy.case", self.privacy.case, self.partitions)

    def clients(self, case: str, trials: Sequence[int]) -> Federation:
        """The federation of the trials with these numbers."""
        return self._federation(self.data, "training", case, trials)

    def pairs(self, settings: Sequence[Setting], compressor: Compressor) -> dict[Setting, Pair]:
        """The trainings of settings that differ in ε alone: with the same batches, and noise but for its size.

        Raises:
            ValueError: for a δ that is too large.
        """
        layout = compressor.layout
        sigmas = [self._sigma(setting) for setting in settings]
        plain = Plain(layout=layout, limit=layout.nbytes)
        # The same for all compressors that a process trains, a quarter of the time.
        known = (repr(self._settings), self.data.digest, self.kernels.NAME, tuple(settings))
        if known not in _PLAIN:
            if len(_PLAIN) >= KEPT:
                _PLAIN.clear()
            _PLAIN[known] = self._train(settings[0], [Method(plain, sigma) for sigma in sigmas])
        compressed = self._train(settings[0], [Method(compressor, sigma) for sigma in sigmas])
        return dict(zip(settings, map(Pair, _PLAIN[known], compressed, sigmas), strict=True))

    @property
    def _settings(self) -> tuple[Any, ...]:
        """What decides the trainings, beside the data and the kernels."""
        return (self.seed, self.model, self.partitions, self.training, self.privacy, self.tuning, self.trials)

    def _train(self, setting: Setting, methods: Sequence[Method]) -> list[Reached]:
        """What each method reaches with the best of its rates."""
        rates = self._rates(setting, methods)
        stacks = [self._stack(setting, first, methods, rates) for first in range(0, self.trials, self.training.stack)]
        return [_join(parts, rate) for parts, rate in zip(zip(*stacks, strict=True), rates, strict=True)]

    def _stack(self, setting: Setting, first: int, methods: Sequence[Method], rates: Sequence[float]) -> list[Reached]:
        """What each method reaches with its rate in the trials from this one on."""
        count = min(self.training.stack, self.trials - first)
        clients = self.clients(setting.case, range(first, first + count))
        arms = [method.arm(np.full(count, rate)) for method, rate in zip(methods, rates, strict=True)]
        seed = self._seed(setting, "training", first)
        how = self.training
        trained = train(clients, self._gradients(clients, setting), arms, seed, rounds=how.rounds, judged=how.judged)
        start = clients.accuracy(clients.start)
        return [
            Reached(start, one.accuracy, int(one.diverged.sum()), one.bytes_up, one.bytes_down, rate)
            for one, rate in zip(trained, rates, strict=True)
        ]

    def _seed(self, setting: Setting, part: str, first: int = 0) -> int:
        """Of batches, noise and operators."""
        private = str(setting.epsilon is not None)
        return seeds.key(self.seed, task="frontier", part=part, case=setting.case, private=private, first=first)

    def _rates(self, setting: Setting, methods: Sequence[Method]) -> list[float]:
        """The learning rate of each method: all rates are tried at once, in one stack."""
        rates, trials = self.tuning.rates, self.tuning.trials
        clients = self._federation(hold_out(self.data, self.seed), "tuning", setting.case, range(trials))
        tried = clients.repeat(len(rates))
        arms = [method.arm(np.repeat(rates, trials)) for method in methods]
        seed = self._seed(setting, "tuning")
        rounds, judged = self.tuning.rounds, min(self.training.judged, self.tuning.rounds)
        trained = train(tried, self._gradients(tried, setting), arms, seed, rounds=rounds, judged=judged)
        merits = [one.accuracy.reshape(len(rates), trials).mean(axis=1) for one in trained]
        return [rates[int(merit.argmax())] for merit in merits]

    def _federation(self, data: Dataset, part: str, case: str, trials: Sequence[int]) -> Federation:
        keys = [seeds.key(self.seed, task="frontier", part=part, case=case, trial=trial) for trial in trials]
        return make_federation(self.kernels, data, self.partitions[case], self.model, keys)

    def _gradients(self, clients: Federation, setting: Setting) -> Gradients:
        """How these clients take their gradients."""
        records = clients.records.shape[2]
        if setting.epsilon is None:
            return Gradients(Sampling("without_replacement", self.training.batch, records))
        return Gradients(Sampling("poisson", self.training.batch, records), self.privacy.clip)

    def _sigma(self, setting: Setting) -> float:
        """Standard deviation of the noise in a client's mean gradient, the same for all trials; 0 without privacy."""
        if setting.epsilon is None:
            return 0.0
        clients, privacy = self.clients(setting.case, [0]), self.privacy
        records, sampling = clients.records.shape[2], self._gradients(clients, setting).sampling
        if privacy.delta * records >= 1:
            raise ValueError(
                f"privacy.delta={privacy.delta:g} must be < {1 / records:.3g}, 1 over the {records} records of a "
                "client: a larger one allows to publish one of them"
            )
        step = mean_step(privacy.clip, 1.0, sampling, sampling.neighbours)
        rounds = self.training.rounds
        released = private_training(step, local_steps=1, rounds=rounds, records=clients.owners, sketch="compressed")
        return calibrate(privacy.accountant, released, setting.epsilon, privacy.delta)


def _join(stacks: Sequence[Reached], rate: float) -> Reached:
    """Of all stacks of a method together."""
    return Reached(
        np.concatenate([one.start for one in stacks]),
        np.concatenate([one.end for one in stacks]),
        sum(one.diverged for one in stacks),
        max(one.bytes_up for one in stacks),
        float(np.mean([one.bytes_down for one in stacks])),
        rate,
    )

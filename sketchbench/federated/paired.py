"""Trainings with a compressor beside the same trainings without compression, each method at its best learning rate."""

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
calibrate = functools.cache(calibrated_sigma)  # a process calibrates the same noise for all compressors


@dataclass(frozen=True)
class Rounds(Checked):
    """How all networks are trained.

    Arguments:
        batch: records in a client's batch; with privacy the expected number.
        rounds: of a training.
        judged: the number of the last rounds, over which accuracies are averaged, as batches make single rounds noisy.
        stack: the number of trials that are trained at once, as memory allows.
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
        case: the partition whose trainings are also made with privacy.
        epsilons: values of ε to which the noise is calibrated.
        delta: δ, below 1 over the number of a client's records.
        clip: the norm to which the gradient of a record is clipped.
        accountant: the name of an accountant for Poisson batches.
    """

    case: str
    epsilons: list[Positive]
    delta: Probability
    clip: Positive
    accountant: str


@dataclass(frozen=True)
class RateChoice(Checked):
    """How the learning rate of a method is chosen, for each setting by itself.

    Arguments:
        rates: the rates to choose from.
        rounds: of a training that tries a rate.
        trials: the number of trainings that try a rate, beside those that are judged. Those of all rates are one stack.
    """

    rates: NonEmptyList[Positive]
    rounds: Count
    trials: Count


class Setting(NamedTuple):
    """A partition, with or without privacy.

    Arguments:
        case: the name of the partition.
        epsilon: ε; None without privacy.
    """

    case: str
    epsilon: float | None = None

    def __str__(self) -> str:
        return self.case if self.epsilon is None else f"{self.case}, epsilon {self.epsilon:g}"


class Reached(NamedTuple):
    """The accuracy that the trainings of one method reach, and its cost.

    Arguments:
        start, end: accuracies before and after the training, (trials,); 0 at the end of one that diverged.
        diverged: the number of trainings that diverged.
        bytes_up: the most bytes that a client sends in a round.
        bytes_down: the mean number of bytes that a client receives in a round.
        rate: the learning rate.
    """

    start: Numbers
    end: Numbers
    diverged: int
    bytes_up: int
    bytes_down: float
    rate: float


class Pair(NamedTuple):
    """The trainings without compression and with the compressor, in the same trials, and the noise's standard deviation
    sigma in both."""

    plain: Reached
    compressed: Reached
    sigma: float


class Method(NamedTuple):
    """A compressor, and the standard deviation sigma of the noise before it."""

    compressor: Compressor
    sigma: float

    def arm(self, rates: NDArray[Any]) -> Arm:
        """The arm with the learning rate of each trial, (T,)."""
        return Arm(self.compressor, rates.astype(np.float32), self.sigma)


KEPT = 32  # groups of trainings without compression that a process caches
_PLAIN: dict[tuple[Any, ...], list[Reached]] = {}


@dataclass(frozen=True)
class PairedTrainings(Checked):
    """Trainings of the same networks by several methods. In each trial all methods have the same partition, initial
    weights, batches and noise, none of which depends on the compressor.

    Arguments:
        kernels: backend of all arrays.
        seed: root of all randomness.
        data: the data set: clients get the training images, and accuracy is that on the test images.
        model: makes the network.
        partitions: by case.
        training: batches and rounds.
        privacy: of a client's records.
        tuning: the choice of learning rates.
        trials: the number of trainings of each method.
    """

    kernels: Kernels
    seed: int
    data: Dataset
    model: MakeModel
    partitions: dict[str, MakeParts]
    training: Rounds
    privacy: RecordPrivacy
    tuning: RateChoice
    trials: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("privacy.case", self.privacy.case, self.partitions)

    def clients(self, case: str, trials: Sequence[int]) -> Federation:
        """The federation of the trials with these numbers."""
        return self._federation(self.data, "training", case, trials)

    def pairs(self, settings: Sequence[Setting], compressor: Compressor) -> dict[Setting, Pair]:
        """Train each setting without compression and with the compressor.

        The settings may differ in ε alone: their trainings share batches, and noise up to its standard deviation.

        Raises:
            ValueError: for a δ of at least 1 over the number of a client's records.
        """
        layout = compressor.layout
        sigmas = [self._sigma(setting) for setting in settings]
        plain = Plain(layout=layout, limit=layout.nbytes)
        # Trainings without compression, a quarter of the time, are the same for all compressors of a process.
        key = (repr(self._settings), self.data.digest, self.kernels.NAME, tuple(settings))
        if key not in _PLAIN:
            if len(_PLAIN) >= KEPT:
                _PLAIN.clear()
            _PLAIN[key] = self._train(settings[0], [Method(plain, sigma) for sigma in sigmas])
        compressed = self._train(settings[0], [Method(compressor, sigma) for sigma in sigmas])
        return dict(zip(settings, map(Pair, _PLAIN[key], compressed, sigmas), strict=True))

    @property
    def _settings(self) -> tuple[Any, ...]:
        """The fields that determine the trainings, beside the data and the kernels."""
        return (self.seed, self.model, self.partitions, self.training, self.privacy, self.tuning, self.trials)

    def _train(self, setting: Setting, methods: Sequence[Method]) -> list[Reached]:
        """Train each method at its best rate, in stacks of trials."""
        rates = self._rates(setting, methods)
        stacks = [self._stack(setting, first, methods, rates) for first in range(0, self.trials, self.training.stack)]
        return [_join(parts, rate) for parts, rate in zip(zip(*stacks, strict=True), rates, strict=True)]

    def _stack(self, setting: Setting, first: int, methods: Sequence[Method], rates: Sequence[float]) -> list[Reached]:
        """Train each method at its rate, in one stack of trials, from number `first` on."""
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
        """The seed of batches, noise and operators."""
        private = str(setting.epsilon is not None)
        return seeds.key(self.seed, task="frontier", part=part, case=setting.case, private=private, first=first)

    def _rates(self, setting: Setting, methods: Sequence[Method]) -> list[float]:
        """The best learning rate of each method; one stack tries all rates."""
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
        """Clipped gradients of Poisson batches with privacy, else unclipped ones of batches without replacement."""
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
                "client: a larger δ permits a mechanism that publishes one of them"
            )
        step = mean_step(privacy.clip, 1.0, sampling, sampling.neighbours)
        rounds = self.training.rounds
        released = private_training(step, local_steps=1, rounds=rounds, records=clients.owners, sketch="compressed")
        return calibrate(privacy.accountant, released, setting.epsilon, privacy.delta)


def _join(stacks: Sequence[Reached], rate: float) -> Reached:
    """Join the results of a method's stacks of trials."""
    return Reached(
        np.concatenate([one.start for one in stacks]),
        np.concatenate([one.end for one in stacks]),
        sum(one.diverged for one in stacks),
        max(one.bytes_up for one in stacks),
        float(np.mean([one.bytes_down for one in stacks])),
        rate,
    )

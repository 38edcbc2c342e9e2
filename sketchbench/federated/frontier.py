"""Trainings of many networks at once, whose clients send compressed updates; with or without privacy.

Trials by clients are the first axes of all arrays. Each trial has its own partition, start, batches, noise and
operators, and the methods that are compared (`Arm`) share all of these.

Privacy is that of a client's records against the server, which sees every single message: a client clips the gradient
of each record, and adds to their mean all the noise that its own records need, before anything is compressed. So a
message is made of what is private already, whatever the compressor does (post-processing). Under secure aggregation
each of C clients could add 1/√C of that noise; this is not made use of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Layout
from sketchbench.dataset.dataset import Dataset, Split
from sketchbench.dataset.partition import MakeParts
from sketchbench.kernels import Array, Kernels
from sketchbench.model.networks import MakeModel
from sketchbench.objective.stacked import Batches, StackedPerceptron, initial_weights, perceptron
from sketchbench.parameters import Checked, Positive
from sketchbench.privacy.sampling import Sampling

LARGEST = 1000.0  # weight of a training that has not diverged: a hundred times what sound ones reach


@dataclass(frozen=True)
class Federation:
    """Clients with their records, and the networks that they start from, in T trials.

    Arguments:
        network: T of them.
        start: weights, float32 (T, d).
        records: numbers of the training samples of each client, (T, C, n).
        train, test: inputs, float32 (samples, p), and labels (samples,). Inputs are pixels, less the mean and over
            the standard deviation of all pixels of all training images: two numbers that are taken for public.
    """

    network: StackedPerceptron
    start: Array
    records: NDArray[np.int64]
    train: tuple[Array, Array]
    test: tuple[Array, Array]

    @property
    def kernels(self) -> Kernels:
        return self.network.kernels

    @property
    def layout(self) -> Layout:
        """Of an update."""
        return Layout(self.network.shapes)

    @property
    def clients(self) -> int:
        """C."""
        return self.records.shape[1]

    @property
    def owners(self) -> tuple[frozenset[int], ...]:
        """The records of each client, in the first trial."""
        return tuple(frozenset(own.tolist()) for own in self.records[0])

    def batches(self, sampling: Sampling, random: np.random.Generator) -> Batches:
        """A batch of every client, whose shares are 1/`sampling.batch` for each time that a record is drawn."""
        times = sampling.draw(random, self.records.shape[:2])
        largest = max(1, int((times > 0).sum(axis=-1).max()))
        places = np.argsort(times == 0, axis=-1, kind="stable")[..., :largest]
        asarray = self.kernels.asarray
        shares = np.take_along_axis(times, places, axis=-1).astype(np.float32) / np.float32(sampling.batch)
        drawn = asarray(np.take_along_axis(self.records, places, axis=-1))
        inputs, labels = self.train
        return Batches(inputs[drawn], labels[drawn], asarray(shares))

    def repeated(self, times: int) -> "Federation":
        """All trials so many times over, one after another."""
        start = self.kernels.xp.concatenate([self.start] * times)
        return replace(self, start=start, records=np.tile(self.records, (times, 1, 1)))

    def accuracy(self, w: Array) -> NDArray[np.float64]:
        """On the test samples, of weights (T, d): (T,)."""
        return np.asarray(self.kernels.to_numpy(self.network.accuracy(w, *self.test)))


def federation(
    kernels: Kernels, data: Dataset, partition: MakeParts, model: MakeModel, trials: Sequence[int]
) -> Federation:
    """The federation whose trials have these seeds, of 64 bits, for their partitions and starts.

    Raises:
        ValueError: where clients have unequally many records, or the model is no perceptron.
    """
    dealt = [partition(labels=data.train.labels, seed=seed) for seed in trials]
    counts = {len(own) for parts in dealt for own in parts}
    if len(counts) > 1:
        raise ValueError(
            f"partition: clients have from {min(counts)} to {max(counts)} records, and those that train together need "
            "equally many; choose the partition iid or one_class"
        )
    asarray, pixels = kernels.asarray, data.features(data.train)
    mean, sd = pixels.mean(), pixels.std()

    def samples(split: Split) -> tuple[Array, Array]:
        return asarray(((data.features(split) - mean) / sd).astype(np.float32)), asarray(split.labels)

    return Federation(
        perceptron(kernels, model, data.shape, data.classes),
        asarray(initial_weights(lambda: model(shape=data.shape, classes=data.classes), trials)),
        np.array(dealt),
        samples(data.train),
        samples(data.test),
    )


@dataclass(frozen=True)
class Gradients(Checked):
    """How a client takes its gradient: the mean over a batch of its records.

    Arguments:
        sampling: of batches.
        clip: norm that the gradient of a record is clipped to; None for no clipping.
    """

    sampling: Sampling
    clip: Positive | None = None


class Arm(NamedTuple):
    """A method to compare.

    Arguments:
        compressor: of updates.
        rates: the learning rate of each trial, float32 (T,).
        sigma: standard deviation of the noise that each client adds to every entry of its gradient. It is made of
            float32 numbers by a generator that is no cryptographic one: good for measuring, not for protecting people.
    """

    compressor: Compressor
    rates: NDArray[np.float32]
    sigma: float = 0.0


class Trained(NamedTuple):
    """What came out of an arm.

    Arguments:
        w: weights, float32 (T, d); of what diverged, the last ones before.
        diverged: (T,).
        accuracy: on the test samples, in the mean over the last rounds, (T,); 0 of what diverged.
        bytes_up: the most that a client sends in a round.
        bytes_down: what it receives, in the mean over the rounds.
    """

    w: Array
    diverged: NDArray[np.bool_]
    accuracy: NDArray[np.float64]
    bytes_up: int
    bytes_down: float


def train(
    clients: Federation, gradients: Gradients, arms: Sequence[Arm], seed: int, *, rounds: int, judged: int = 1
) -> list[Trained]:
    """Train all arms, side by side.

    In each round the server subtracts from the weights the step that the compressor makes of all clients' updates,
    which are learning rates times gradients. A training has diverged where a weight would be larger than LARGEST, or
    no number; its weights stay as they were, and its clients send updates of zero.

    Arguments:
        clients: with their starts.
        gradients: how clients take theirs.
        arms: what is compared.
        seed: of batches, noise and operators.
        rounds: >= 1.
        judged: how many of them, the last ones, are evaluated.

    Raises:
        ValueError: for a message of more bytes than the compressor was allowed.
    """
    random, noise = seeds.generator(seed, part="batches"), seeds.generator(seed, part="noise")
    kernels, shape = clients.kernels, (*clients.records.shape[:2], clients.layout.d)
    private = any(arm.sigma for arm in arms)
    trainings = [_Training(clients, gradients, arm) for arm in arms]
    for number in range(rounds):
        batches = clients.batches(gradients.sampling, random)
        drawn = kernels.asarray(noise.standard_normal(shape, dtype=np.float32)) if private else None
        at = At(kernels, seed, number, shape[0])
        for training in trainings:
            training.go_on(batches, drawn, at)
            if number >= rounds - judged:
                training.evaluate()
    return [training.result(rounds) for training in trainings]


class _Training:
    """An arm on its way."""

    def __init__(self, clients: Federation, gradients: Gradients, arm: Arm) -> None:
        self._clients, self._clip, self._arm = clients, gradients.clip, arm
        kernels, (trials, count) = clients.kernels, clients.records.shape[:2]
        self._w = clients.start.copy()
        self._rates = kernels.asarray(arm.rates)
        self._sound = kernels.xp.ones(trials, dtype=bool)
        self._memory: Memory = arm.compressor.begin(trials, count, kernels)
        self._up, self._down = 0, 0
        self._accuracies: list[NDArray[np.float64]] = []

    def go_on(self, batches: Batches, noise: Array | None, at: At) -> None:
        """A round, with standard normal noise (T, C, d)."""
        compressor, xp = self._arm.compressor, at.kernels.xp
        x = self._clients.network.gradients(self._w, batches, self._clip, compressor.projections(at))
        if noise is not None:
            x += noise * x.dtype.type(self._arm.sigma)
        x *= xp.where(self._sound, self._rates, 0)[:, None, None]
        exchange = compressor.exchange(x, self._memory, at)
        if exchange.bytes_up > compressor.limit:
            raise ValueError(
                f"{type(compressor).__name__} sends {exchange.bytes_up} bytes in a round and may send "
                f"{compressor.limit}; make its messages smaller, or let it refuse this limit in `check`"
            )
        self._up, self._down = max(self._up, exchange.bytes_up), self._down + exchange.bytes_down
        self._memory = exchange.memory
        after = self._w - exchange.step
        self._sound &= abs(after).max(axis=1) <= LARGEST  # no number is not
        self._w = xp.where(self._sound[:, None], after, self._w)

    def evaluate(self) -> None:
        """Note the accuracy of now."""
        self._accuracies.append(self._clients.accuracy(self._w))

    def result(self, rounds: int) -> Trained:
        """After so many rounds."""
        sound = np.asarray(self._clients.kernels.to_numpy(self._sound))
        accuracy = np.where(sound, np.mean(self._accuracies, axis=0), 0.0)
        return Trained(self._w, ~sound, accuracy, self._up, self._down / rounds)

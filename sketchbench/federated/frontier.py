"""Trainings of many networks side by side, whose clients send compressed updates, with or without privacy.

The first axes of all arrays are trials and clients. Each trial has its own partition, initial weights, batches, noise
and operators, and the methods that are compared (`Arm`) share all of these.

Privacy protects a client's records from the server, which sees every message: a client clips the gradient of each
record, and adds to the mean all the noise that its records need, before it compresses. Messages are computed from
these noisy gradients alone, so that every compressor is post-processing. Under secure aggregation each of C clients
could add 1/√C of the noise; these trainings don't.
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
from sketchbench.dataset.partition import MakeParts, deal
from sketchbench.kernels import Array, Kernels
from sketchbench.model.networks import MakeModel
from sketchbench.objective.stacked import Batches, StackedPerceptron, initial_weights
from sketchbench.objective.stacked_network import StackedNetwork, stacked
from sketchbench.parameters import Checked, Count, Positive, checked
from sketchbench.privacy.sampling import Sampling

LARGEST = 1000.0  # magnitude of a weight beyond which a training has diverged; others reach a hundredth of it
LARGEST_UPDATE = 1e30  # magnitude of an update's entry beyond which it has, too: norms still fit into float32


@dataclass(frozen=True)
class Federation:
    """Clients with their records, and the networks' initial weights, in T trials.

    Arguments:
        network: T networks, stacked.
        start: initial weights, float32 (T, d).
        records: indices of each client's training samples, (T, C, n).
        train, test: inputs, float32 (samples, p), and labels (samples,). Inputs are pixels, standardised by the mean
            and the standard deviation of all pixels of all training images, which count as public.
    """

    network: StackedPerceptron | StackedNetwork
    start: Array
    records: NDArray[np.int64]
    train: tuple[Array, Array]
    test: tuple[Array, Array]

    @property
    def kernels(self) -> Kernels:
        return self.network.kernels

    @property
    def layout(self) -> Layout:
        """The layout of an update."""
        return Layout(self.network.shapes)

    @property
    def clients(self) -> int:
        """C, the number of clients."""
        return self.records.shape[1]

    @property
    def owners(self) -> tuple[frozenset[int], ...]:
        """The records of each client in the first trial."""
        return tuple(frozenset(own.tolist()) for own in self.records[0])

    def batches(self, sampling: Sampling, random: np.random.Generator) -> Batches:
        """Draw a batch for every client; a record has a share of 1/`sampling.batch` for each time that it is drawn."""
        times = sampling.draw(random, self.records.shape[:2])
        largest = max(1, int((times > 0).sum(axis=-1).max()))
        places = np.argsort(times == 0, axis=-1, kind="stable")[..., :largest]
        asarray = self.kernels.asarray
        shares = np.take_along_axis(times, places, axis=-1).astype(np.float32) / np.float32(sampling.batch)
        drawn = asarray(np.take_along_axis(self.records, places, axis=-1))
        inputs, labels = self.train
        return Batches(inputs[drawn], labels[drawn], asarray(shares))

    @checked
    def repeat(self, times: Count) -> "Federation":
        """The federation of all trials, repeated `times` times one after another."""
        start = self.kernels.xp.concatenate([self.start] * times)
        return replace(self, start=start, records=np.tile(self.records, (times, 1, 1)))

    def accuracy(self, w: Array) -> NDArray[np.float64]:
        """The accuracy of weights (T, d) on the test samples, (T,)."""
        return np.asarray(self.kernels.to_numpy(self.network.accuracy(w, *self.test)))


def make_federation(
    kernels: Kernels, data: Dataset, partition: MakeParts, model: MakeModel, trials: Sequence[int]
) -> Federation:
    """Make the federation of T trials.

    Arguments:
        kernels: backend of all arrays.
        data: the data set.
        partition: deals the training samples out to the clients.
        model: makes the network; perceptrons are the fastest.
        trials: a 64-bit seed for each trial, of its partition and initial weights.

    Raises:
        ValueError: for no trials; if clients have unequally many records, or as `stacked_network.stacked`.
    """
    if not len(trials):
        raise ValueError("a federation needs at least one trial")
    dealt = [deal(partition, data.train.labels, seed) for seed in trials]
    counts = {len(own) for parts in dealt for own in parts}
    if len(counts) > 1:
        raise ValueError(
            f"partition: clients have from {min(counts)} to {max(counts)} records, and to train side by side "
            "they need equally many; choose the partition iid or one_class, or yours through partition.even"
        )
    asarray, pixels = kernels.asarray, data.features(data.train)
    mean, sd = pixels.mean(), pixels.std()

    def samples(split: Split) -> tuple[Array, Array]:
        return asarray(((data.features(split) - mean) / sd).astype(np.float32)), asarray(split.labels)

    return Federation(
        stacked(kernels, model, data.shape, data.classes),
        asarray(initial_weights(lambda: model(shape=data.shape, classes=data.classes), trials)),
        np.array(dealt),
        samples(data.train),
        samples(data.test),
    )


@dataclass(frozen=True)
class Gradients(Checked):
    """How a client computes its gradient: as the mean over a batch of its records.

    Arguments:
        sampling: of batches.
        clip: the norm to which the gradient of a record is clipped; None for no clipping.
    """

    sampling: Sampling
    clip: Positive | None = None


class Arm(NamedTuple):
    """A method in a comparison.

    Arguments:
        compressor: of updates.
        rates: the learning rate of each trial, float32 (T,).
        sigma: standard deviation of the noise that each client adds to every entry of its gradient. The noise is of
            float32 numbers from a generator that is not cryptographic: good for measuring, not for protecting people.
    """

    compressor: Compressor
    rates: NDArray[np.float32]
    sigma: float = 0.0


class Trained(NamedTuple):
    """The trainings of an arm, in T trials.

    Arguments:
        w: final weights, float32 (T, d); for trainings that diverged, the last weights before.
        diverged: whether the training diverged, (T,).
        accuracy: on the test samples, the mean over the last rounds, (T,); 0 for trainings that diverged.
        bytes_up: the most bytes that a client sends in a round.
        bytes_down: the mean number of bytes that a client receives in a round.
    """

    w: Array
    diverged: NDArray[np.bool_]
    accuracy: NDArray[np.float64]
    bytes_up: int
    bytes_down: float


@checked
def train(
    clients: Federation, gradients: Gradients, arms: Sequence[Arm], seed: int, *, rounds: Count, judged: Count = 1
) -> list[Trained]:
    """Train all arms, side by side.

    In each round clients send their learning rate times their gradient, compressed, and the server subtracts the
    compressor's step from the weights. Where a compressor is linear and no client has a memory, the mean of all
    gradients is compressed in the place of each, which is the same except for rounding. A training diverges when a
    weight would exceed LARGEST, or an entry of an update LARGEST_UPDATE, or be no number; from then on its weights stay
    as they are, and nothing is sent or remembered.

    Arguments:
        clients: with their records and initial weights.
        gradients: how clients compute their gradients.
        arms: the methods that are compared.
        seed: of batches, noise and operators.
        rounds: at least 1.
        judged: the number of the last rounds that are evaluated, from 1 to `rounds`.

    Raises:
        ValueError: for a message of more bytes than the compressor's limit, a number of rounds out of range, a
            compressor for another network, or rates or noise of an arm that are not finite or of other trials.
    """
    if judged > rounds:
        raise ValueError(f"judged={judged} must be <= rounds={rounds}")
    random, noise = seeds.generator(seed, part="batches"), seeds.generator(seed, part="noise")
    kernels, shape = clients.kernels, (*clients.records.shape[:2], clients.layout.d)
    private = any(arm.sigma for arm in arms)
    trainings = [_Training(clients, gradients, arm) for arm in arms]
    for number in range(rounds):
        batches = clients.batches(gradients.sampling, random)
        drawn = kernels.asarray(noise.standard_normal(shape, dtype=np.float32)) if private else None
        each, mean = (batches, drawn), (batches.merge(), drawn if drawn is None else drawn.mean(axis=1, keepdims=True))
        at = At(kernels, seed, number, shape[0])
        for training in trainings:
            training.run_round(*(mean if training.merges else each), at)
            if number >= rounds - judged:
                training.evaluate()
    return [training.result(rounds) for training in trainings]


class _Training:
    """The trainings of one arm, round by round."""

    def __init__(self, clients: Federation, gradients: Gradients, arm: Arm) -> None:
        self._clients, self._clip, self._arm = clients, gradients.clip, arm
        kernels, (trials, count) = clients.kernels, clients.records.shape[:2]
        self.merges = arm.compressor.linear and arm.compressor.feedback != "client"
        if arm.compressor.layout.sizes != clients.layout.sizes:
            sizes, own = clients.layout.sizes, arm.compressor.layout.sizes
            raise ValueError(f"a compressor of parameters of {own} entries must be of the network's, {sizes}")
        if np.shape(arm.rates) != (trials,) or not np.isfinite(arm.rates).all():
            raise ValueError(f"rates={arm.rates} must be one finite number for each of {trials} trials")
        if not 0 <= arm.sigma < np.inf:
            raise ValueError(f"sigma={arm.sigma} must be >= 0 and finite")
        self._w = clients.start.copy()
        self._rates = kernels.asarray(arm.rates)
        self._sound = kernels.xp.ones(trials, dtype=bool)
        self._memory: Memory = arm.compressor.begin(trials, 1 if self.merges else count, kernels)
        self._up, self._down = 0, 0
        self._accuracies: list[NDArray[np.float64]] = []

    def run_round(self, batches: Batches, noise: Array | None, at: At) -> None:
        """Run a round, with standard normal noise (T, C, d), or None; if the training `merges`, with the merged batches
        and the mean noise (T, 1, d)."""
        compressor, xp = self._arm.compressor, at.kernels.xp
        x = self._clients.network.gradients(self._w, batches, self._clip, compressor.projections(at))
        if noise is not None:
            x += noise * x.dtype.type(self._arm.sigma)
        x *= xp.where(self._sound, self._rates, 0)[:, None, None]
        self._sound &= (abs(x) <= LARGEST_UPDATE).all(axis=(1, 2))  # False for an entry that is not a number
        x[~self._sound] = 0
        exchange = compressor.exchange(x, self._memory, at)
        if exchange.bytes_up > compressor.limit:
            raise ValueError(
                f"{type(compressor).__name__} sends {exchange.bytes_up} bytes in a round and may send "
                f"{compressor.limit}; make its messages smaller, or let it refuse this limit in `check`"
            )
        self._up, self._down = max(self._up, exchange.bytes_up), self._down + exchange.bytes_down
        after = self._w - exchange.step
        self._sound &= abs(after).max(axis=1) <= LARGEST
        memory = exchange.memory
        self._memory = memory if self._sound.all() else memory.forget(~self._sound, at.kernels)
        self._w = xp.where(self._sound[:, None], after, self._w)

    def evaluate(self) -> None:
        """Add the accuracy of the current weights."""
        self._accuracies.append(self._clients.accuracy(self._w))

    def result(self, rounds: int) -> Trained:
        """The trainings after `rounds` rounds."""
        sound = np.asarray(self._clients.kernels.to_numpy(self._sound))
        accuracy = np.where(sound, np.mean(self._accuracies, axis=0), 0.0)
        return Trained(self._w, ~sound, accuracy, self._up, self._down / rounds)

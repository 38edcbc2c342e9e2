"""Stacked trainings of many networks, whose clients send compressed updates, with or without privacy.

The first axes of all arrays are trials and clients. Each trial has its own partition, initial weights, batches, noise
and operators, which all compared methods (`Arm`) share.

Privacy protects single records, whose gradients a client clips. Noise is added before compression, or, in integers,
after it:

- local noise: each client adds to its mean gradient all the noise that its records need. The server sees every message.
  Messages are computed from noisy gradients alone, so that every compressor is post-processing;
- distributed noise: each of C clients adds 1/√C of it, and secure aggregation shows the server only the sum of the
  messages. The sum of linear messages is the message of the sum, so that linear compressors are post-processing there.
  Clients are assumed to be honest, and to stay until the end of a round;
- in integers: real secure aggregation adds integers, and a client adds its share of the noise to these, after a sketch
  and rounding (`compressor.discrete`).
"""

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.course import WHOLE, Course, Unfinished
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import Checked, Count, Positive, checked
from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Layout
from sketchbench.federated import checkpoint
from sketchbench.federated.experiment import SECONDS_BETWEEN
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.dataset.partition import MakeParts, deal
from sketchbench.learning.model.networks import MakeModel
from sketchbench.learning.objective.stacked import Batches, StackedPerceptron, initial_weights
from sketchbench.learning.objective.stacked_network import StackedNetwork, stacked
from sketchbench.privacy.sampling import Sampling

LARGEST = 1000.0  # magnitude of a weight beyond which a training has diverged; others reach a hundredth of it
LARGEST_UPDATE = 1e30  # the same for an update's entry: norms still fit into float32
DRAWN = 2**13  # rounds whose batches a process keeps, for the next method


class DrawnRound(NamedTuple):
    """The clients and records of a round; B is the largest batch."""

    clients: NDArray[np.int64]  # numbers of the clients that take part, (T, P)
    places: NDArray[np.int64]  # of the records in a client's batch, among its own, (T, P, B)
    shares: NDArray[np.float32]  # factor of each record in the gradient, float32 (T, P, B); 0 for padding


@functools.lru_cache(maxsize=DRAWN)
def draw_round(sampling: Sampling, seed: int, number: int, trials: int, clients: int, taking_part: int) -> DrawnRound:
    """Draw the round with this number. A record has a share of 1/`sampling.batch` for each time that it is drawn."""
    random = seeds.generator(seed, part="batches", round=number)
    everyone = np.broadcast_to(np.arange(clients), (trials, clients))
    chosen = everyone if taking_part == clients else random.permuted(everyone, axis=1)[:, :taking_part]
    times = sampling.draw(random, (trials, taking_part))
    largest = max(1, int((times > 0).sum(axis=-1).max()))
    places = np.argsort(times == 0, axis=-1, kind="stable")[..., :largest]
    shares = np.take_along_axis(times, places, axis=-1).astype(np.float32) / np.float32(sampling.batch)
    return DrawnRound(chosen, places.copy(), shares)


@dataclass(frozen=True)
class Federation:
    """Clients with their records, and the networks' initial weights, in T trials. `train`, `test`: inputs, float32
    (samples, p), and labels (samples,). Inputs are pixels, standardised by the mean and the standard deviation of all
    pixels of all training images, which count as public."""

    network: StackedPerceptron | StackedNetwork  # T networks, stacked
    start: Array  # initial weights, float32 (T, d)
    records: NDArray[np.int64]  # indices of each client's training samples, (T, C, n)
    taking_part: int  # the number of clients in a round, drawn anew for each; C for all of them
    train: tuple[Array, Array]
    test: tuple[Array, Array]

    @property
    def kernels(self) -> Kernels:
        return self.network.kernels

    @property
    def layout(self) -> Layout:
        return Layout(self.network.shapes)

    @property
    def owners(self) -> tuple[frozenset[int], ...]:
        """The records of each client in the first trial."""
        return tuple(frozenset(own.tolist()) for own in self.records[0])

    def batches(self, sampling: Sampling, seed: int, number: int) -> Batches:
        """Draw a batch for every client that takes part in the round with this number."""
        drawn = draw_round(sampling, seed, number, *self.records.shape[:2], self.taking_part)
        records = self.records[np.arange(len(self.records))[:, None], drawn.clients]
        rows = self.kernels.asarray(np.take_along_axis(records, drawn.places, axis=-1))
        inputs, labels = self.train
        return Batches(inputs[rows], labels[rows], self.kernels.asarray(drawn.shares))

    @checked
    def repeat(self, times: Count) -> "Federation":
        """The federation of all trials, repeated `times` times one after another."""
        start = self.kernels.xp.concatenate([self.start] * times)
        return replace(self, start=start, records=np.tile(self.records, (times, 1, 1)))

    def accuracy(self, w: Array) -> NDArray[np.float64]:
        """The accuracy of weights (T, d) on the test samples, (T,)."""
        return np.asarray(self.kernels.to_numpy(self.network.accuracy(w, *self.test)))


def make_federation(
    kernels: Kernels,
    data: Dataset,
    partition: MakeParts,
    model: MakeModel,
    trials: Sequence[int],
    taking_part: int | None = None,
) -> Federation:
    """Make the federation of T trials. Raises ValueError for no trials; if clients have unequally many records, or are
    fewer than `taking_part`; or as `stacked_network.stacked`.

    Arguments:
        kernels: backend of all arrays.
        partition: deals the training samples out to the clients.
        model: makes the network; perceptrons are the fastest.
        trials: a 64-bit seed for each trial, of its partition and initial weights.
        taking_part: the number of clients in a round; None for all.
    """
    if not len(trials):
        raise ValueError("a federation needs at least one trial")
    dealt = [deal(partition, data.train.labels, seed, data.users) for seed in trials]
    counts = {len(own) for parts in dealt for own in parts}
    if len(counts) > 1:
        raise ValueError(
            f"partition: clients have from {min(counts)} to {max(counts)} records, and to train side by side "
            "they need equally many; choose the partition iid or one_class, or yours through partition.even"
        )
    clients = len(dealt[0])
    if taking_part is not None and not 1 <= taking_part <= clients:
        raise ValueError(f"taking_part={taking_part} must be from 1 to {clients}, the number of clients")
    train, test = _SAMPLES.of((data.digest, kernels.NAME), lambda: _standardised(kernels, data))
    return Federation(
        stacked(kernels, model, data.shape, data.classes),
        kernels.asarray(initial_weights(lambda: model(shape=data.shape, classes=data.classes), trials)),
        np.array(dealt),
        taking_part or clients,
        train,
        test,
    )


_SAMPLES = Kept[tuple[str, str], list[tuple[Array, Array]]](2)  # of all training samples, and without held-out samples


def _standardised(kernels: Kernels, data: Dataset) -> list[tuple[Array, Array]]:
    images = data.train.images
    values = ((np.arange(data.white + 1) - images.mean()) / images.std()).astype(np.float32)

    def samples(split: Split) -> tuple[Array, Array]:
        return kernels.asarray(values[split.images.reshape(len(split.images), -1)]), kernels.asarray(split.labels)

    return [samples(data.train), samples(data.test)]


@dataclass(frozen=True)
class Gradients(Checked):
    """A client's gradient: the mean over a batch of its records."""

    sampling: Sampling  # of batches
    clip: Positive | None = None  # the norm to which the gradient of a record is clipped; None for no clipping


class Arm(NamedTuple):
    """A method in a comparison. Each client adds noise of standard deviation `sigma` to every entry of its gradient.
    `sigma` is 0 if the compressor has a `grid`. The noise consists of float32 numbers from a generator that is not
    cryptographic: good for measuring, not for protecting people."""

    compressor: Compressor  # of updates
    rates: NDArray[np.float32]  # the learning rate of each trial, float32 (T,)
    sigma: float = 0.0


class TrainedArm(NamedTuple):
    """The trainings of an arm, in T trials."""

    w: Array  # final weights, float32 (T, d); the last weights before divergence
    diverged: NDArray[np.bool_]  # whether the training diverged, (T,)
    accuracy: NDArray[np.float64]  # on the test samples, mean of the last rounds, (T,); 0 if diverged
    course: NDArray[np.float64]  # the accuracy after every so many rounds, (points, T); 0 if diverged
    bytes_up: int  # the most bytes that a client sends in a round
    bytes_down: float  # the mean number of bytes that a client receives in a round


@checked
def train(
    clients: Federation,
    gradients: Gradients,
    arms: Sequence[Arm],
    seed: int,
    *,
    rounds: Count,
    judged: Count = 1,
    apart: Count = 1,
    every: Count | None = None,
    course: Course = WHOLE,
) -> list[TrainedArm]:
    """Train all arms, side by side.

    In each round clients send their learning rate times their gradient, compressed, and the server subtracts the
    compressor's step from the weights. If the compressor has a `grid`, clients send gradients, and the rate multiplies
    the step. If a compressor is linear and no client has a memory, the mean of all gradients is compressed instead of
    each, which is the same except for rounding. A training diverges when a weight would exceed LARGEST, or an entry of
    an update LARGEST_UPDATE, or be no number. From then on its weights stay, and nothing is sent or remembered.

    Batches and noise of a round depend on `seed` and its number alone, not on the arms. So they are the same in
    separate trainings, and after a checkpoint.

    Arguments:
        clients: with their records and initial weights.
        gradients: of the clients.
        arms: the compared methods.
        seed: of batches, noise and operators.
        rounds: at least 1.
        judged: the number of evaluated rounds: the last one, and others before it.
        apart: rounds from one evaluated round to the next.
        every: rounds from one entry of `TrainedArm.course` to the next; None for no such evaluation.
        course: the time limit, and the folder of checkpoints from which a stopped training resumes.

    Raises:
        ValueError: for a message of more bytes than the compressor's limit, a number of rounds out of range, a
            compressor for another network, a compressor with a memory of each client if not all take part, or an arm's
            rates or noise that are not finite or of other trials.
        Unfinished: when the time limit of the course has passed; at least one round is made by then.
    """
    if (judged - 1) * apart >= rounds:
        raise ValueError(f"judged={judged} rounds, {apart} apart, must be among the rounds={rounds} of a training")
    last = range(rounds - 1 - (judged - 1) * apart, rounds, apart)
    along = range(every - 1, rounds, every) if every else range(0)
    kernels, shape = clients.kernels, (len(clients.records), clients.taking_part, clients.layout.d)
    private = any(arm.sigma for arm in arms)
    trainings = [_Training(clients, gradients, arm) for arm in arms]
    apiece = not all(training.merges for training in trainings)
    path = None
    if course.checkpoints:
        about = [(arm.compressor, arm.rates.tolist(), arm.sigma) for arm in arms]
        path = checkpoint.path_of(course.checkpoints, course.code, seed, gradients, rounds, last, along, about)
    saved = checkpoint.load(path) if path else None
    for training, state in zip(trainings, saved["arms"] if saved else [], strict=False):
        training.unpack(state)
    written = time.monotonic()
    for number in range(saved["t"] if saved else 0, rounds):
        batches = clients.batches(gradients.sampling, seed, number)
        mean, each = _noise(seed, number, shape, apiece) if private else (None, None)
        of_each = (batches, None if each is None else kernels.asarray(each))
        of_all = (batches.merge(), None if mean is None else kernels.asarray(mean))
        at = At(kernels, seed, number, shape[0])
        left = rounds - 1 - number
        for training in trainings:
            training.run_round(*(of_all if training.merges else of_each), at)
            if number in last or number in along:
                training.evaluate(number)
        if path and (not left or course.over or time.monotonic() - written > SECONDS_BETWEEN):
            checkpoint.save(path, {"t": number + 1, "arms": [training.pack(bool(left)) for training in trainings]})
            written = time.monotonic()
        if left and course.over:
            raise Unfinished(f"round {number + 1} of {rounds} is done")
    return [training.result(rounds, last, along) for training in trainings]


def _noise(
    seed: int, number: int, shape: tuple[int, int, int], apiece: bool
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Standard normal noise of a round's clients: its mean (T, 1, d), drawn first, and, if wanted, each (T, C, d)."""
    drawn = torch.Generator().manual_seed(seeds.key(seed, part="noise", round=number) % 2**63)
    trials, clients, d = shape
    mean = torch.empty(trials, 1, d).normal_(generator=drawn).div_(clients**0.5).numpy()
    if not apiece:
        return mean, None
    each = torch.empty(shape).normal_(generator=drawn).numpy()
    each += mean - each.mean(axis=1, keepdims=True)
    return mean, each


def refusal(compressor: Compressor, clients: Federation) -> str:
    """The reason why these clients can't use the compressor; "" if they can."""
    count = clients.records.shape[1]
    if compressor.feedback != "client" or clients.taking_part == count:
        return ""
    return (
        f"{type(compressor).__name__} keeps a memory at each client, and {clients.taking_part} of {count} clients take "
        "part in a round: such clients keep no state; let all take part, or choose a compressor without client feedback"
    )


class _Training:
    """The trainings of one arm, round by round."""

    def __init__(self, clients: Federation, gradients: Gradients, arm: Arm) -> None:
        self._clients, self._clip, self._arm = clients, gradients.clip, arm
        kernels, trials, count = clients.kernels, len(clients.records), clients.taking_part
        self.merges = arm.compressor.linear and arm.compressor.feedback != "client"
        if arm.compressor.layout.sizes != clients.layout.sizes:
            sizes, own = clients.layout.sizes, arm.compressor.layout.sizes
            raise ValueError(f"a compressor of parameters of {own} entries must be of the network's, {sizes}")
        if reason := refusal(arm.compressor, clients):
            raise ValueError(reason)
        if np.shape(arm.rates) != (trials,) or not np.isfinite(arm.rates).all():
            raise ValueError(f"rates={arm.rates} must be one finite number for each of {trials} trials")
        if not 0 <= arm.sigma < np.inf:
            raise ValueError(f"sigma={arm.sigma} must be >= 0 and finite")
        if arm.sigma and traits.grid(arm.compressor) is not None:
            raise ValueError(f"sigma={arm.sigma} must be 0, as {type(arm.compressor).__name__} adds the noise itself")
        self._w = clients.start.copy()
        self._rates = kernels.asarray(arm.rates)
        self._sound = kernels.xp.ones(trials, dtype=bool)
        self._memory: Memory = arm.compressor.begin(trials, 1 if self.merges else count, kernels)
        self._up, self._down = 0, 0
        self._accuracies: dict[int, NDArray[np.float64]] = {}  # by round

    def run_round(self, batches: Batches, noise: Array | None, at: At) -> None:
        """Run a round, with standard normal noise (T, C, d), or None; if the training `merges`, with the merged batches
        and the mean noise (T, 1, d)."""
        compressor, xp = self._arm.compressor, at.kernels.xp
        x = self._clients.network.gradients(self._w, batches, self._clip, traits.projections(compressor, at))
        if noise is not None:
            x += noise * x.dtype.type(self._arm.sigma)
        rates = xp.where(self._sound, self._rates, 0)[:, None]
        if traits.grid(compressor) is None:
            x *= rates[..., None]
        self._sound &= door.largest(x).max(axis=(1, 2)) <= LARGEST_UPDATE  # False for an entry that is not a number
        if not self._sound.all():
            x[~self._sound] = 0
        exchange = compressor.exchange(x, self._memory, at)
        if exchange.bytes_up > compressor.limit:
            raise ValueError(
                f"{type(compressor).__name__} sends {exchange.bytes_up} bytes in a round and may send "
                f"{compressor.limit}; make its messages smaller, or let it refuse this limit in `check`"
            )
        self._up, self._down = max(self._up, exchange.bytes_up), self._down + exchange.bytes_down
        after = self._w - (exchange.step if traits.grid(compressor) is None else rates * exchange.step)
        self._sound &= abs(after).max(axis=1) <= LARGEST
        memory = exchange.memory
        self._memory = memory if self._sound.all() else memory.forget(~self._sound, at.kernels)
        self._w = xp.where(self._sound[:, None], after, self._w)

    def evaluate(self, number: int) -> None:
        """Keep the accuracy of the current weights, after the round with this number."""
        self._accuracies[number] = self._clients.accuracy(self._w)

    def pack(self, goes_on: bool) -> dict[str, Any]:
        """The state in a checkpoint; without memory at the end of a training, unless it `goes_on`."""
        memory = list(door.arrays(tuple(self._memory))) if goes_on else []
        arrays = [self._clients.kernels.to_numpy(one) for one in (self._w, self._sound, *memory)]
        sent = {
            "up": self._up,
            "down": self._down,
            "accuracies": {number: one.tolist() for number, one in self._accuracies.items()},
        }
        return {"arrays": [torch.from_numpy(np.ascontiguousarray(one)) for one in arrays], **sent}

    def unpack(self, state: dict[str, Any]) -> None:
        """Resume from a packed state."""
        arrays = (self._clients.kernels.asarray(one.numpy()) for one in state["arrays"])
        self._w, self._sound = next(arrays), next(arrays)
        if len(state["arrays"]) > 2:
            self._memory = Memory(*door.replace(tuple(self._memory), lambda _: next(arrays)))
        self._up, self._down = state["up"], state["down"]
        self._accuracies = {number: np.array(one) for number, one in state["accuracies"].items()}

    def result(self, rounds: int, last: range, along: range) -> TrainedArm:
        """The trainings after `rounds` rounds, judged by the `last`, with their course `along` others."""
        sound = np.asarray(self._clients.kernels.to_numpy(self._sound))

        def accuracies(numbers: range) -> NDArray[np.float64]:
            found = [self._accuracies[number] for number in numbers]
            return np.where(sound, np.reshape(found, (len(numbers), len(sound))), 0.0)

        accuracy, course = accuracies(last).mean(axis=0), accuracies(along)
        return TrainedArm(self._w, ~sound, accuracy, course, self._up, self._down / rounds)

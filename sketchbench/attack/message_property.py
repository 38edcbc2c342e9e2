"""Property inference from compressed messages: does a client's batch contain images of certain classes only?

After Melis et al. 2019. The attacker makes messages of public batches with the network, compressor and key of the
round, learns to classify them, and is tested on messages of batches of other images.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Natural, NonEmptyList
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.compressor.door import check_count
from sketchbench.kernels import Array
from sketchbench.learning.dataset.dataset import Dataset, Split

Observed = Literal["server", "sum"]
SEED = 0  # seed of the attack's random projection
PENALTY = 1.0  # ridge penalty of squared coefficients, over the number of features of variance 1


class Observation(NamedTuple):
    """A round, with T trials, that the attacker observes."""

    compressor: Compressor
    at: At


class Updates(NamedTuple):
    """Updates (T, n, d), every other one with the property: the victim's, and means of the victim's and others'."""

    single: Tensor
    mixed: Tensor


@dataclass(frozen=True)
class MessageProperty(Checked):
    """The attacker, and the messages for its training and its test. `classes` are those of a batch with the property; a
    batch without it has images of all classes. The other clients of a sum draw their batches, in training and test,
    from `others` batches of all classes."""

    classes: NonEmptyList[Natural]
    batch: Count  # images of a client's batch
    known: AtLeastTwo  # the number of messages, of training images, for training; half have the property
    tested: AtLeastTwo  # the number of messages, of test images, for the test; half have the property
    others: Count
    features: Count  # the largest number of features; longer messages are projected onto so many random directions

    def updates(self, networks: DenseNetworks, clients: int, data: Dataset, random: np.random.Generator) -> Updates:
        """Return the updates behind the training messages, and then behind the test messages, in T networks. The first
        of the `clients` is the victim; the other clients' batches have images of all classes. Raises ValueError for
        more clients than batches, or classes without an image."""
        check_count("clients", clients, 1)
        if clients > self.others + 1:
            raise ValueError(f"others={self.others} must be >= {clients - 1}, all clients but one")
        sides = [
            self._updates(networks, clients, data, split, count, random)
            for split, count in ((data.train, self.known), (data.test, self.tested))
        ]
        return Updates(*(torch.cat(parts, dim=1) for parts in zip(*sides, strict=True)))

    def areas(self, watched: Observation, updates: Updates) -> dict[Observed, list[float]]:
        """The area under the ROC curve in each of T networks, by the observed message: `server`, the victim's, or
        `sum`, the sum of all clients' messages, if messages add up."""
        areas: dict[Observed, list[float]] = {"server": self._test_attacker(watched, updates.single)}
        if watched.compressor.adds_up:  # then the mean message is the message of the mean update
            areas["sum"] = self._test_attacker(watched, updates.mixed)
        return areas

    def _updates(
        self,
        networks: DenseNetworks,
        clients: int,
        data: Dataset,
        split: Split,
        count: int,
        random: np.random.Generator,
    ) -> tuple[Tensor, Tensor]:
        """The victim's `count` updates, and means with others', (T, count, d); every other one has the property."""
        having = np.isin(split.labels, self.classes)
        if not having.any():
            raise ValueError(f"classes={self.classes} have no image in {data.label}")
        images = torch.tensor(data.features(split), dtype=torch.float32)
        labels = torch.tensor(split.labels)

        def gradients(chosen: NDArray[np.int64]) -> Tensor:
            return networks.gradients(images[chosen], labels[chosen])

        trials = networks.trials
        chosen = random.integers(len(labels), size=(trials, count, self.batch))
        chosen[:, ::2] = random.choice(np.flatnonzero(having), chosen[:, ::2].shape)
        own = gradients(chosen)
        pool = gradients(random.integers(len(labels), size=(trials, self.others, self.batch)))
        ranks = random.random((trials, count, self.others)).argsort(axis=2)
        share = torch.tensor((ranks < clients - 1) / clients, dtype=torch.float32)
        return own, own / clients + share @ pool

    def _test_attacker(self, watched: Observation, updates: Tensor) -> list[float]:
        """The area in each network of an attacker trained on the first `known` messages and tested on the others."""
        features = self._project(_features(watched, updates)).double()
        known, tested = features[:, : self.known], features[:, self.known :]
        mean, spread = known.mean(dim=1, keepdim=True), known.std(dim=1, keepdim=True) + 1e-30
        known, tested = (known - mean) / spread, (tested - mean) / spread
        kernel = known @ known.transpose(1, 2) + PENALTY * features.shape[2] * torch.eye(self.known).double()
        weights = torch.linalg.solve(kernel, 1 - 2 * (torch.arange(self.known) % 2).double().expand(len(kernel), -1))
        scores = (tested @ known.transpose(1, 2) @ weights[..., None])[..., 0]
        more = (scores[:, ::2, None] - scores[:, None, 1::2]).sign()
        return [float(area) for area in (1 + more.mean(dim=(1, 2))) / 2]

    def _project(self, features: Tensor) -> Tensor:
        """Project features (T, n, m) onto at most `features` random directions; for m = 0 return a constant feature."""
        if not features.shape[2]:
            return features.new_zeros((*features.shape[:2], 1))
        if features.shape[2] <= self.features:
            return features
        generator = torch.Generator().manual_seed(SEED)
        return features @ torch.randn(features.shape[2], self.features, generator=generator)


def _features(watched: Observation, updates: Tensor) -> Tensor:
    """Features (T, n, m) of messages of updates (T, n, d): their numbers if messages add up, else decoded updates."""
    compressor, at = watched.compressor, watched.at
    x = at.kernels.asarray(updates.numpy())
    exchange = compressor.exchange(x, compressor.begin(x.shape[0], x.shape[1], at.kernels), at)
    if compressor.adds_up:
        return torch.cat([_flat(part, at) for message in exchange.messages for part in message.parts.values()], dim=2)
    return _flat(compressor.decode(exchange.messages[-1], at, exchange.replies[:-1]), at)


def _flat(part: Array, at: At) -> Tensor:
    return torch.as_tensor(at.kernels.to_numpy(part)).flatten(2).float()

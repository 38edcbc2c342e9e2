"""Property inference from compressed messages: whether a client's batch holds images of certain classes only.

After Melis et al. 2019: the attacker makes messages of public batches with the networks, the compressor and the key of
the round, learns to tell them apart, and is tested on messages of batches of other images.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.compressor.compressor import At, Compressor
from sketchbench.dataset.dataset import Dataset, Split
from sketchbench.kernels import Array
from sketchbench.parameters import Checked, Count, Several

Observed = Literal["server", "sum"]
SEED = 0  # of the random projection, a part of the attack
STRENGTH = 1e-2  # inverse weight of the squared norm in the logistic regression, whose features have unit variance


class Observation(NamedTuple):
    """A round that is watched in T networks.

    Attributes:
        compressor: of all clients.
        networks: T of them.
        at: when, with T trials.
        clients: of whom the first is attacked; the others' batches have images of all classes.
    """

    compressor: Compressor
    networks: DenseNetworks
    at: At
    clients: int


@dataclass(frozen=True)
class MessageProperty(Checked):
    """What the attacker learns from, and is tested on.

    Arguments:
        classes: of the data set; a batch with the property holds their images only, one without those of all classes.
        batch: images of a client.
        known: messages of training images, that it learns from; every other one has the property.
        tested: messages of test images, that it is tested on.
        others: batches of all classes, for each of the two, from which the other clients of a sum have theirs.
        features: random projections of a message that it learns from, where a message has more numbers.
    """

    classes: list[int]
    batch: Count
    known: Several
    tested: Several
    others: Count
    features: Count

    def areas(self, watched: Observation, data: Dataset, random: np.random.Generator) -> dict[Observed, list[float]]:
        """The area under the ROC curve in each of T networks, by what is observed: one message, or the sum of all
        clients' messages, where these add up.

        Arguments:
            watched: the round.
            data: whose classes are told.
            random: of the batches.

        Raises:
            ValueError: for more clients than there are batches for, or no image of one of the classes.
        """
        if watched.clients > self.others + 1:
            raise ValueError(f"others={self.others} must be >= {watched.clients - 1}, all clients but one")
        sides = [
            self._updates(watched, data, split, count, random)
            for split, count in ((data.train, self.known), (data.test, self.tested))
        ]
        single, mixed = (torch.cat(parts, dim=1) for parts in zip(*sides, strict=True))
        found: dict[Observed, list[float]] = {"server": self._test_attacker(watched, single)}
        if watched.compressor.adds_up:  # so that the mean message is that of the mean update
            found["sum"] = self._test_attacker(watched, mixed)
        return found

    def _updates(
        self, watched: Observation, data: Dataset, split: Split, count: int, random: np.random.Generator
    ) -> tuple[Tensor, Tensor]:
        """Updates (T, count, d) of the victim, and the means over it and other clients."""
        having = np.isin(split.labels, self.classes)
        if not having.any():
            raise ValueError(f"classes={self.classes} have no image in {data.label}")
        images = torch.tensor(data.features(split), dtype=torch.float32)
        labels = torch.tensor(split.labels)

        def gradients(chosen: NDArray[np.int64]) -> Tensor:
            return watched.networks.gradients(images[chosen], labels[chosen])

        trials, clients = watched.at.trials, watched.clients
        chosen = random.integers(len(labels), size=(trials, count, self.batch))
        chosen[:, ::2] = random.choice(np.flatnonzero(having), chosen[:, ::2].shape)
        own = gradients(chosen)
        pool = gradients(random.integers(len(labels), size=(trials, self.others, self.batch)))
        ranks = random.random((trials, count, self.others)).argsort(axis=2)
        share = torch.tensor((ranks < clients - 1) / clients, dtype=torch.float32)
        return own, own / clients + share @ pool

    def _test_attacker(self, watched: Observation, updates: Tensor) -> list[float]:
        """The areas of an attacker who learns from the messages of the first updates and is tested on the others."""
        from sklearn.linear_model import LogisticRegression  # 1.4 s that only this attack needs
        from sklearn.metrics import roc_auc_score

        features = self._project(_features(watched, updates)).double().numpy()
        truth = np.arange(self.known) % 2 == 0, np.arange(self.tested) % 2 == 0
        found = []
        for numbers in features:
            known = numbers[: self.known]
            scaled = (numbers - known.mean(axis=0)) / (known.std(axis=0) + 1e-30)
            model = LogisticRegression(C=STRENGTH).fit(scaled[: self.known], truth[0])
            found.append(float(roc_auc_score(truth[1], model.decision_function(scaled[self.known :]))))
        return found

    def _project(self, features: Tensor) -> Tensor:
        """(T, n, m) on at most so many random directions; a constant where m = 0."""
        if not features.shape[2]:
            return features.new_zeros((*features.shape[:2], 1))
        if features.shape[2] <= self.features:
            return features
        generator = torch.Generator().manual_seed(SEED)
        return features @ torch.randn(features.shape[2], self.features, generator=generator)


def _features(watched: Observation, updates: Tensor) -> Tensor:
    """What the receiver makes of each message, (T, n, m): the numbers of messages that add up, since they mean the same
    in all; else what it decodes. All are messages of the same round."""
    compressor, at = watched.compressor, watched.at
    x = at.kernels.asarray(updates.numpy())
    exchange = compressor.exchange(x, compressor.begin(x.shape[0], x.shape[1], at.kernels), at)
    if compressor.adds_up:
        return torch.cat([_flat(part, at) for message in exchange.messages for part in message.parts.values()], dim=2)
    return _flat(compressor.decode(exchange.messages[-1], at, exchange.replies[:-1]), at)


def _flat(part: Array, at: At) -> Tensor:
    """(T, n, ...) as (T, n, m)."""
    return torch.as_tensor(at.kernels.to_numpy(part)).flatten(2).float()

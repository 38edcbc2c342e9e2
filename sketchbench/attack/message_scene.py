"""Who sends messages, and what about: clients with an image each, and networks that are drawn afresh in each trial."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench import seeds
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.prior import Prior, learnt
from sketchbench.dataset.dataset import Dataset
from sketchbench.measure.image import Likeness, likeness
from sketchbench.model.classification import Samples
from sketchbench.model.networks import MakeModel, initialise

PUBLIC = 64  # images for each network whose messages an attacker makes itself


class Scene(NamedTuple):
    """What is there in T trials before anything is compressed.

    Attributes:
        data: where images are from.
        networks: T of them.
        images: of C clients, (T, C, pixels), in [0, 1].
        labels: of these, (T, C).
        prior: of public images.
        public: training images for each trial, (T, n, pixels), and their labels (T, n).
    """

    data: Dataset
    networks: DenseNetworks
    images: Tensor
    labels: Tensor
    prior: Prior
    public: Samples

    def updates(self, networks: DenseNetworks) -> NDArray[np.float32]:
        """The clients' gradients in these networks, (T, C, d)."""
        return networks.gradients(self.images[:, :, None], self.labels[:, :, None]).numpy()

    def likenesses(self, images: NDArray[np.float64], trials: slice) -> list[Likeness]:
        """Of images (n, pixels) to those of the first clients in n trials."""
        truth = pixels(self.images[trials, 0])
        shape = self.data.shape
        return [likeness(a.reshape(shape), b.reshape(shape)) for a, b in zip(images, truth, strict=True)]


def drawn(data: Dataset, model: MakeModel, seed: int, clients: int, trials: int) -> Scene:
    """Test images of so many clients, of different classes as long as these suffice, networks, and the prior of the
    training images. Trial t of them depends on the number of trials, but not on anything else.

    Raises:
        ValueError: for a model that is no dense network with ReLU.
    """
    random = seeds.generator(seed, data="leakage")
    labels = (random.integers(data.classes, size=(trials, 1)) + np.arange(clients)) % data.classes
    chosen = np.empty_like(labels)
    for label in range(data.classes):
        there = labels == label
        chosen[there] = random.choice(np.flatnonzero(data.test.labels == label), int(there.sum()))
    images = torch.tensor(data.features(data.test)[chosen], dtype=torch.float32)
    features = data.features(data.train)
    prior = learnt(features.reshape(-1, *data.shape), images)
    shown = random.integers(len(features), size=(trials, PUBLIC))
    public = Samples(torch.tensor(features[shown], dtype=torch.float32), torch.tensor(data.train.labels[shown]))
    return Scene(data, networks(data, model, seed, range(trials)), images, torch.tensor(labels), prior, public)


def networks(data: Dataset, model: MakeModel, seed: int, trials: range) -> DenseNetworks:
    """Those of these trials, initialised as the model says."""
    keys = (seeds.key(seed, network="leakage", trial=trial) for trial in trials)
    return DenseNetworks([initialise(lambda: model(shape=data.shape, classes=data.classes), key) for key in keys])


def pixels(images: Tensor) -> NDArray[np.float64]:
    """Images (T, ...) as numbers in [0, 1], (T, pixels); 0 for one that is not finite."""
    return images.flatten(1).double().nan_to_num().clamp(0, 1).numpy()

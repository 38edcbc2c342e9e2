"""The setting of attacks on messages: clients with one image each, and a new random network in each trial."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.prior import ClassPriors, Prior, learn_class_priors, learn_prior
from sketchbench.base import seeds
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import Count, checked
from sketchbench.learning.dataset.dataset import Dataset
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import MakeModel, initialise
from sketchbench.measure.image import Likeness, likeness, psnr

PUBLIC = 64  # public images for each network; the attacker makes their messages


class Scene(NamedTuple):
    """The networks and the clients' images in T trials, for any compressor."""

    data: Dataset
    networks: DenseNetworks
    images: Tensor  # of C clients, (T, C, pixels), in [0, 1]
    labels: Tensor  # the classes of these images, (T, C)
    prior: Prior  # of images, learnt from public images
    classes: ClassPriors  # the priors of the images of each class
    public: Samples  # public training images for each trial, (T, n, pixels), and their labels (T, n)

    def updates(self, networks: DenseNetworks) -> NDArray[np.float32]:
        """The clients' gradients, (T, C, d), computed with these networks."""
        return networks.gradients(self.images[:, :, None], self.labels[:, :, None]).numpy()

    def likenesses(self, images: NDArray[np.float64], trials: slice) -> list[Likeness]:
        """The likeness of images (n, pixels) to the first client's images in n trials."""
        shape = self.data.shape
        pairs = zip(images, self._truth(images, trials), strict=True)
        return [likeness(a.reshape(shape), b.reshape(shape)) for a, b in pairs]

    def psnrs(self, images: NDArray[np.float64], trials: slice) -> NDArray[np.float64]:
        """The PSNR of the same pairs, (n,), in a hundredth of the time."""
        return np.array([psnr(a, b) for a, b in zip(images, self._truth(images, trials), strict=True)])

    def _truth(self, images: NDArray[np.float64], trials: slice) -> NDArray[np.float64]:
        if len(images) != len(self.images[trials]):
            raise ValueError(f"{len(images)} images must be one for each of {len(self.images[trials])} trials")
        return pixels(self.images[trials, 0])


_SCENES = Kept[tuple[str, str], tuple[MakeModel, Scene]](1)  # the model is kept, too: its repr may be an address only


@checked
def draw_scene(data: Dataset, model: MakeModel, seed: int, clients: Count, trials: Count) -> Scene:
    """Draw a scene: in each of `trials` trials a network, and a test image for each client.

    The clients' images have different classes, unless there are more clients than classes. Trial t changes with every
    argument, also with the number of trials. The last scene is kept for the next task of the process.

    Raises ValueError for a model other than a dense network with ReLU, or a class without a test image.
    """
    if missing := sorted(set(range(data.classes)) - set(data.test.labels.tolist())):
        raise ValueError(f"{data.label} has no test image of the classes {missing}; choose another data set")
    setting = (model, seed, clients, trials)
    made = _SCENES.of((repr(setting), data.digest), lambda: (model, _draw(data, model, seed, clients, trials)))
    return made[1]


def _draw(data: Dataset, model: MakeModel, seed: int, clients: int, trials: int) -> Scene:
    random = seeds.generator(seed, data="leakage")
    labels = (random.integers(data.classes, size=(trials, 1)) + np.arange(clients)) % data.classes
    chosen = np.empty_like(labels)
    for label in range(data.classes):
        same = labels == label
        chosen[same] = random.choice(np.flatnonzero(data.test.labels == label), int(same.sum()))
    images = torch.tensor(data.features(data.test)[chosen], dtype=torch.float32)
    features = data.features(data.train)
    known = features.reshape(-1, *data.shape)
    prior, classes = learn_prior(known, images), learn_class_priors(known, data.train.labels, images)
    shown = random.integers(len(features), size=(trials, PUBLIC))
    public = Samples(torch.tensor(features[shown], dtype=torch.float32), torch.tensor(data.train.labels[shown]))
    networks = draw_networks(data, model, seed, range(trials))
    return Scene(data, networks, images, torch.tensor(labels), prior, classes, public)


def draw_further(
    data: Dataset, images: Tensor, labels: Tensor, count: int, random: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Add `count` test images to each client; return images (T, C, B, pixels) and classes (T, C, B). They differ from
    the client's own; their classes follow its last. Raises ValueError for a class with too few test images."""
    features = torch.tensor(data.features(data.test), dtype=torch.float32)
    of_class = [torch.tensor(np.flatnonzero(data.test.labels == label)) for label in range(data.classes)]
    further = (labels[..., -1:] + 1 + torch.arange(count)) % data.classes
    chosen = torch.empty_like(further)
    for client in np.ndindex(*labels.shape[:2]):
        for label in sorted(set(further[client].tolist())):
            known, places = images[client][labels[client] == label], further[client] == label
            same = of_class[label]
            other = same[~(features[same][:, None] == known).all(dim=2).any(dim=1)].numpy()
            if len(other) < (number := int(places.sum())):
                raise ValueError(f"{data.label} has {len(other)} further test images of class {label}, not {number}")
            chosen[client][places] = torch.tensor(random.choice(other, number, replace=False))
    return torch.cat([images, features[chosen]], dim=2), torch.cat([labels, further], dim=2)


def draw_networks(data: Dataset, model: MakeModel, seed: int, trials: range) -> DenseNetworks:
    """Draw the networks of these trials."""
    keys = (seeds.key(seed, network="leakage", trial=trial) for trial in trials)
    return DenseNetworks(
        [initialise(lambda: model(shape=data.shape, classes=data.classes), key, data.shape) for key in keys]
    )


def pixels(images: Tensor) -> NDArray[np.float64]:
    """Images (T, ...) as pixels in [0, 1], (T, pixels); NaN becomes 0."""
    return images.flatten(1).double().nan_to_num().clamp(0, 1).numpy()

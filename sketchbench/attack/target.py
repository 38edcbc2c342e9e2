"""An attacker's knowledge of the images behind the messages of many trials."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sketchbench.attack.compressed_message import Sight
from sketchbench.attack.dense_networks import DenseNetworks
from sketchbench.attack.door import check_images, check_labels, check_tensor
from sketchbench.attack.prior import ClassPriors, Prior
from sketchbench.compressor.compressor import Compressor
from sketchbench.learning.model.classification import Samples

CLEARLY = 10  # a misfit larger by this factor than that of the victim's images is worse
ROUNDED = 1e-9  # a relative squared misfit that float32 allows


class Target(NamedTuple):
    """An attacker's knowledge of the n images behind mean gradients in some rounds, in T trials."""

    sights: Sequence[Sight]  # the view of the gradient in each round
    networks: Sequence[DenseNetworks]  # T networks a round, with the projections of the known or guessed key
    labels: Tensor  # the classes of the n images in each trial, (T, n)
    prior: Prior  # of images, learnt from public images
    classes: ClassPriors  # the priors of the images of each class
    seed: int  # of the starts
    compressor: Compressor
    public: Samples  # public images for each network, (T, p, pixels), and their labels (T, p)

    def check(self) -> None:
        """Raise TypeError or ValueError unless the parts fit together."""
        trials, d = self.sights[0].at.trials, self.networks[0].layout.d
        (_, pixels), *_, (classes,) = self.networks[0].layout.shapes
        check_labels("labels", self.labels, classes, trials, "n")
        check_tensor("the prior's root", self.prior.root, pixels, pixels)
        check_tensor("the prior's mean", self.prior.mean.flatten(), pixels)
        check_images("public images", self.public.images, trials, "p", pixels)
        check_labels("public labels", self.public.labels, classes, *self.public.images.shape[:2])
        for sight in self.sights:
            check_tensor("seen", sight.seen, trials, "m") if sight.seen.numel() else None
            if sight.predicted(torch.zeros(trials, d)).shape != sight.seen.shape:
                raise ValueError("predicted must have the shape of seen")

    def part(self, chosen: Sequence[int]) -> "Target":
        """Select some of the rounds."""
        return self._replace(sights=[self.sights[t] for t in chosen], networks=[self.networks[t] for t in chosen])

    @property
    def pixels(self) -> int:
        """The number of an image's pixels."""
        return int(self.prior.mean.numel())

    @property
    def measurements(self) -> Tensor:
        """The number of seen values that depend on the update, at least 1, (T,)."""
        return torch.stack([one.measurements for one in self.sights]).sum(dim=0).clamp(min=1)

    def of_any_class(self, z: Tensor) -> Tensor:
        """Map coordinates of the prior of all images to images (T, n, pixels)."""
        return self.prior.mean.flatten() + z @ self.prior.root

    def updates(self, images: Tensor) -> Iterator[Tensor]:
        """Yield the mean gradients (T, d) of images (T, n, pixels) in each round."""
        made: dict[int, Tensor] = {}
        for networks in self.networks:
            if id(networks) not in made:
                made[id(networks)] = networks.gradients(images[:, None], self.labels[:, None])[:, 0]
            yield made[id(networks)]

    def misfit(self, images: Tensor) -> Tensor:
        """‖predicted - seen‖²/‖seen‖² of all rounds, (T,), for images (T, n, pixels); for seen = 0 the numerator."""
        size = torch.stack([one.seen.square().sum(dim=1) for one in self.sights]).sum(dim=0)
        off = [
            (one.predicted(update) - one.seen).square().sum(dim=1)
            for one, update in zip(self.sights, self.updates(images), strict=True)
        ]
        return torch.stack(off).sum(dim=0) / torch.where(size > 0, size, torch.ones_like(size))

    def failed(self, answers: Iterable[Tensor], truth: Tensor) -> Tensor:
        """Return (T,): true if no attack's answer (T, n, pixels) fits the messages about as well as the victim's images
        do. Then the optimiser failed, and its answer says nothing about the leak."""
        enough = CLEARLY * self.misfit(truth) + ROUNDED
        return ~torch.stack([self.misfit(images) <= enough for images in answers]).any(dim=0)

    def surprisal(self, images: Tensor) -> Tensor:
        """Minus the exact log-likelihood of all rounds, (T,), for images (T, n, pixels)."""
        both = zip(self.sights, self.updates(images), strict=True)
        return torch.stack([one.surprisal(update) for one, update in both if one.surprisal]).sum(dim=0)

"""Gradient inversion of the messages of many trials at once, by the methods of `attack.inversion` and `most_likely`.

All attackers know the network, the compressor, and the labels. Reconstructed pixels are in [0, 1].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from sketchbench import seeds
from sketchbench.attack.adam import CosineAdam
from sketchbench.attack.compressed_message import Sight
from sketchbench.attack.dense_networks import DenseNetworks, estimate_first_inputs
from sketchbench.attack.door import check_images, check_labels, check_tensor
from sketchbench.attack.learnt_inversion import invert_by_regression
from sketchbench.attack.prior import Prior
from sketchbench.compressor.compressor import Compressor
from sketchbench.model.classification import Samples
from sketchbench.parameters import Checked, Count, Positive

Kind = Literal["gradient matching", "most likely", "closed form", "regression", "mean image"]
MATCHED, MOST_LIKELY, CLOSED_FORM, REGRESSION, MEAN_IMAGE = get_args(Kind)
CLEARLY = 100  # a random start replaces the most likely one if its misfit is smaller by this factor


class Target(NamedTuple):
    """What an attacker knows of the n images behind one mean gradient, in T trials.

    Attributes:
        sight: what the attacker sees of the gradient.
        networks: T networks, with the projections of the key that the attacker knows or guesses.
        labels: the classes of the n images in each trial, (T, n).
        prior: of images, learnt from public ones.
        seed: of the starts.
        compressor: of all clients.
        public: public images for each network, (T, p, pixels), and their labels (T, p).
    """

    sight: Sight
    networks: DenseNetworks
    labels: Tensor
    prior: Prior
    seed: int
    compressor: Compressor
    public: Samples

    def check(self) -> None:
        """Raise TypeError or ValueError unless the parts fit together."""
        trials, d = self.sight.at.trials, self.networks.layout.d
        (_, pixels), *_, (classes,) = self.networks.layout.shapes
        check_tensor("seen", self.sight.seen, trials, "m") if self.sight.seen.numel() else None
        check_labels("labels", self.labels, classes, trials, "n")
        check_tensor("the prior's root", self.prior.root, pixels, pixels)
        check_tensor("the prior's mean", self.prior.mean.flatten(), pixels)
        check_images("public images", self.public.images, trials, "p", pixels)
        check_labels("public labels", self.public.labels, classes, *self.public.images.shape[:2])
        if self.sight.predicted(torch.zeros(trials, d)).shape != self.sight.seen.shape:
            raise ValueError("predicted must have the shape of seen")

    def misfit(self, images: Tensor) -> Tensor:
        """‖predicted - seen‖² over ‖seen‖² for images (T, n, pixels): (T,). If seen is 0, ‖predicted - seen‖² alone."""
        seen = self.sight.seen
        update = self.networks.gradients(images[:, None], self.labels[:, None])[:, 0]
        size = seen.square().sum(dim=1)
        difference = (self.sight.predicted(update) - seen).square().sum(dim=1)
        return difference / torch.where(size > 0, size, torch.ones_like(size))


@dataclass(frozen=True)
class StackedAttacks(Checked):
    """Attacks that reconstruct the images of all trials at once. The optimiser is Adam, with a learning rate that falls
    to zero along a cosine.

    Arguments:
        steps: of Adam, from each start.
        starts: of `match_gradients`; the first one is the most likely image.
        stages: of `find_most_likely`; after each stage the variance of the noise is estimated from the misfit.
        pixel_rate: the initial learning rate for pixels in [0, 1].
        prior_rate: the initial learning rate for standard normal coordinates of the prior.
    """

    steps: Count
    starts: Count
    stages: Count
    pixel_rate: Positive
    prior_rate: Positive

    def run(self, target: Target) -> dict[Kind, Tensor]:
        """The reconstructions (T, n, pixels), in [0, 1], of each attack that applies.

        The closed form applies to single images, the regression to single images behind messages that don't add up. The
        mean image is the guess without a message.
        """
        target.check()
        likely = self.find_most_likely(target)
        images: dict[Kind, Tensor] = {MOST_LIKELY: likely, MATCHED: self.match_gradients(target, likely)}
        images[MEAN_IMAGE] = target.prior.mean.flatten().expand(likely.shape)
        if target.labels.shape[1] == 1:
            images[CLOSED_FORM] = closed_form(target)
        if target.labels.shape[1] == 1 and not target.compressor.adds_up:
            decoded, at = target.sight.decoded(), target.sight.at
            images[REGRESSION] = invert_by_regression(decoded, target.networks, target.compressor, at, target.public)
        return images

    def match_gradients(self, target: Target, likely: Tensor) -> Tensor:
        """Gradient matching (Zhu et al. 2019): minimise the misfit from the most likely images and from uniform noise.

        Each trial keeps the result from the most likely image, unless that from noise has a CLEARLY smaller misfit.
        """
        check_images("likely", likely, *target.labels.shape, target.prior.mean.numel())
        results = []
        for start in range(self.starts):
            random = seeds.generator(target.seed, attack="start", start=start)
            images = torch.tensor(random.random(likely.shape), dtype=torch.float32) if start else likely.clone()
            for _ in self._steps(images, self.pixel_rate, lambda x: target.misfit(x).sum()):
                images.data.clamp_(0, 1)
            images = images.detach()
            results.append((target.misfit(images), images))
        misfits, several = (torch.stack(parts) for parts in zip(*results, strict=True))
        misfits[1:] *= CLEARLY
        best = misfits.nan_to_num(nan=torch.inf).argmin(dim=0)
        return several[best, torch.arange(len(best))]

    def find_most_likely(self, target: Target) -> Tensor:
        """The most likely images: minimise misfit / v + ‖z‖² over images mean + root z of the prior.

        v, the variance of the noise in each of m measurements, is 1/m in the first stage, where all of the message
        counts as noise, and then the misfit of the stage before over m.
        """
        z = torch.zeros((*target.labels.shape, target.prior.mean.numel()))
        measurements = target.sight.measurements.clamp(min=1)
        variance = 1 / measurements

        def loss(z: Tensor) -> Tensor:
            unlikely = z.square().sum(dim=(1, 2))
            return (target.misfit(_images(target.prior, z)) + variance * unlikely).sum()

        for step in self._steps(z, self.prior_rate, loss):
            if (step + 1) % -(-self.steps // self.stages) == 0:
                with torch.no_grad():
                    variance = target.misfit(_images(target.prior, z)) / measurements
        return _images(target.prior, z).detach().clamp(0, 1)

    def _steps(self, variable: Tensor, rate: float, loss: Callable[[Tensor], Tensor]) -> Iterator[int]:
        """Minimise the loss over the variable in place, and yield the number of each step after it."""
        variable.requires_grad_()
        adam = CosineAdam([variable], rate, self.steps)
        for step in range(self.steps):
            value = loss(variable)
            if not value.requires_grad:  # the message does not depend on the images
                return
            adam.step(torch.autograd.grad(value, variable))
            yield step


def closed_form(target: Target) -> Tensor:
    """The image of a single client, (T, 1, pixels), from its gradient by the first layer (Phong et al. 2018).

    `estimate_first_inputs` gives the inputs of the first layer with standard errors. The result is the mean of the
    image given these inputs, so that the prior counts for more where errors are large, and fills in pixels that are not
    seen.

    Raises:
        ValueError: for more than one image.
    """
    if target.labels.shape[1] != 1:
        raise ValueError(f"the closed form needs the gradient of 1 image, not of {target.labels.shape[1]}")
    layout = target.networks.layout
    entered, variance = estimate_first_inputs(
        target.sight.decoded().double(), _visible_entries(target.sight, layout.d), layout
    )
    return _condition(target, entered, variance)


def _condition(target: Target, entered: Tensor, variance: Tensor) -> Tensor:
    """The mean of the image (T, 1, pixels) given the inputs of the first layer (T, pixels) and their error variance."""
    mean, root = target.prior.mean.flatten().double(), target.prior.root.double()
    covariance = root @ root
    through = target.networks.first_projection
    A = torch.eye(len(mean), dtype=torch.float64)[None] if through is None else through.transpose(1, 2).double()
    across = covariance @ A.transpose(1, 2)
    both = A @ across + torch.diag_embed(variance + 1e-12)
    departure = (entered - (A @ mean))[..., None]
    images = mean + (across @ torch.linalg.solve(both, departure))[..., 0]
    return images.float().clamp(0, 1)[:, None]


def _visible_entries(sight: Sight, d: int) -> Tensor:
    """1 for each entry of the update on which the message depends, else 0, (T, d)."""
    update = torch.randn(len(sight.seen), d, generator=torch.Generator().manual_seed(0)).requires_grad_()
    predicted = sight.predicted(update)
    weights = torch.randn(predicted.shape, generator=torch.Generator().manual_seed(1))
    if not predicted.requires_grad:
        return torch.zeros_like(update)
    (slopes,) = torch.autograd.grad((weights * predicted).sum(), update)
    return (slopes != 0).double()


def _images(prior: Prior, z: Tensor) -> Tensor:
    """The images (T, n, pixels) of coordinates (T, n, pixels)."""
    return prior.mean.flatten() + z @ prior.root

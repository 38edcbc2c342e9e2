"""Gradient inversion of the messages of many trials at once: the ideas of `attack.inversion` and `attack.most_likely`.

All attackers know the network, the compressor, and the labels. Each image is reconstructed in [0, 1].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from sketchbench import seeds
from sketchbench.attack.compressed_message import Sight
from sketchbench.attack.dense_networks import DenseNetworks, estimate_first_inputs
from sketchbench.attack.learnt_inversion import invert_by_regression
from sketchbench.attack.prior import Prior
from sketchbench.compressor.compressor import Compressor
from sketchbench.model.classification import Samples
from sketchbench.parameters import Checked, Count, Positive

Kind = Literal["gradient matching", "most likely", "closed form", "regression", "mean image"]
MATCHED, MOST_LIKELY, CLOSED_FORM, REGRESSION, MEAN_IMAGE = get_args(Kind)
CLEARLY = 100  # how many times the misfit of the most likely start must be that of another one, which then counts


class Target(NamedTuple):
    """Images that one mean gradient was computed from, as far as the attacker knows them.

    Attributes:
        sight: what is seen of the gradient.
        networks: T of them, with the projections of the attacker's key.
        labels: classes of the n images in each trial, (T, n).
        prior: public images of the kind.
        seed: of the starts.
        compressor: of all clients.
        public: images of the kind for each network, (T, n, pixels), and their labels (T, n).
    """

    sight: Sight
    networks: DenseNetworks
    labels: Tensor
    prior: Prior
    seed: int
    compressor: Compressor
    public: Samples

    def misfit(self, images: Tensor) -> Tensor:
        """‖predicted - seen‖² over ‖seen‖², or itself where only zeros are seen: (T,), of images (T, n, pixels)."""
        seen = self.sight.seen
        update = self.networks.gradients(images[:, None], self.labels[:, None])[:, 0]
        size = seen.square().sum(dim=1)
        difference = (self.sight.predicted(update) - seen).square().sum(dim=1)
        return difference / torch.where(size > 0, size, torch.ones_like(size))


@dataclass(frozen=True)
class StackedAttacks(Checked):
    """How images are searched for, in all trials at once, by Adam with a rate that falls to zero along a cosine.

    Arguments:
        steps: of Adam, from each start.
        starts: of `matched`: the first is the most likely image.
        stages: of `likely`, after each of which the variance of the noise is taken from what is not matched.
        pixel_rate: at first, of pixels in [0, 1].
        prior_rate: at first, of the standard normal coordinates of the prior.
    """

    steps: Count
    starts: Count
    stages: Count
    pixel_rate: Positive
    prior_rate: Positive

    def run(self, target: Target) -> dict[Kind, Tensor]:
        """What each attack finds: images (T, n, pixels) in [0, 1]. The closed form is for single images only, and so
        is the regression, of messages that are no linear function of the update; the mean image is what remains where
        nothing else is better."""
        likely = self.find_most_likely(target)
        found: dict[Kind, Tensor] = {MOST_LIKELY: likely, MATCHED: self.match_gradients(target, likely)}
        found[MEAN_IMAGE] = target.prior.mean.flatten().expand(likely.shape)
        if target.labels.shape[1] == 1:
            found[CLOSED_FORM] = closed_form(target)
        if target.labels.shape[1] == 1 and not target.compressor.adds_up:
            decoded, at = target.sight.decoded(), target.sight.at
            found[REGRESSION] = invert_by_regression(decoded, target.networks, target.compressor, at, target.public)
        return found

    def match_gradients(self, target: Target, likely: Tensor) -> Tensor:
        """The images with the least misfit that are found from the most likely ones, and from starts of uniform noise
        (Zhu et al. 2019); in each trial the start with the least misfit is kept."""
        found = []
        for start in range(self.starts):
            random = seeds.generator(target.seed, attack="start", start=start)
            images = torch.tensor(random.random(likely.shape), dtype=torch.float32) if start else likely.clone()
            for _ in self._steps(images, self.pixel_rate, lambda x: target.misfit(x).sum()):
                images.data.clamp_(0, 1)
            images = images.detach()
            found.append((target.misfit(images), images))
        misfits, several = (torch.stack(parts) for parts in zip(*found, strict=True))
        misfits[1:] *= CLEARLY
        best = misfits.nan_to_num(nan=torch.inf).argmin(dim=0)
        return several[best, torch.arange(len(best))]

    def find_most_likely(self, target: Target) -> Tensor:
        """The most likely images, given what is seen: the least misfit / v + ‖z‖² over images mean + root z of the
        prior. v, the variance of the noise in each measurement, is the misfit over their number: at first all that is
        seen counts as noise, and then what the stage before did not match."""
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
        """The numbers of the steps, after each has changed the variable in place."""
        variable.requires_grad_()
        optimiser = torch.optim.Adam([variable], lr=rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        for step in range(self.steps):
            value = loss(variable)
            if not value.requires_grad:  # nothing that is seen depends on the images
                return
            (variable.grad,) = torch.autograd.grad(value, variable)
            optimiser.step()
            schedule.step()
            yield step


def closed_form(target: Target) -> Tensor:
    """The image of a single client, from the first layer: ∂W is the outer product of ∂b and what enters the layer, so
    that ∂W over ∂b is the image, where both are seen (Phong et al. 2018). With errors in what is decoded it is a
    regression, whose standard errors say how far the prior counts; it fills in the pixels that are not seen, too.

    Raises:
        ValueError: for more images than one.
    """
    if target.labels.shape[1] != 1:
        raise ValueError(f"{target.labels.shape[1]} images in a gradient; the closed form is that of 1")
    layout = target.networks.layout
    entered, variance = estimate_first_inputs(
        target.sight.decoded().double(), _visible_entries(target.sight, layout.d), layout
    )
    return _condition(target, entered, variance)


def _condition(target: Target, entered: Tensor, variance: Tensor) -> Tensor:
    """The mean of the image (T, 1, pixels) given what enters the first layer (T, pixels), with errors."""
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
    """Which entries of the update the message depends on, as 0 and 1, (T, d)."""
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

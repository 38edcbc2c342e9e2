"""Gradient inversion of the messages of many trials at once, by the methods of `attack.inversion` and `most_likely`.

All attackers know the network, the compressor, and the labels. Reconstructed pixels are in [0, 1].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sketchbench.attack.adam import CosineAdam
from sketchbench.attack.compressed_message import Sight
from sketchbench.attack.dense_networks import estimate_first_inputs
from sketchbench.attack.door import check_images
from sketchbench.attack.gauss_newton import GaussNewton, match_messages
from sketchbench.attack.learnt_inversion import invert_by_regression
from sketchbench.attack.peeling import peel_batches
from sketchbench.attack.target import Target
from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Natural, Positive

Kind = Literal[
    "most likely of its class",
    "most likely",
    "gradient matching",
    "closed form",
    "exact likelihood",
    "regression",
    "size",
    "Gauss-Newton",
    "peeling",
    "class mean",
]
OF_CLASS, MOST_LIKELY, MATCHED, CLOSED_FORM, LIKELIHOOD, REGRESSION, SIZE, NEWTON, PEELED, CLASS_MEAN = get_args(Kind)
# What an attack knows beside the network, the compressor and the labels.
KNOWS: dict[Kind, str] = {
    OF_CLASS: "key; prior of the class",
    MOST_LIKELY: "key; prior of all classes",
    MATCHED: "key; prior of all classes",
    CLOSED_FORM: "key; prior of the class",
    LIKELIHOOD: "key; prior of the class",
    REGRESSION: "key; public images",
    SIZE: "no key; prior of the class",
    NEWTON: "key; prior of the class; public images",
    PEELED: "unit of pixels; prior of the class",
    CLASS_MEAN: "no message; prior of the class",
}
CLEARLY = 100  # a random start replaces the most likely image if its misfit is smaller by this factor
TINY = torch.finfo(torch.float32).tiny
NOTHING = 1e-12  # least variance of a layer's input, and of the logarithm of a ratio
MEASURED = 8  # public images whose messages relate a message's size to its update's
Images = Callable[[Tensor], Tensor]  # of a prior, from coordinates (T, n, pixels)


@dataclass(frozen=True)
class StackedAttacks(Checked):
    """Attacks that reconstruct the images of all trials at once. The rate of Adam falls to zero along a cosine."""

    steps: Count  # of Adam, from each start
    starts: Count  # of `match_gradients`; the first start is the most likely image
    stages: Count  # of `find_most_likely`; after each stage the noise variance is estimated from the misfit
    rounds: Count  # the most rounds for a step of `find_most_likely`, chosen at random
    pixel_rate: Positive  # the initial learning rate for pixels in [0, 1]
    prior_rate: Positive  # the initial learning rate for standard normal coordinates of the prior
    gauss_newton: GaussNewton | None = None  # None: without this attack
    programmes: Natural = 0  # of `peeling.peel`; 0: without this attack

    def run(self, target: Target) -> dict[Kind, Tensor]:
        """Return the reconstructions (T, n, pixels), in [0, 1], of each attack that applies.

        With several rounds, weaker attacks are skipped (`most likely`, `gradient matching`, `regression`), and so are
        attacks that need a key the attacker only guesses.

        - `most likely of its class`: `find_most_likely` under the prior of the image's class; with several rounds, only
          if no likelihood is stated.
        - `most likely`: the same under the prior of all classes; for single images.
        - `gradient matching`: `match_gradients`, from the most likely image of all classes; for single images.
        - `closed form`: see `closed_form`; for single images.
        - `exact likelihood`: the most likely image of its class if the compressor states a likelihood.
        - `regression`: see `invert_by_regression`; for single images behind messages that don't add up.
        - `Gauss-Newton`: see `match_messages`; for single images in one round, if the key is known.
        - `peeling`: see `peel_batches`; for several images in one round, if the message has their exact gradient.
        - `size`: the most likely image of its class for the size of the messages, which is visible without their key.
        - `class mean`: the guess without a message.
        """
        target.check()
        of_class, one_round = target.classes.of(target.labels), len(target.sights) == 1
        single, first = target.labels.shape[1] == 1, target.sights[0]
        images: dict[Kind, Tensor] = {CLASS_MEAN: of_class(torch.zeros((*target.labels.shape, target.pixels)))}
        if first.guessed:
            images[SIZE] = self._descend(target, of_class, _size_surprisal(target))
        if first.guessed and not one_round:
            return images
        if first.surprisal is not None:
            images[LIKELIHOOD] = self._descend(target, of_class, target.surprisal)
        if one_round or first.surprisal is None:
            images[OF_CLASS] = self.find_most_likely(target, of_class)
        if single and (one_round or target.compressor.feedback != "client"):
            images[CLOSED_FORM] = closed_form(target)
        if one_round and single and not first.guessed:
            likely = self.find_most_likely(target, target.of_any_class)
            images |= {MOST_LIKELY: likely, MATCHED: self.match_gradients(target, likely)}
            if self.gauss_newton:
                images[NEWTON] = match_messages(target, self.gauss_newton)
        if one_round and not single and self.programmes:
            peeled = peel_batches(target, images[OF_CLASS], programmes=self.programmes)
            images |= {PEELED: peeled} if peeled is not None else {}
        if one_round and single and not target.compressor.adds_up:
            decoded, networks = first.decoded(), target.networks[0]
            images[REGRESSION] = invert_by_regression(decoded, networks, target.compressor, first.at, target.public)
        return images

    def match_gradients(self, target: Target, likely: Tensor) -> Tensor:
        """Gradient matching (Zhu et al. 2019): minimise the misfit from the most likely images and from uniform noise.
        Each trial keeps the result from the most likely image, unless one from noise has a CLEARLY smaller misfit."""
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

    def find_most_likely(self, target: Target, images: Images) -> Tensor:
        """The most likely images: minimise misfit / v + ‖z‖² over the images of a prior. v is the noise variance in
        each of m measurements: 1/m in the first stage, when the whole message counts as noise, and then the last
        stage's misfit over m."""
        z = torch.zeros((*target.labels.shape, target.pixels))
        variance, random = 1 / target.measurements, seeds.generator(target.seed, attack="rounds")

        def loss(z: Tensor) -> Tensor:
            part, count = target, len(target.sights)
            if count > self.rounds:
                part = target.part(random.choice(count, self.rounds, replace=False).tolist())
            return (part.misfit(images(z)) + variance * z.square().sum(dim=(1, 2))).sum()

        for step in self._steps(z, self.prior_rate, loss):
            if (step + 1) % -(-self.steps // self.stages) == 0:
                with torch.no_grad():
                    variance = target.misfit(images(z)) / target.measurements
        return images(z).detach().clamp(0, 1)

    def _descend(self, target: Target, images: Images, surprisal: Callable[[Tensor], Tensor]) -> Tensor:
        """The most likely images under a prior, for the surprisal (T,) of images (T, n, pixels)."""
        z = torch.zeros((*target.labels.shape, target.pixels))
        for _ in self._steps(
            z, self.prior_rate, lambda z: (surprisal(images(z)) + z.square().sum(dim=(1, 2)) / 2).sum()
        ):
            pass
        return images(z).detach().clamp(0, 1)

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
    """The image of a single client, (T, 1, pixels), from its first layer's gradients (Phong et al. 2018).

    `estimate_first_inputs` gives the inputs of the first layer with standard errors. The result is the image's mean
    given these inputs of all rounds. So its class prior counts for more if errors are large, and fills in unseen
    pixels. O(pixels³) a trial. Raises ValueError for more than one image.
    """
    if target.labels.shape[1] != 1:
        raise ValueError(f"the closed form needs the gradient of 1 image, not of {target.labels.shape[1]}")
    layout, labels = target.networks[0].layout, target.labels[:, 0]
    roots, mean = target.classes.roots.double(), target.classes.means[labels].double()
    covariances, seen = roots @ roots, []
    for sight in target.sights:
        entered, variance = estimate_first_inputs(sight.decoded().double(), _visible_entries(sight, layout.d), layout)
        seen.append((entered, 1 / (variance + NOTHING)))
    if target.networks[0].first_projection is None:
        weight = torch.stack([one for _, one in seen]).sum(dim=0)
        shift = torch.stack([one * (entered - mean) for entered, one in seen]).sum(dim=0) / weight
        covariance = covariances[labels]
        off = torch.linalg.solve(covariance + torch.diag_embed(1 / weight), shift[..., None])
        return (mean + (covariance @ off)[..., 0]).float().clamp(0, 1)[:, None]
    precision, pull = torch.linalg.inv(covariances)[labels], torch.zeros_like(mean)
    for (entered, weight), networks in zip(seen, target.networks, strict=True):
        assert networks.first_projection is not None
        A = networks.first_projection.transpose(1, 2).double()
        weighed = A.transpose(1, 2) * weight[:, None]
        precision = precision + weighed @ A
        pull = pull + (weighed @ (entered - (A @ mean[..., None])[..., 0])[..., None])[..., 0]
    images = mean + torch.linalg.solve(precision, pull[..., None])[..., 0]
    return images.float().clamp(0, 1)[:, None]


def _size_surprisal(target: Target) -> Callable[[Tensor], Tensor]:
    """Minus the log-likelihood (T,) of the messages' mean squared norm, calibrated on messages of public images."""
    public = target.public
    sight, networks = target.sights[0], target.networks[0]
    logs = []
    for place in range(MEASURED):
        update = networks.gradients(public.images[:, None, [place]], public.labels[:, None, [place]])[:, 0]
        logs.append(_log_size(sight.predicted(update)) - _log_size(update))
    ratio = torch.stack(logs)
    seen = torch.stack([one.seen.square().sum(dim=1) for one in target.sights]).mean(dim=0).clamp_min(TINY).log()
    variance = ratio.var() / len(target.sights) + NOTHING

    def surprisal(images: Tensor) -> Tensor:
        different = {id(update): update for update in target.updates(images)}
        size = torch.stack([_log_size(update) for update in different.values()]).mean(dim=0)
        return (seen - size - ratio.mean()).square() / (2 * variance)

    return surprisal


def _log_size(x: Tensor) -> Tensor:
    """log ‖x‖² of the rows of x."""
    return x.square().sum(dim=1).clamp_min(TINY).log()


def _visible_entries(sight: Sight, d: int) -> Tensor:
    """1 for each entry of the update on which the message depends, else 0, (T, d)."""
    update = torch.randn(len(sight.seen), d, generator=torch.Generator().manual_seed(0)).requires_grad_()
    predicted = sight.predicted(update)
    weights = torch.randn(predicted.shape, generator=torch.Generator().manual_seed(1))
    if not predicted.requires_grad:
        return torch.zeros_like(update)
    (slopes,) = torch.autograd.grad((weights * predicted).sum(), update)
    return (slopes != 0).double()

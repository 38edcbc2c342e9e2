"""Stacks of any networks that torch can differentiate: the functions of `StackedPerceptron`, trial by trial."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from sketchbench.base.parameters import Count, checked
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.model import classification
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.dense import is_perceptron
from sketchbench.learning.model.networks import MakeModel, Shape, initialise
from sketchbench.learning.objective.stacked import (
    EVALUATED,
    Batches,
    Projections,
    Shapes,
    StackedPerceptron,
)
from sketchbench.learning.objective.stacked import of_model as perceptron_of

ALONE = 3  # images that show whether a network treats each by itself


@dataclass(frozen=True)
class StackedNetwork:
    """The cross-entropy of a network as a function of flat weights in float32. The network's own weights are not used;
    it is on the kernels' device, and takes images of this shape, channels, height and width."""

    kernels: Kernels
    model: nn.Module = field(repr=False)
    image: Shape

    @cached_property
    def shapes(self) -> Shapes:
        """Shapes of the parameters."""
        return tuple(tuple(value.shape) for value in self.model.parameters())

    @property
    def d(self) -> int:
        """The number of parameters."""
        return sum(value.numel() for value in self.model.parameters())

    def gradients(
        self, w: Array, batches: Batches, clip: float | None = None, projections: Projections | None = None
    ) -> Array:
        """As in `StackedPerceptron`; with `clip` it takes C B d numbers of memory. ValueError for projections."""
        if any(one is not None for one in projections or ()):
            raise ValueError("layers are projected in perceptrons only; leave sketched_layers out, or take model=mlp")
        if clip is not None and not clip > 0:
            raise ValueError(f"clip={clip} must be > 0; None for no clipping")
        slope = torch.func.grad(self._loss)
        if clip is None and self._at_once:
            inputs, labels, shares = map(self._tensor, batches)
            every = torch.func.vmap(torch.func.vmap(slope, in_dims=(None, 0, 0, 0)))
            found = every(self._tensor(w), inputs.reshape(*labels.shape, *self.image), labels, shares)
            return self.kernels.xp.from_dlpack(found)
        gradients = self.kernels.xp.empty((*batches.labels.shape[:2], self.d), dtype="float32")
        for trial, weights in enumerate(map(self._tensor, w)):
            inputs, labels, shares = (self._tensor(part[trial]) for part in batches)
            images = inputs.reshape(*labels.shape, *self.image)
            if clip is None:
                clients = zip(images, labels, shares, strict=True)
                total = torch.stack([slope(weights, *client) for client in clients])
            else:
                each = torch.func.vmap(torch.func.vmap(slope, in_dims=(None, 0, 0, 0)), in_dims=(None, 0, 0, 0))
                single = (images[:, :, None], labels[:, :, None], torch.ones_like(shares)[:, :, None])
                records = each(weights, *single)
                factors = shares * (clip / records.norm(dim=-1).clamp(min=1e-30)).clamp(max=1)
                total = torch.einsum("cb,cbd->cd", factors, records)
            gradients[trial] = self.kernels.xp.from_dlpack(total)
        return gradients

    def accuracy(self, w: Array, inputs: Array, labels: Array) -> Array:
        """As in `StackedPerceptron`."""
        images, classes = self._tensor(inputs).reshape(-1, *self.image), self._tensor(labels)
        with torch.no_grad():
            right = []
            for weights in map(self._tensor, [w] if self._at_once else w):
                score = torch.func.vmap(self._scores, in_dims=(0, None)) if self._at_once else self._scores
                scores = torch.cat([score(weights, part) for part in torch.split(images, EVALUATED)], dim=-2)
                found = classification.predict_classes(scores.flatten(0, -2)).reshape(-1, len(classes))
                right.append((found == classes).sum(dim=1))
        return self.kernels.asarray(torch.cat(right).tolist()) / len(labels)

    @property
    def _at_once(self) -> bool:
        """Return whether trials and clients are computed at once: 40 times as fast on a GPU, not faster on a CPU."""
        return self.kernels.NAME == "cupy"

    def _tensor(self, array: Array) -> Tensor:
        return torch.as_tensor(array, device=device_of(self.kernels))

    def _scores(self, flat: Tensor, images: Tensor) -> Tensor:
        """The scores of images (n, channels, height, width) at flat weights (d,): (n, classes)."""
        named = list(self.model.named_parameters())
        pieces = torch.split(flat, [value.numel() for _, value in named])
        weights = {name: piece.view(value.shape) for (name, value), piece in zip(named, pieces, strict=True)}
        scores: Tensor = torch.func.functional_call(self.model, weights, (images,))
        return scores

    def _loss(self, flat: Tensor, images: Tensor, labels: Tensor, shares: Tensor) -> Tensor:
        """The sum of the images' losses, each times its share."""
        scores = self._scores(flat, images)
        if scores.shape[1] == 1:
            own = labels.to(scores.dtype)
            losses = nn.functional.binary_cross_entropy_with_logits(scores[:, 0], own, reduction="none")
        else:
            losses = nn.functional.cross_entropy(scores, labels, reduction="none")
        return (shares * losses).sum()


@checked
def stacked(kernels: Kernels, make: MakeModel, shape: Shape, classes: Count) -> StackedPerceptron | StackedNetwork:
    """The stacked form of the network that `make` makes; the fast one for a perceptron. Raises ValueError if an
    image's score depends on other images or on chance, as with batch normalisation or dropout: records have no
    gradients then."""
    model = initialise(lambda: make(shape=shape, classes=classes), 0, shape)
    if is_perceptron(model):
        return perceptron_of(kernels, model)
    if not scores_alone(model, shape):
        raise ValueError(
            f"{type(model).__name__}: the score of an image depends on the other images of a batch, or on chance, as "
            "with batch normalisation or dropout; take nn.GroupNorm, and no dropout"
        )
    return StackedNetwork(kernels, model.to(device_of(kernels)), shape)


def scores_alone(model: nn.Module, shape: Shape) -> bool:
    """Return whether training scores are independent of the rest of the batch; updates batch-norm statistics."""
    images = torch.rand(ALONE, *shape, generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng(), torch.no_grad():
        together, alone = model(images), [model(image[None]) for image in images]
    return torch.allclose(together, torch.cat(alone), rtol=1e-3, atol=1e-5)

"""The victim of gradient inversion: a client that takes one training step on a single image."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import dlpack

from sketchbench.attack.door import check_axes, check_images, check_labels, check_network, check_tensor, score
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.objective.empirical import EmpiricalRisk
from sketchbench.sketch.family import Family

MakeNetwork = Callable[[Family | None], nn.Module]


@dataclass(frozen=True)
class Victim:
    """A client, its data, and its network. Raises ValueError unless images are in [0, 1], and labels and network fit
    them. `network` makes the round's network, plain (None) or with layers sketched by a family, always with the same
    weights, which are public unless a protocol hides them. The second client is the attacker if a client attacks."""

    network: MakeNetwork
    samples: Samples  # images, float64, and labels of the victim and the round's other client
    classes: int  # the number of classes

    def __post_init__(self) -> None:
        images, labels = self.samples
        check_images("images", images, 2, "channels", "height", "width")
        check_labels("labels", labels, self.classes, 2)
        check_network(self.network(None), images[:1], self.classes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels, height and width of an image."""
        return tuple(self.samples.images.shape[1:])

    def loss(self, kernels: Kernels) -> "ImageLoss":
        """The victim's loss as a function of flat weights."""
        own = Samples(*(part[:1] for part in self.samples))
        return ImageLoss(kernels, self.network(None), own)


def gradient(network: nn.Module, image: Tensor, label: Tensor) -> Tensor:
    """∇_w of the cross-entropy, flat (d,), in parameter order; differentiable by image and label.

    Arguments:
        image: (1, channels, height, width).
        label: the class (1,), or probabilities (1, classes).
    """
    return torch.cat([part.flatten() for part in gradients(network, image, label).values()])


def gradients(network: nn.Module, image: Tensor, label: Tensor) -> dict[str, Tensor]:
    """The parts of `gradient` by parameter name, each in the parameter's shape."""
    named = dict(network.named_parameters())
    scores = score(network, image)
    if label.shape not in (scores.shape, scores.shape[:1]):
        raise ValueError(
            f"a label of shape {tuple(label.shape)} must be a class or probabilities for {tuple(scores.shape)}"
        )
    loss = nn.functional.cross_entropy(scores, label)
    create = image.requires_grad or label.requires_grad
    slopes = torch.autograd.grad(loss, list(named.values()), create_graph=create)
    return dict(zip(named, slopes, strict=True))


def jacobian(network: nn.Module, image: Tensor, label: Tensor) -> Tensor:
    """The derivative of the gradient by the pixels, (d, pixels), at one image and class, by forward differentiation."""
    check_tensor("image", image, 1, "channels", "height", "width")
    check_labels("label", label, score(network, image).shape[1], 1)
    weights = {name: value.detach() for name, value in network.named_parameters()}

    def loss(weights: dict[str, Tensor], image: Tensor) -> Tensor:
        scores = torch.func.functional_call(network, weights, (image,))
        return nn.functional.cross_entropy(scores, label)

    def flat(image: Tensor) -> Tensor:
        parts = torch.func.grad(loss)(weights, image)
        return torch.cat([part.flatten() for part in parts.values()])

    return torch.func.jacfwd(flat)(image).flatten(1)


def clip_norm(vector: Tensor, bound: float) -> Tensor:
    """Scale a vector (d,) down to the norm `bound` if it is longer."""
    check_axes("vector", vector, "d")
    if not bound > 0:
        raise ValueError(f"bound={bound} must be > 0")
    if bound == math.inf:
        return vector
    return vector / (vector.norm() / bound).clamp(min=1.0)


class ImageLoss(EmpiricalRisk):
    """The loss of a network on the only client's image, as a function of its flat weights. Its minimum, and the
    constants that theorems need, are unknown. Gradients at several weight vectors are computed one after the other."""

    convexity = -np.inf
    smoothness = np.inf
    record_bound = np.inf
    minimum = -np.inf

    def __init__(self, kernels: Kernels, network: nn.Module, own: Samples) -> None:
        weights = nn.utils.parameters_to_vector(network.parameters()).detach()
        super().__init__(kernels, weights.numel(), clients=1)
        self.records = np.zeros((1, 1), dtype=np.int64)
        self.start = weights.cpu().numpy()
        self.minimiser = np.full(self.d, np.nan)
        self._network, self._own = network, own

    def loss(self, w: Array) -> Array:
        return self._at_each(w, lambda: self._loss().detach()[None])[..., 0]

    def batch_gradients(self, w: Array, shares: Array, bound: float = np.inf) -> Array:
        self.check_batches(w, shares, bound)

        def own() -> Tensor:
            return clip_norm(gradient(self._network, *self._own), bound)

        return shares * self._at_each(w, own)

    def _loss(self) -> Tensor:
        return nn.functional.cross_entropy(self._network(self._own.images), self._own.labels)

    def _at_each(self, w: Array, value: Callable[[], Tensor]) -> Array:
        """Evaluate `value`, which returns (n,), with the network at each of the weights (..., d): (..., n)."""
        xp = self.kernels.xp
        values = []
        for weights in w.reshape(-1, self.d):
            flat = dlpack.from_dlpack(xp.ascontiguousarray(weights))
            nn.utils.vector_to_parameters(flat.clone(), self._network.parameters())
            values.append(xp.from_dlpack(value().contiguous()))
        return xp.stack(values).reshape(*w.shape[:-1], -1)

"""Stacks of networks of any layers: gradients and accuracies by autograd, one network and client after the other."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from sketchbench.kernels import Array, Kernels
from sketchbench.model.networks import MakeModel, Shape
from sketchbench.objective.stacked import (
    EVALUATED,
    Batches,
    Projections,
    Shapes,
    StackedPerceptron,
    is_perceptron,
    of_model,
)
from sketchbench.parameters import Count, checked


@dataclass(frozen=True, eq=False)
class StackedModule:
    """The cross-entropy of a network, as a function of flat weights in float32; as `StackedPerceptron`, but without
    clipping and projections, and on the CPU.

    Arguments:
        kernels: backend of all arrays.
        model: the network, whose own weights are not used.
        image: shape of an image; inputs are flat.
    """

    kernels: Kernels
    model: nn.Module
    image: Shape

    @property
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
        """Sums of the gradients of a client's records, each times its share: float32 (T, C, d), in new memory.

        Raises:
            ValueError: for a norm to clip to, or a projection.
        """
        if clip is not None:
            raise ValueError(
                f"clip={clip} needs the gradient of each record, which {type(self.model).__name__} has no cheap form "
                "of; choose a perceptron, such as model=mlp, or no privacy"
            )
        if any(projection is not None for projection in projections or ()):
            raise ValueError("sketched layers need a perceptron, such as model=mlp; choose another compressor")
        inputs, labels, shares = (self._tensor(part) for part in batches)
        gradients = np.empty((*batches.labels.shape[:2], self.d), dtype=np.float32)
        for t, client in np.ndindex(gradients.shape[:2]):
            weights = [part.requires_grad_() for part in self._parts(w[t])]
            losses = nn.functional.cross_entropy(
                self._scores(weights, inputs[t, client]), labels[t, client].long(), reduction="none"
            )
            slopes = torch.autograd.grad((losses * shares[t, client]).sum(), weights)
            torch.cat([slope.flatten() for slope in slopes], out=torch.from_numpy(gradients[t, client]))
        return self.kernels.asarray(gradients)

    @torch.no_grad()
    def accuracy(self, w: Array, inputs: Array, labels: Array) -> Array:
        """The share of records (n, p) whose class has the highest score, float64 (T,)."""
        images, classes = (torch.split(self._tensor(part), EVALUATED) for part in (inputs, labels))
        right = np.zeros(len(w))
        for t in range(len(w)):
            weights = list(self._parts(w[t]))
            for some, own in zip(images, classes, strict=True):
                right[t] += int((self._scores(weights, some).argmax(dim=1) == own).sum())
        return self.kernels.asarray(right / len(labels))

    def _tensor(self, array: Array) -> Tensor:
        return torch.as_tensor(self.kernels.to_numpy(array))

    def _parts(self, flat: Array) -> Iterator[Tensor]:
        """The parameters, copied from flat weights (d,)."""
        sizes = [value.numel() for value in self.model.parameters()]
        for part, shape in zip(torch.split(self._tensor(flat), sizes), self.shapes, strict=True):
            yield part.reshape(shape).clone()

    def _scores(self, weights: list[Tensor], inputs: Tensor) -> Tensor:
        names = [name for name, _ in self.model.named_parameters()]
        images = inputs.reshape(-1, *self.image)
        scores: Tensor = functional_call(self.model, dict(zip(names, weights, strict=True)), (images,))
        return scores


@checked
def stacked_network(
    kernels: Kernels, make: MakeModel, shape: Shape, classes: Count
) -> StackedPerceptron | StackedModule:
    """The stacked form of the network that `make` makes, for images of this shape; a perceptron's is faster.

    Raises:
        ValueError: for a network with state beside its parameters, as of batch normalisation, or with random layers.
    """
    model = make(shape=shape, classes=classes)
    if is_perceptron(model):
        return of_model(kernels, model)
    layers = [type(layer).__name__ for layer in model.modules() if isinstance(layer, nn.modules.dropout._DropoutNd)]
    if state := [name for name, _ in model.named_buffers()] + layers:
        raise ValueError(
            f"a stack of networks needs layers without state and randomness, and {type(model).__name__} has "
            f"{state[0]}; choose another network, such as model=strided_cnn"
        )
    return StackedModule(kernels, model, shape)

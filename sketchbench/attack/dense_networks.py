"""Stacked ReLU perceptrons with gradients in closed form, which are differentiable by the images."""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sketchbench.attack.door import check_axes, check_labels, check_tensor
from sketchbench.compressor.message import Layout
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.model.dense import dense_layers

FAR = 1e6  # standard error of an unknown input
LEAST = 1e-300  # replaces a zero divisor


class DenseNetworks:
    """T dense networks of equal layers, in float32, each with its own weights. `networks` have dense layers with biases
    and ReLU between them, as in `model.networks.mlp`. Raises ValueError for other layers."""

    def __init__(self, networks: Sequence[nn.Module]) -> None:
        layers = [_dense_layers(network) for network in networks]
        shapes = {tuple(tuple(layer.weight.shape) for layer in several) for several in layers}
        if len(shapes) != 1:
            raise ValueError(
                f"networks must be one or more, all of the same layers, and have weights of shapes {shapes}"
            )
        self.layout = Layout(tuple(tuple(p.shape) for layer in layers[0] for p in (layer.weight, layer.bias)))
        together = list(zip(*layers, strict=True))
        self._weights = [torch.stack([layer.weight.detach() for layer in several]) for several in together]
        self._biases = [torch.stack([layer.bias.detach() for layer in several])[:, None] for several in together]
        self._projections: list[Tensor | None] = [None] * len(together)

    def with_projections(self, projections: Sequence[Array | None], kernels: Kernels) -> "DenseNetworks":
        """Return the networks with each layer's inputs multiplied by the matrices of `traits.projections`."""
        inputs = [weight.shape[2] for weight in self._weights]
        if len(projections) != len(self.layout.shapes):
            raise ValueError(
                f"{len(projections)} projections must be one or None for each of {len(self.layout.shapes)} shapes"
            )
        for size, projection in zip(inputs, projections[::2], strict=True):
            wanted = (self.trials, size, size)
            if projection is not None and projection.shape != wanted:
                raise ValueError(f"a projection of shape {tuple(projection.shape)} must be {wanted}")
        networks = copy.copy(self)
        networks._projections = [
            p if p is None else torch.as_tensor(kernels.to_numpy(p)).float() for p in projections[::2]
        ]
        return networks

    def stepped(self, steps: Tensor) -> "DenseNetworks":
        """Return the networks with weights minus `steps` (T, d), in parameter order; differentiable by the steps."""
        check_axes("steps", steps, self.trials, self.layout.d)
        parts = torch.split(steps, [math.prod(shape) for shape in self.layout.shapes], dim=1)
        networks = copy.copy(self)
        networks._weights = [w - part.view_as(w) for w, part in zip(self._weights, parts[::2], strict=True)]
        networks._biases = [b - part.view_as(b) for b, part in zip(self._biases, parts[1::2], strict=True)]
        return networks

    def of(self, trial: int) -> "DenseNetworks":
        """The network of one trial, as T = 1 networks."""
        networks = copy.copy(self)
        networks._weights, networks._biases = ([x[[trial]] for x in own] for own in (self._weights, self._biases))
        networks._projections = [x if x is None else x[[trial]] for x in self._projections]
        return networks

    def double(self) -> "DenseNetworks":
        """Return the networks in float64."""
        networks = copy.copy(self)
        networks._weights, networks._biases = ([x.double() for x in own] for own in (self._weights, self._biases))
        networks._projections = [x if x is None else x.double() for x in self._projections]
        return networks

    def without_biases(self) -> "DenseNetworks":
        """Return the networks with biases of 0."""
        networks = copy.copy(self)
        networks._biases = [torch.zeros_like(b) for b in self._biases]
        return networks

    def trained(self, images: Tensor, labels: Tensor, rate: float) -> "DenseNetworks":
        """Return the networks after gradient descent at a rate, one step for each of R batches. Images are (R, T, B,
        pixels), labels (R, T, B)."""
        networks = self
        for batch, truth in zip(images, labels, strict=True):
            networks = networks.stepped(rate * networks.gradients(batch[:, None], truth[:, None])[:, 0])
        return networks

    def accuracies(self, images: Tensor, labels: Tensor) -> Tensor:
        """Each network's accuracy on images (n, pixels) with `labels` (n,): (T,)."""
        everywhere = images.expand(self.trials, *images.shape)
        *_, scores = self._forward(everywhere)
        return (scores.argmax(dim=2) == labels).double().mean(dim=1)

    @property
    def trials(self) -> int:
        """T, the number of networks."""
        return len(self._weights[0])

    @property
    def first_projection(self) -> Tensor | None:
        """The matrices that multiply the images before the first layer, (T, pixels, pixels), or None."""
        return self._projections[0]

    def gradients(self, images: Tensor, labels: Tensor) -> Tensor:
        """∇_w of each batch's mean cross-entropy, (T, C, d), in parameter order; differentiable by the images.

        Arguments:
            images: C batches of B images for each network, (T, C, B, pixels).
            labels: the images' classes, (T, C, B).
        """
        weight, classes = self._weights[0], self._weights[-1].shape[1]
        check_axes("images", images, len(weight), "clients", "batch", weight.shape[2])
        check_labels("labels", labels, classes, *images.shape[:3])
        trials, batches, size, pixels = images.shape
        entered, active, scores = self._forward(images.reshape(trials, batches * size, pixels))
        truth = nn.functional.one_hot(labels.flatten(1), classes).to(scores)
        slope = (scores.softmax(dim=-1) - truth) / size
        parts: list[Tensor] = []
        for layer in reversed(range(len(self._weights))):
            left, right = (x.reshape(trials * batches, size, -1) for x in (slope, entered[layer]))
            steep = (left.transpose(1, 2) @ right).reshape(trials, batches, -1)
            parts = [steep, left.sum(dim=1).reshape(trials, batches, -1), *parts]
            if layer:
                slope = self._project(slope @ self._weights[layer], layer, transposed=True) * active[layer - 1]
        return torch.cat(parts, dim=2)

    def _forward(self, images: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """The inputs of each layer, masks of its positive outputs, and the scores, for images (T, n, pixels)."""
        entered: list[Tensor] = []
        active: list[Tensor] = []
        outputs = images
        for layer, (weight, bias) in enumerate(zip(self._weights, self._biases, strict=True)):
            entered.append(self._project(outputs, layer))
            scores = torch.baddbmm(bias, entered[-1], weight.transpose(1, 2))
            active.append((scores > 0).to(scores))
            outputs = scores.relu()
        return entered, active, scores

    def _project(self, inputs: Tensor, layer: int, *, transposed: bool = False) -> Tensor:
        projection = self._projections[layer]
        if projection is None:
            return inputs
        return inputs @ (projection.transpose(1, 2) if transposed else projection)


class LocalSteps(DenseNetworks):
    """Networks that a client trains for K = `steps` local steps of gradient descent at `rate` on its whole batch. The
    update is the mean of the gradients on the way, (w₀ - w_K)/(K rate)."""

    def __init__(self, networks: DenseNetworks, steps: int, rate: float) -> None:
        self.__dict__.update(vars(networks))
        self._steps, self._rate = steps, rate

    def gradients(self, images: Tensor, labels: Tensor) -> Tensor:
        trials, clients = labels.shape[:2]
        images, labels = (x.reshape(trials * clients, 1, *x.shape[2:]) for x in (images, labels))
        networks, total = self._of_each(clients), torch.zeros(())
        for step in range(self._steps):
            slope = networks.gradients(images, labels)[:, 0]
            total = total + slope
            if step + 1 < self._steps:
                networks = networks.stepped(self._rate * slope)
        return (total / self._steps).view(trials, clients, -1)

    def _of_each(self, clients: int) -> DenseNetworks:
        """Repeat the networks for each client, in the order of trials and clients."""
        networks = DenseNetworks.__new__(DenseNetworks)
        vars(networks).update({name: kept for name, kept in vars(self).items() if name not in ("_steps", "_rate")})
        for name in ("_weights", "_biases", "_projections"):
            kept = [x if x is None else x.repeat_interleave(clients, dim=0) for x in getattr(self, name)]
            setattr(networks, name, kept)
        return networks


class DrawnBatch(DenseNetworks):
    """Networks for which each client's update is the gradient of a part of its images. `places` (T, B) are the indices
    of the images that each client draws."""

    def __init__(self, networks: DenseNetworks, places: Tensor) -> None:
        check_axes("places", places, networks.trials, "drawn")
        self.__dict__.update(vars(networks))
        self._networks, self._places = networks, places

    def gradients(self, images: Tensor, labels: Tensor) -> Tensor:
        chosen = self._places[:, None].expand(-1, images.shape[1], -1)
        drawn = images.gather(2, chosen[..., None].expand(-1, -1, -1, images.shape[3]))
        return self._networks.gradients(drawn, labels.gather(2, chosen))


def estimate_first_inputs(update: Tensor, known: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Estimate the inputs of the first layer from the gradient of a single image.

    The gradient ∂W of the weights is the outer product of the biases' gradient ∂b and the inputs, so ∂W over ∂b gives
    the inputs (Phong et al. 2018). For inexact gradients the estimate is a regression of ∂W on ∂b.

    Arguments:
        update: gradients (T, d), float64.
        known: 1 for each known entry of the gradient, else 0, (T, d).

    Returns:
        The inputs (T, inputs), and the squares of their standard errors. An unknown input is 0, with error `FAR`².
    """
    if not layout.shapes or len(layout.shapes[0]) != 2 or layout.shapes[1:2] != (layout.shapes[0][:1],):
        raise ValueError(
            f"layout of shapes {layout.shapes} must begin with a layer's weights (units, inputs) and biases"
        )
    check_tensor("update", update, "trials", layout.d)
    check_tensor("known", known, len(update), layout.d)
    units, inputs = layout.shapes[0]

    def first(x: Tensor) -> tuple[Tensor, Tensor]:
        return x[:, : units * inputs].view(-1, units, inputs), x[:, units * inputs : units * (inputs + 1), None]

    (steep, slope), (known_steep, known_slope) = first(update), first(known)
    both = known_steep * known_slope
    power = (both * slope.square()).sum(dim=1)
    entered = (both * slope * steep).sum(dim=1) / power.clamp(min=LEAST)
    errors = (both * (steep - slope * entered[:, None])).square().sum(dim=1)
    variance = errors / (both.sum(dim=1) - 1).clamp(min=1) / power.clamp(min=LEAST)
    return entered, torch.where(power > 0, variance.clamp(max=FAR**2), torch.full_like(power, FAR**2))


def _dense_layers(network: nn.Module) -> list[nn.Linear]:
    layers = dense_layers(network)
    if layers is None:
        names = ", ".join(type(part).__name__ for part in network.children())
        raise ValueError(
            f"{type(network).__name__} of {names or 'no layers'} can't be stacked; choose an nn.Sequential of dense "
            "layers with ReLU between them, without hooks: model=mlp"
        )
    return layers

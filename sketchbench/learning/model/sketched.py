"""Dense and convolutional layers that are trained through sketches (zhang2021 §4 and Appendix B).

In training mode a layer computes Z = (X S)(W S)ᵀ + bias for a sketch S = Rᵀ of its inputs; in evaluation mode it is the
plain layer. By associativity Z = (X S Sᵀ) Wᵀ = X (W S Sᵀ)ᵀ, so the layer applies S Sᵀ to the factor with fewer rows and
leaves the rest to torch. Outputs and gradients are the same: ∂L/∂X = G (W S) Sᵀ and ∂L/∂W = Gᵀ (X S) Sᵀ for G = ∂L/∂Z
(zhang2021 Eqs. 7, 8).

Layers work in float64, float32, bfloat16 and float16, under autocast and torch.func, and under torch.compile, which
leaves sketches out of its graphs. In half precision S Sᵀ is applied in float32 and rounded once, so errors equal the
plain layer's with rounded weights or inputs.
"""

import dataclasses
from collections.abc import Iterator

from torch import Tensor, nn

from sketchbench.base import seeds
from sketchbench.kernels import Kernels
from sketchbench.learning.model.autograd import kernels_of, project
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.operator import Sketch


class Sketched(nn.Module):
    """Base class of sketched layers, whose weights (out, ...), with d entries for each output, are sketched. `operator`
    is used in the next forward passes; None before the first `draw`."""

    weight: Tensor
    family: Family
    operator: Sketch | None = None

    def draw(self, key: int, kernels: Kernels | None = None) -> Sketch:
        """Draw and return the operator of the next forward passes, from a 64-bit key; draw a fresh one after every
        update of the weights. `kernels` None: those for the device of the weights (`kernels_of`)."""
        self.operator = self.family.draw(key, kernels=kernels or kernels_of(self.weight))
        return self.operator

    @property
    def current(self) -> Sketch:
        """The operator of the next forward passes. Raises RuntimeError before the first `draw`."""
        if self.operator is None:
            raise RuntimeError(f"{type(self).__name__} has no sketch to train with; call draw(key) first, or eval()")
        return self.operator

    def _check(self) -> None:
        """Raise ValueError unless the family's d is the number of the layer's inputs."""
        inputs = self.weight[0].numel()
        if self.family.d != inputs:
            raise ValueError(f"the sketch's d={self.family.d} must be the layer's inputs, {inputs}")


class SketchedLinear(nn.Linear, Sketched):
    """A dense layer, trained through a sketch of its d inputs. Raises ValueError if the family's d is not the number of
    inputs, and RuntimeError from a forward pass in training mode before the first `draw`."""

    def __init__(self, in_features: int, out_features: int, family: Family, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self.family = family
        self._check()

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., out)."""
        weight = self.weight
        if self.training:
            if x.numel() < weight.numel():
                x = project(self.current, x).to(x.dtype)
            else:
                weight = project(self.current, weight).to(weight.dtype)
        return nn.functional.linear(x, weight, self.bias)


class SketchedConv2d(nn.Conv2d, Sketched):
    """A convolution, trained through a sketch of its patches of d = in_channels * kernel_size² entries. S Sᵀ is applied
    to the filters, which are fewer than patches. Errors as in `SketchedLinear`, arguments as in torch's `Conv2d`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, family: Family, padding: int = 0, stride: int = 1
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding)
        self.family = family
        self._check()

    def forward(self, x: Tensor) -> Tensor:
        """(n, channels, height, width) -> (n, out, height', width')."""
        weight = self.weight
        if self.training:
            weight = project(self.current, weight.flatten(1)).to(weight.dtype).view_as(weight)
        return self._conv_forward(x, weight, self.bias)


def layers(model: nn.Module) -> Iterator[tuple[str, Sketched]]:
    """The sketched layers of a model, with their names."""
    return ((name, part) for name, part in model.named_modules() if isinstance(part, Sketched))


def operators(model: nn.Module) -> dict[str, Sketch]:
    """The current operator of every sketched layer, by the name of the parameter that it sketches."""
    return {f"{name}.weight": layer.current for name, layer in layers(model)}


def draw(model: nn.Module, key: int, kernels: Kernels | None = None) -> None:
    """Draw the operators of all sketched layers of a model, each from its `layer_key` (zhang2021 §4.1) for the round's
    64-bit key. `kernels` None: those for the device of each layer."""
    for name, layer in layers(model):
        layer.draw(layer_key(key, name), kernels)


def layer_key(key: int, name: str) -> int:
    """The key of the operator of the layer with this name, given the round's key."""
    return seeds.key(key, layer=name)


def resize(family: Family, d: int) -> Family:
    """The family for d inputs with the same share b/d; b is rounded down, and at least 1. Raises SizeError for a share
    above 1, which would not compress a layer.

    >>> from sketchbench.sketch.count_sketch import CountSketch
    >>> resize(CountSketch(784, 392), 25)
    CountSketch(d=25, b=12, hashing='full')
    """
    require(
        family.b <= family.d,
        f"sketch size b={family.b} must be <= d={family.d}: b/d is the compressed share of every layer",
    )
    return dataclasses.replace(family, d=d, b=max(1, d * family.b // family.d))

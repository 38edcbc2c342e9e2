"""Dense and convolutional layers trained through sketches (zhang2021 §4 and Appendix B).

In training such a layer computes Z = (X S)(W S)ᵀ + bias for a drawn sketch S = Rᵀ of its inputs; in evaluation
it is the plain layer. By associativity Z = (X S Sᵀ) Wᵀ = X (W S Sᵀ)ᵀ, so it is enough to send the smaller of the
two factors through S Sᵀ and to leave the rest to torch: the same function and the same gradients,
∂L/∂X = G (W S) Sᵀ and ∂L/∂W = Gᵀ (X S) Sᵀ (zhang2021 Eqs. 7, 8), at the cost of few sketched rows.
"""

import dataclasses
from collections.abc import Iterator

from torch import Tensor, nn

from sketchbench import seeds
from sketchbench.kernels import Kernels
from sketchbench.model.autograd import project
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch


class Sketched(nn.Module):
    """What sketched layers share: the family that their operators are drawn from, and the current one.

    weight: (out, ...), whose d entries per output are what is sketched.
    """

    weight: Tensor
    family: Family
    operator: Sketch | None = None

    def draw(self, key: int, kernels: str | Kernels | None = None) -> Sketch:
        """Draw the operator of the next forward passes; a fresh one is due after every update of the weights.

        kernels: by default those of the device that the weights are on.
        """
        device = "cupy" if self.weight.is_cuda else "numba"
        self.operator = self.family.draw(key, kernels=device if kernels is None else kernels)
        return self.operator

    @property
    def current(self) -> Sketch:
        """The operator; RuntimeError before the first `draw`."""
        if self.operator is None:
            raise RuntimeError(f"{type(self).__name__} has no sketch to train with; call draw(key) first, or eval()")
        return self.operator

    def _check(self) -> None:
        inputs = self.weight[0].numel()
        if self.family.d != inputs:
            raise ValueError(f"the sketch's d={self.family.d} must be the layer's inputs, {inputs}")


class SketchedLinear(nn.Linear, Sketched):
    """A dense layer, trained through a sketch of its `in_features` = d inputs.

    Raises ValueError where the family's d is another, RuntimeError in training before the first `draw`.
    """

    def __init__(self, in_features: int, out_features: int, family: Family, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        self.family = family
        self._check()

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., out)."""
        weight = self.weight
        if self.training:
            if x.numel() < weight.numel():
                x = project(self.current, x)
            else:
                weight = project(self.current, weight)
        return nn.functional.linear(x, weight, self.bias)


class SketchedConv2d(nn.Conv2d, Sketched):
    """A convolution, trained through a sketch of its patches of d = channels * kernel² entries.

    There are many more patches than filters, so it is the filters that go through S Sᵀ. Errors as for
    `SketchedLinear`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        family: Family,
        padding: int = 0,
        stride: int = 1,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding)
        self.family = family
        self._check()

    def forward(self, x: Tensor) -> Tensor:
        """(N, channels, height, width) -> (N, out, height', width')."""
        weight = self.weight
        if self.training:
            weight = project(self.current, weight.flatten(1)).view_as(weight)
        return self._conv_forward(x, weight, self.bias)


def layers(model: nn.Module) -> Iterator[tuple[str, Sketched]]:
    """The sketched layers of a model, with their names."""
    return ((name, part) for name, part in model.named_modules() if isinstance(part, Sketched))


def operators(model: nn.Module) -> dict[str, Sketch]:
    """The current operators, by the name of the parameter that goes through each."""
    return {f"{name}.weight": layer.current for name, layer in layers(model)}


def draw(model: nn.Module, key: int, kernels: str | Kernels | None = None) -> None:
    """Draw every layer's operator, each from a key of its own that follows from this one (zhang2021 §4.1)."""
    for name, layer in layers(model):
        layer.draw(layer_key(key, name), kernels)


def layer_key(key: int, name: str) -> int:
    """The key of one layer's operator."""
    return seeds.key(key, layer=name)


def resized(family: Family, d: int) -> Family:
    """The same family for d inputs, with the same share of b in d, rounded down, and at least 1.

    >>> from sketchbench.sketch import CountSketch
    >>> resized(CountSketch(784, 392), 25)
    CountSketch(d=25, b=12, hashing='full')
    """
    return dataclasses.replace(family, d=d, b=max(1, d * family.b // family.d))

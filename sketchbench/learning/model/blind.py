"""Client models of double-blind learning, whose layers hold only sketched weights W̃ = W S (zhang2021 §4.2). A layer
computes Z = (X S) W̃ᵀ + bias, so ∂L/∂W̃ = Gᵀ (X S) = Γ, which a client returns, and ∂L/∂X = G W̃ Sᵀ, for G = ∂L/∂Z."""

import torch
from torch import Tensor, nn

from sketchbench.learning.model.autograd import desketch, sketch
from sketchbench.learning.model.sketched import Sketched, SketchedConv2d, SketchedLinear


class Blind(Sketched):
    """A client's layer instead of a sketched layer, whose shapes and family it uses; its `weight` is W̃, (out, s)."""

    def __init__(self, layer: SketchedLinear | SketchedConv2d) -> None:
        super().__init__()
        self.family = layer.family
        self.weight = nn.Parameter(torch.zeros(len(layer.weight), self.family.b, device=layer.weight.device))
        self.bias = None if layer.bias is None else nn.Parameter(torch.zeros_like(layer.bias))


class BlindLinear(Blind):
    """The client's layer for a `SketchedLinear`."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., out)."""
        return nn.functional.linear(sketch(self.current, x).to(x.dtype), self.weight, self.bias)


class BlindConv2d(Blind):
    """The client's layer for a `SketchedConv2d`: by associativity, a convolution with the filters W̃ Sᵀ."""

    def __init__(self, layer: SketchedConv2d) -> None:
        super().__init__(layer)
        self._filter = layer.weight.shape[1:]
        self._stride, self._padding = layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        """(n, channels, height, width) -> (n, out, height', width')."""
        filters = desketch(self.current, self.weight).to(self.weight.dtype).view(-1, *self._filter)
        return nn.functional.conv2d(x, filters, self.bias, self._stride, self._padding)


def make_blind(model: nn.Module) -> nn.Module:
    """Replace every sketched layer of a model by the client's layer, in place; parameters keep their names."""
    for name, part in model.named_children():
        if isinstance(part, SketchedLinear):
            setattr(model, name, BlindLinear(part))
        elif isinstance(part, SketchedConv2d):
            setattr(model, name, BlindConv2d(part))
        else:
            make_blind(part)
    return model

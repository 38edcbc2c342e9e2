"""A client's side of double-blind learning: layers that hold sketched weights W̃ = W S only (zhang2021 §4.2).

Z = (X S) W̃ᵀ + bias, so that ∂L/∂W̃ = Gᵀ (X S) = Γ is what a client returns, and ∂L/∂X = G W̃ Sᵀ.
"""

import torch
from torch import Tensor, nn

from sketchbench.model.autograd import desketch, sketch
from sketchbench.model.sketched import Sketched, SketchedConv2d, SketchedLinear


class Blind(Sketched):
    """A client's layer in place of a sketched one; its parameter `weight` is W̃, (out, s).

    Arguments:
        layer: the server's layer, of which the shapes and the family of the sketch are taken, and no weights.
    """

    def __init__(self, layer: SketchedLinear | SketchedConv2d) -> None:
        super().__init__()
        self.family = layer.family
        self.weight = nn.Parameter(torch.zeros(len(layer.weight), self.family.b, device=layer.weight.device))
        self.bias = None if layer.bias is None else nn.Parameter(torch.zeros_like(layer.bias))


class BlindLinear(Blind):
    """The client's side of a `SketchedLinear`."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., out)."""
        return nn.functional.linear(sketch(self.current, x), self.weight, self.bias)


class BlindConv2d(Blind):
    """The client's side of a `SketchedConv2d`: by associativity a convolution with the filters W̃ Sᵀ."""

    def __init__(self, layer: SketchedConv2d) -> None:
        super().__init__(layer)
        self._filter = layer.weight.shape[1:]
        self._stride, self._padding = layer.stride, layer.padding

    def forward(self, x: Tensor) -> Tensor:
        """(n, channels, height, width) -> (n, out, height', width')."""
        filters = desketch(self.current, self.weight).view(-1, *self._filter)
        return nn.functional.conv2d(x, filters, self.bias, self._stride, self._padding)


def blinded(model: nn.Module) -> nn.Module:
    """Replace every sketched layer of a model by its client's side, in place; parameters keep their names.

    Returns:
        The same model.
    """
    for name, part in model.named_children():
        if isinstance(part, SketchedLinear):
            setattr(model, name, BlindLinear(part))
        elif isinstance(part, SketchedConv2d):
            setattr(model, name, BlindConv2d(part))
        else:
            blinded(part)
    return model

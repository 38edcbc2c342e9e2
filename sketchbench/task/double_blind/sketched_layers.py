"""Gradients of sketched layers, beside the formulas of zhang2021 with dense matrices."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count
from sketchbench.kernels import Kernels
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.sketched import SketchedConv2d, SketchedLinear
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials

Layer = SketchedLinear | SketchedConv2d

KERNEL = 2  # height and width of the filters, so that d is 4 times the number of channels
PIXELS = 6  # height and width of the images
ALLOWED = 1e-10  # an error that rounding in float64 can explain


@dataclass(frozen=True)
class SketchedLayersTask(Checked):
    """Measures the errors of a sketched layer and its derivatives, in float64, relative to the formulas of zhang2021.

    Every trial has a fresh operator, inputs X, weights W and output gradients G = ∂L/∂Z. An error is the largest entry
    of the difference between the layer's result and the formula with a dense matrix S, over the formula's largest
    entry. Raises ValueError unless d is a multiple of the 4 pixels of a filter.

    Rows for each case, with the largest error, and the number of trials in which it exceeds the bound 1e-10:
        value: of the output Z = (X S)(W S)ᵀ + bias.
        input_gradient: of ∂L/∂X = G (W S) Sᵀ (Eq. 7).
        weight_gradient: of ∂L/∂W = Gᵀ (X S) Sᵀ (Eq. 8).
        curvature: of the derivative of ‖∂(Σ sin Z)/∂X‖² by W.

    Cases:
        dense: a dense layer with `batch` - 1 outputs, fewer than X has rows.
        tall: a dense layer with `outputs` outputs.
        convolution: `outputs` filters of 2 x 2 pixels and d/4 channels; the rows of X are the patches (Appendix B.2).
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # number of operators
    batch: AtLeastTwo  # samples of a batch
    outputs: Count  # outputs of a layer

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family.d % KERNEL**2:
            raise ValueError(f"d={self.family.d} must be a multiple of {KERNEL**2}, the pixels of a filter")

    def run(self) -> list[Row]:
        d = self.family.d
        channels = d // KERNEL**2
        image = (self.batch, channels, PIXELS, PIXELS)
        cases: list[tuple[str, Layer, tuple[int, ...]]] = [
            ("dense", SketchedLinear(d, self.batch - 1, self.family), (self.batch, d)),
            ("tall", SketchedLinear(d, self.outputs, self.family), (self.batch, d)),
            ("convolution", SketchedConv2d(channels, self.outputs, KERNEL, self.family), image),
        ]
        return [row for case in cases for row in self._rows(*case)]

    def _rows(self, case: str, layer: Layer, shape: tuple[int, ...]) -> Iterator[Row]:
        device = device_of(self.kernels)
        layer = layer.double().to(device)
        random = torch.Generator().manual_seed(seeds.key(self.seed, data="layers", case=case) % 2**63)
        errors: dict[str, list[float]] = defaultdict(list)
        for first, count in trials.blocks(self.trials, layer.weight.numel()):
            for t in range(first, first + count):
                key = seeds.key(self.seed, task=f"layers {case}", trial=t, family=repr(self.family))
                R = self.kernels.to_numpy(layer.draw(key, self.kernels).materialize())
                S = torch.from_numpy(R).T.to(device)
                x = _normal(shape, random).to(device).requires_grad_()
                with torch.no_grad():
                    for parameter in layer.parameters():
                        parameter.copy_(_normal(parameter.shape, random))
                for name, error in _errors(layer, S, x, random).items():
                    errors[name].append(error)
        for name, values in errors.items():
            yield Row(name, case=case).exceedances(values, ALLOWED)


def _errors(layer: Layer, S: Tensor, x: Tensor, random: torch.Generator) -> dict[str, float]:
    z, expected = layer(x), _formula(layer, S, x)
    G = _normal(z.shape, random).to(z.device)
    by_input, by_weight = torch.autograd.grad(z, (x, layer.weight), G, retain_graph=True)
    rows, gradient = _rows_of(x), _columns_last(G)
    weight = layer.weight.flatten(1)
    to_rows = gradient @ (weight @ S) @ S.T
    to_weight = gradient.flatten(0, -2).T @ (rows @ S).flatten(0, -2) @ S.T
    return {
        "value": _distance(z, expected),
        "input_gradient": _distance(by_input, _back(to_rows, x)),
        "weight_gradient": _distance(by_weight, to_weight.view_as(by_weight)),
        "curvature": _distance(_curvature(z, x, layer.weight), _curvature(expected, x, layer.weight)),
    }


def _normal(shape: Sequence[int], random: torch.Generator) -> Tensor:
    """Normal entries, drawn on the CPU to be the same for every device."""
    return torch.randn(tuple(shape), dtype=torch.float64, generator=random)


def _formula(layer: Layer, S: Tensor, x: Tensor) -> Tensor:
    """(X S)(W S)ᵀ + bias, in the shape of the layer's output."""
    assert layer.bias is not None
    z: Tensor = (_rows_of(x) @ S) @ (layer.weight.flatten(1) @ S).T + layer.bias
    if x.dim() == 2:
        return z
    side = PIXELS + 1 - KERNEL
    return z.transpose(1, 2).reshape(len(x), -1, side, side)


def _curvature(z: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """The derivative of ‖∂(Σ sin Z)/∂X‖² by W."""
    (slope,) = torch.autograd.grad(z.sin().sum(), x, create_graph=True)
    return torch.autograd.grad((slope**2).sum(), weight)[0]


def _rows_of(x: Tensor) -> Tensor:
    """The rows that the layer sketches: inputs (N, d), or patches (N, positions, d)."""
    return x if x.dim() == 2 else nn.functional.unfold(x, KERNEL).transpose(1, 2)


def _columns_last(G: Tensor) -> Tensor:
    """Gradients of outputs (N, out), or (N, out, height, width) as (N, positions, out)."""
    return G if G.dim() == 2 else G.flatten(2).transpose(1, 2)


def _back(rows: Tensor, x: Tensor) -> Tensor:
    """The transpose of `_rows_of`: rows in the shape of x, with overlapping patches added."""
    if x.dim() == 2:
        return rows
    return nn.functional.fold(rows.transpose(1, 2), (PIXELS, PIXELS), KERNEL)


def _distance(actual: Tensor, expected: Tensor) -> float:
    """The largest entry of the difference, over the largest expected entry."""
    return float((actual - expected).detach().abs().max() / expected.detach().abs().max())

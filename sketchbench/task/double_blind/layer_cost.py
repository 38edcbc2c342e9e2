"""The cost of a sketched layer beside a plain one: multiplications and run time (zhang2021 §4.3)."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonEmptyList
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.model import autograd
from sketchbench.learning.model.sketched import SketchedLinear
from sketchbench.measure.cost import time_in_turns
from sketchbench.measure.row import MEDIAN, Row
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LayerCost(Checked):
    """Measures a forward and backward pass of a dense layer through a CountSketch S of its d inputs.

    The pass has gradients by inputs and weights, and its cost is relative to the plain layer. Drawing S does not count.
    Raises TypeError for another sketch than a CountSketch, as its columns may have more than one entry. Cases:

        printed: X S, W S and their product, as zhang2021 §4.3 counts the cost.
        one factor: `model.sketched.SketchedLinear`, which applies S Sᵀ to the smaller factor.
        twice: the plain layer, two times: a negative control.

    Rows by `case` and `batch`:
        multiplications: of matrix products, and one for each entry that S or Sᵀ is applied to, over the multiplications
            of the plain layer; bound: 1.
        slower: the number of repetitions in which the pass is not faster than the plain layer's; bound: 1/2, for a
            probability.
        seconds: mean over the repetitions of the run time, over that of the plain layer.
    """

    family: Family
    kernels: Kernels
    seed: int
    outputs: Count  # of the layer
    batches: NonEmptyList[Count]  # numbers of samples in a batch
    repetitions: AtLeastTwo  # of each measurement of time

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.family, CountSketch):
            raise TypeError(f"family={type(self.family).__name__} must be a CountSketch, to count its entries")

    def run(self) -> list[Row]:
        return [row for batch in self.batches for row in self._rows(batch)]

    def _rows(self, batch: int) -> Iterator[Row]:
        passes = self._passes(batch)
        plain, *cases = (name for name in passes)
        counts = {name: step.count() for name, step in passes.items()}
        seconds = time_in_turns(passes, self.repetitions)
        log.info("batch of %d: %s multiplications", batch, counts)
        for case in cases:
            yield Row("multiplications", case=case, batch=batch, bound=1.0).number(counts[case] / counts[plain])
            late = int((seconds[case] >= seconds[plain]).sum())
            yield Row("slower", case=case, batch=batch, bound=MEDIAN).counted(late, self.repetitions)
            yield Row("seconds", case=case, batch=batch).mean(seconds[case] / seconds[plain])

    def _passes(self, batch: int) -> dict[str, "Pass"]:
        """The passes by case; the plain layer is first."""
        d, device = self.family.d, autograd.device_of(self.kernels)
        key = seeds.key(self.seed, task="layer cost")
        random = torch.Generator().manual_seed(key % 2**63)
        x = torch.randn(batch, d, generator=random).to(device).requires_grad_()
        slope = torch.randn(batch, self.outputs, generator=random).to(device)
        meter = EntryMeter(self.family.draw(key, kernels=self.kernels))
        plain = nn.Linear(d, self.outputs).to(device)
        factor = SketchedLinear(d, self.outputs, self.family).to(device)
        factor.operator = cast(Sketch, meter)
        make = partial(Pass, x=x, slope=slope, meter=meter)
        return {
            "plain": make(plain),
            "printed": make(PrintedLayer(plain, cast(Sketch, meter))),
            "one factor": make(factor),
            "twice": make(plain, times=2),
        }


class PrintedLayer(nn.Module):
    """Z = (X S)(W S)ᵀ + bias, computed from both sketches."""

    def __init__(self, plain: nn.Linear, operator: Sketch) -> None:
        super().__init__()
        self.plain, self.operator = plain, operator

    def forward(self, x: Tensor) -> Tensor:
        inputs, weight = (autograd.sketch(self.operator, part) for part in (x, self.plain.weight))
        return nn.functional.linear(inputs, weight, self.plain.bias)


class EntryMeter:
    """A CountSketch that counts the entries of vectors to which S or Sᵀ is applied."""

    def __init__(self, operator: Sketch) -> None:
        self.operator, self.kernels, self.entries = operator, operator.kernels, 0

    def sketch(self, x: Array, **options: Any) -> Array:
        self.entries += x.size
        return self.operator.sketch(x, **options)

    def desketch(self, y: Array, **options: Any) -> Array:
        x = self.operator.desketch(y, **options)
        self.entries += x.size
        return x

    def project(self, x: Array, **options: Any) -> Array:
        self.entries += 2 * x.size
        return self.operator.project(x, **options)


@dataclass(frozen=True)
class Pass:
    """A forward and a backward pass of a layer, repeated `times` times."""

    layer: nn.Module
    x: Tensor
    slope: Tensor
    meter: EntryMeter
    times: int = 1

    def __call__(self) -> None:
        for _ in range(self.times):
            self.layer.zero_grad()
            self.x.grad = None
            self.layer(self.x).backward(self.slope)
        if self.x.is_cuda:
            torch.cuda.synchronize()

    def count(self) -> int:
        """Run the pass, and count its multiplications."""
        before = self.meter.entries
        with FlopCounterMode(display=False) as flops:
            self()
        return int(flops.get_total_flops()) // 2 + self.meter.entries - before

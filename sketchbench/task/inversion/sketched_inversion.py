"""Inversion of sketched gradients R ∇F, at several sizes of the sketch (song2023 §7.2)."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.utils import dlpack

from sketchbench.attack.victim import Victim, jacobian
from sketchbench.base import seeds
from sketchbench.base.parameters import Natural
from sketchbench.learning.model.networks import parameters
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.spectrum import gamma_1
from sketchbench.task.inversion.inversion import Case, ImageInversion
from sketchbench.task.repeated import Values


@dataclass(frozen=True)
class SketchedInversion(ImageInversion):
    """`ImageInversion` of each view at each size b = d/`compression` of the sketch.

    Rows are those of `ImageInversion`, with the case `standing still`, the start of the attack, as a negative control,
    and the column `measurements`: `fewer` than pixels, or `more` (also for as many). Further rows, for operators of the
    first `examples` trials:

    - `gamma`, by `compression`: mean of the smallest singular value of Rᵀ, γ₁ of song2023 Theorem 7.8.
    - `restricted`, by `compression`: mean of the smallest singular value of R on the span of the gradient's derivatives
      by the pixels, at the victim's image. It is 0 if there are fewer measurements than pixels, as some change of the
      image then leaves the view unchanged, to first order.

    These take O(d b² + d pixels²) for each operator; `examples` should be 0 for large d.
    """

    compressions: list[float]  # values of d/b
    examples: Natural  # number of trials with the further rows

    def _defences(self, victim: Victim) -> Iterator[Case]:
        d = parameters(victim.network(None))
        if self.family.d != d:
            raise ValueError(f"d={self.family.d} must be the number of the network's parameters, {d}")
        pixels = victim.samples.images[0].numel()
        for compression in self.compressions:
            family = self._compress(compression)
            columns = {"compression": compression, "measurements": "fewer" if family.b < pixels else "more"}
            for name, make in self.views.items():
                yield Case(name, make, family, columns)
            yield Case("standing still", make, family, columns, still=True)

    def _compress(self, compression: float) -> Family:
        if not 1 <= compression <= self.family.d:
            raise ValueError(f"compression={compression} must satisfy 1 <= compression <= d={self.family.d}")
        return dataclasses.replace(self.family, b=round(self.family.d / compression))

    def _further(self, victim: Victim, number: int) -> Values:
        """γ₁ and the smallest restricted singular value at each compression, for the first `examples` trials."""
        if number >= self.examples:
            return {}
        span = _span(victim)
        measured: Values = {"gamma": [], "restricted": []}
        for compression in self.compressions:
            family = self._compress(compression)
            key = seeds.key(self.seed, task="singular values", family=repr(family))
            R = family.draw(seeds.key(key, trial=number), kernels=self.kernels)
            measured["gamma"].append(float(gamma_1(R)))
            measured["restricted"].append(_smallest(_dense(R) @ span))
        return {"singular values": measured}

    def _further_rows(self, values: Sequence[Values]) -> list[Row]:
        examples = [one["singular values"] for one in values if "singular values" in one]
        return [
            Row(quantity, compression=compression).mean([one[quantity][position] for one in examples])
            for position, compression in enumerate(self.compressions)
            for quantity in ("gamma", "restricted")
            if examples
        ]


def _span(victim: Victim) -> torch.Tensor:
    """An orthonormal basis of the span of the gradient's derivatives by the pixels: (d, pixels)."""
    image, label = (part[:1] for part in victim.samples)
    return torch.linalg.qr(jacobian(victim.network(None), image, label)).Q


def _dense(R: Sketch) -> torch.Tensor:
    return dlpack.from_dlpack(R.materialize())


def _smallest(matrix: torch.Tensor) -> float:
    """min ‖A v‖ over unit vectors v, for A (rows, columns)."""
    if matrix.shape[0] < matrix.shape[1]:
        return 0.0
    return float(torch.linalg.svdvals(matrix)[-1])

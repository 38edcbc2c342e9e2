"""Inversion of sketched gradients R ∇F, over the size of the sketch (song2023 §7.2)."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.utils import dlpack

from sketchbench import seeds
from sketchbench.attack.victim import Victim, jacobian
from sketchbench.measure.summary import summarize
from sketchbench.model.networks import parameters
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.spectrum import gamma_1
from sketchbench.task.inversion import Case, ImageInversion, Row


@dataclass(frozen=True)
class SketchedInversion(ImageInversion):
    """Every view at every size b = d/`compression` of `compressions`. The further column `measurements` says whether
    there are `fewer` of them than pixels, or `more` (as many count as more). And further rows

    `gamma`: the smallest singular value of Rᵀ, γ₁ of song2023 Theorem 7.8, and `restricted`: that of R on the
    span of what the gradient's derivatives by the pixels are at the victim's image: 0 where there are fewer
    measurements than pixels, since then some change of the image changes nothing that is seen, to first order.
    Both of operators drawn for it, in the first `examples` trials: O(d b² + d pixels²) each, so 0 of them for large d.
    """

    compressions: list[float]
    examples: int

    def _cases(self, victims: list[Victim]) -> Iterator[Case]:
        d = parameters(victims[0].network(None))
        if self.family.d != d:
            raise ValueError(f"d={self.family.d} must be the number of the network's parameters, {d}")
        pixels = victims[0].samples.images[0].numel()
        for compression in self.compressions:
            family = dataclasses.replace(self.family, b=self._size_of(compression))
            columns: Row = {
                "compression": compression,
                "measurements": "fewer" if family.b < pixels else "more",
            }
            for name, make in self.views.items():
                yield Case(name, make, family, columns)

    def _size_of(self, compression: float) -> int:
        if not 1 <= compression <= self.family.d:
            raise ValueError(f"compression={compression} must satisfy 1 <= compression <= d={self.family.d}")
        return round(self.family.d / compression)

    def _more(self, victims: list[Victim]) -> list[Row]:
        rows: list[Row] = []
        if not self.examples:
            return rows
        spans = [self._span(victim) for victim in victims[: self.examples]]
        for compression in self.compressions:
            family = dataclasses.replace(self.family, b=self._size_of(compression))
            key = seeds.key(self.seed, task="singular values", family=repr(family))
            drawn = [family.draw(seeds.key(key, trial=trial), kernels=self.kernels) for trial in range(len(spans))]
            values = {
                "gamma": [float(gamma_1(R)) for R in drawn],
                "restricted": [_smallest(_dense(R) @ span) for R, span in zip(drawn, spans, strict=True)],
            }
            for quantity, found in values.items():
                rows.append({"quantity": quantity, "compression": compression, **summarize(found)})
        return rows

    def _span(self, victim: Victim) -> torch.Tensor:
        """An orthonormal basis of what the gradient's derivatives by the pixels span: (d, pixels)."""
        image, label = (part[:1] for part in victim.samples)
        return torch.linalg.qr(jacobian(victim.network(None), image, label)).Q


def _dense(R: Sketch) -> torch.Tensor:
    return dlpack.from_dlpack(R.materialize())


def _smallest(matrix: torch.Tensor) -> float:
    """min ‖A v‖ over unit v, of A (rows, columns)."""
    if matrix.shape[0] < matrix.shape[1]:
        return 0.0
    return float(torch.linalg.svdvals(matrix)[-1])

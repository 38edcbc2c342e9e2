"""Negative controls: CountSketches with too little randomness, which every check must reject."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch import hashing
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.draws import SIGNS, Draws
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class EqualSigns(CountSketch):
    """One sign for all columns: each sign is uniform, no two are independent."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        return _scattered(draws, self.b, rows, draws.signs(SIGNS, 1) + 0 * rows)


@dataclass(frozen=True)
class TiedSigns(CountSketch):
    """The sign is the parity of the bucket, so colliding columns never cancel."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        return _scattered(draws, self.b, rows, 2 * (rows % 2) - 1)


def _scattered(draws: Draws, b: int, rows: Array, signs: Array) -> Scattered:
    return Scattered(draws.kernels, b, rows[:, None], signs.astype("int8")[:, None])

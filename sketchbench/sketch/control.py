"""Negative controls: CountSketches with too little randomness, which every check must reject."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch import hashing
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.draws import ROWS, SIGNS, Draws
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


@dataclass(frozen=True)
class PairwiseSigns(CountSketch):
    """A random row of a Walsh-Hadamard matrix, with a random sign: the signs of i, j, k and l multiply
    to 1 whenever the bits of i, j, k and l cancel."""

    def _draw(self, draws: Draws) -> Scattered:
        xp = draws.kernels.xp
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        bits = draws.words(ROWS, 1) & xp.arange(self.d, dtype="uint32")
        for shift in (16, 8, 4, 2, 1):  # fold the parity of 32 bits into the lowest one
            bits = bits ^ bits >> xp.uint32(shift)
        signs = 2 * (bits & 1).astype("int8") - 1
        return _scattered(draws, self.b, rows, signs * draws.signs(SIGNS, 1))


def _scattered(draws: Draws, b: int, rows: Array, signs: Array) -> Scattered:
    return Scattered(draws.kernels, b, rows[:, None], signs.astype("int8")[:, None])

"""Negative controls, which every check must reject: CountSketches with too little randomness, and no sketch at all."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch import hashing
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
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


class _Nothing(Sketch):
    """R = 0, for every operator of a stack."""

    def _sketch(self, x: Array) -> Array:
        return self.kernels.xp.zeros((self.operators or 1, x.shape[1], self.b), dtype=x.dtype)

    def _desketch(self, y: Array) -> Array:
        return self.kernels.xp.zeros((self.operators or 1, y.shape[1], self.d), dtype=y.dtype)


@dataclass(frozen=True)
class Zero(Family):
    """R = 0: all messages are 0, and whoever follows them stands still."""

    def _draw(self, draws: Draws) -> _Nothing:
        return _Nothing(self.d, self.b, draws.kernels, draws.operators)


def _scattered(draws: Draws, b: int, rows: Array, signs: Array) -> Scattered:
    return Scattered(draws.kernels, b, rows[:, None], signs.astype("int8")[:, None])

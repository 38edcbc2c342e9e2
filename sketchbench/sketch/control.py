"""Negative controls: families with too little randomness, too few rows or R = 0, which claims must reject."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from sketchbench.kernels import Array, index_type
from sketchbench.sketch import hashing
from sketchbench.sketch.ams import AMS
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.draws import BUCKETS, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.gaussian import Gaussian
from sketchbench.sketch.hashing import Hashing
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.scattered import Scattered
from sketchbench.sketch.sparse import BlockSparseEmbedding, SparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.sketch.uniform import UniformSampling


@dataclass(frozen=True)
class EqualSigns(CountSketch):
    """CountSketch with the same random sign for all columns: each sign is uniform, no two are independent."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        return _one_per_column(draws, self.b, rows, draws.signs(SIGNS, 1) + 0 * rows)


@dataclass(frozen=True)
class TiedSigns(CountSketch):
    """CountSketch whose signs are the parities of the buckets: columns that share a bucket never cancel."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        return _one_per_column(draws, self.b, rows, 2 * (rows % 2) - 1)


@dataclass(frozen=True)
class PairwiseSigns(CountSketch):
    """CountSketch with signs that are 3-wise but not 4-wise independent: a random row of a Walsh-Hadamard matrix, times
    a random sign. The signs of columns i, j, k and l multiply to 1 whenever i ^ j ^ k ^ l = 0."""

    def check(self) -> None:
        super().check()
        require(self.d <= 2**32, f"d={self.d} columns exceed the 2^32 signs of a word's parities; lower d")

    def _draw(self, draws: Draws) -> Scattered:
        xp = draws.kernels.xp
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        bits = draws.words(ROWS, 1) & xp.arange(self.d, dtype="uint32")
        for shift in (16, 8, 4, 2, 1):  # fold the parity of 32 bits into the lowest one
            bits = bits ^ bits >> xp.uint32(shift)
        signs = 2 * (bits & 1).astype("int8") - 1
        return _one_per_column(draws, self.b, rows, signs * draws.signs(SIGNS, 1))


class _Nothing(Sketch):
    def _sketch(self, x: Array) -> Array:
        return self.kernels.xp.zeros((self.operators or 1, x.shape[1], self.b), dtype=x.dtype)

    def _desketch(self, y: Array) -> Array:
        return self.kernels.xp.zeros((self.operators or 1, y.shape[1], self.d), dtype=y.dtype)


@dataclass(frozen=True)
class Zero(Family):
    """R = 0: all messages are 0, and a training that follows them does not move."""

    random: ClassVar[bool] = False

    def _draw(self, draws: Draws) -> _Nothing:
        return _Nothing(self.d, self.b, draws.kernels, draws.operators)


@dataclass(frozen=True)
class TiedBlocks(BlockSparseEmbedding):
    """Sparse embedding II with the same row and sign in all s blocks of a column: inner products of two columns are 0,
    1 or -1, as for CountSketch."""

    def _draw(self, draws: Draws) -> Scattered:
        block = self.b // self.s
        offsets = draws.kernels.xp.arange(0, self.b, block, dtype=index_type(self.b))[:, None]
        rows = draws.integers(BUCKETS, self.d, block)[:, None] + offsets
        signs = draws.signs(SIGNS, self.d)[:, None] + 0 * rows
        return Scattered(draws.kernels, self.b, rows, signs.astype("int8"), self.s**-0.5)


class _FewRows(Sketch):
    """A sketch `inner` of fewer rows, followed by rows of zeros up to b."""

    def __init__(self, inner: Sketch, b: int) -> None:
        super().__init__(inner.d, b, inner.kernels, inner.operators)
        self._inner = inner

    def _sketch(self, x: Array) -> Array:
        y = self._inner._sketch(x)
        padded = self.kernels.xp.zeros((*y.shape[:-1], self.b), dtype=y.dtype)
        padded[..., : self._inner.b] = y
        return padded

    def _desketch(self, y: Array) -> Array:
        return self._inner._desketch(self.kernels.xp.ascontiguousarray(y[..., : self._inner.b]))


@dataclass(frozen=True)
class QuarterCountSketch(Family):
    """CountSketch in the first quarter of the rows, and zeros in the others: unbiased, with four times the variance."""

    hashing: Hashing = "full"

    def _draw(self, draws: Draws) -> Sketch:
        few = CountSketch(self.d, max(1, self.b // 4), self.hashing)
        return _FewRows(few._draw(draws), self.b)


@dataclass(frozen=True)
class QuarterSampling(Family):
    """Uniform sampling of b/4 coordinates, and zeros in the other rows: unbiased, with a larger variance."""

    def check(self) -> None:
        UniformSampling(self.d, self.b)

    def _draw(self, draws: Draws) -> Sketch:
        few = UniformSampling(self.d, max(1, self.b // 4))
        return _FewRows(few._draw(draws), self.b)


class _Quarter(Family):
    """Put before a family among the bases: that family in the first quarter of the rows, and zeros in the others."""

    def _draw(self, draws: Draws) -> Any:  # for mypy, which knows the other bases' types
        return _FewRows(super(_Quarter, self._few())._draw(draws), self.b)  # type: ignore[safe-super]

    def _few(self) -> Self:
        return replace(self, b=max(1, self.b // 4))


@dataclass(frozen=True)
class QuarterAMS(_Quarter, AMS):
    """AMS in a quarter of the rows: unbiased, with four times the variance."""


@dataclass(frozen=True)
class QuarterGaussian(_Quarter, Gaussian):
    """A Gaussian sketch in a quarter of the rows: unbiased, with four times the variance."""


@dataclass(frozen=True)
class QuarterHadamard(_Quarter, SubsampledHadamard):
    """SRHT in a quarter of the rows: unbiased, with four times the variance or more."""


@dataclass(frozen=True)
class QuarterSparse(_Quarter, SparseEmbedding):
    """Sparse embedding I with a quarter of the rows and nonzeros per column: unbiased, with four times the variance."""

    def _few(self) -> Self:
        return replace(self, b=max(1, self.b // 4), s=max(1, self.s // 4))


def _one_per_column(draws: Draws, b: int, rows: Array, signs: Array) -> Scattered:
    return Scattered(draws.kernels, b, rows[:, None], signs.astype("int8")[:, None])

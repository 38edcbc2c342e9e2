"""Sparse embeddings: s signed nonzeros per column."""

from dataclasses import dataclass

from sketchbench.sketch import hashing
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.hashing import Hashing
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class SparseEmbedding(Family):
    """s entries +-1/sqrt(s) per column, rows without replacement (song2023 Definition D.6)."""

    s: int = 4

    def check(self) -> None:
        require(1 <= self.s <= self.b, f"s={self.s} nonzeros per column need 1 <= s <= b={self.b}")

    def _draw(self, draws: Draws) -> Scattered:
        shape = (draws.operators, self.s, self.d)
        words = draws.words(BUCKETS, self.s * self.d).reshape(shape)
        rows = draws.kernels.distinct(words, self.b)
        signs = draws.signs(SIGNS, self.s * self.d).reshape(shape)
        return Scattered(draws.kernels, self.b, rows, signs, self.s**-0.5)


@dataclass(frozen=True)
class BlockSparseEmbedding(Family):
    """s entries +-1/sqrt(s) per column, one in each of s blocks of b/s rows (Definition D.7).

    hashing: `full` for independent rows and signs; `polynomial` for rows 2-wise and signs 4-wise
    independent over all s d nonzeros; `logarithmic` for ⌈log₂(s d)⌉-wise independence of both.
    """

    s: int = 4
    hashing: Hashing = "full"

    def check(self) -> None:
        require(1 <= self.s <= self.b, f"s={self.s} nonzeros per column need 1 <= s <= b={self.b}")
        require(
            self.b % self.s == 0,
            f"sketch size b={self.b} must be a multiple of the number of blocks s={self.s}",
        )
        hashing.check_hashing(self.hashing)

    def _draw(self, draws: Draws) -> Scattered:
        shape = (draws.operators, self.s, self.d)
        block = self.b // self.s
        within = hashing.buckets(draws, self.hashing, self.s * self.d, block).reshape(shape)
        offsets = draws.kernels.xp.arange(0, self.b, block, dtype="int32")[:, None]
        signs = hashing.signs(draws, self.hashing, self.s * self.d).reshape(shape)
        return Scattered(draws.kernels, self.b, within + offsets, signs, self.s**-0.5)

"""Sparse embeddings: families with s signed nonzeros in every column."""

from dataclasses import dataclass

from sketchbench.kernels import WIDE, index_type
from sketchbench.sketch import hashing
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.hashing import Hashing
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class SparseEmbedding(Family):
    """Sparse embedding I: s entries ±1/√s in every column, in different rows (song2023 Definition D.6). E[RᵀR] = I.

    The s rows, 1 <= s <= b, are a uniform sample without replacement, the signs are independent; s = 1 is CountSketch.
    The estimate gᵀRᵀRh of gᵀh has the variance (‖g‖²‖h‖² + (gᵀh)² - 2Σ g_i²h_i²)/b for every s
    (`theory.second_moment.hashed`), and E‖RᵀRh - h‖² = (d - 1)/b ‖h‖²; a larger s makes tails lighter. Sketching or
    desketching a vector costs O(s d).
    """

    s: int = 4

    def check(self) -> None:
        require(1 <= self.s <= self.b, f"s={self.s} nonzeros per column need 1 <= s <= b={self.b}")

    def _draw(self, draws: Draws) -> Scattered:
        shape = (draws.operators, self.s, self.d)
        words = (draws.words if self.b <= WIDE else draws.wide_words)(BUCKETS, self.s * self.d).reshape(shape)
        rows = draws.kernels.distinct(words, self.b)
        signs = draws.signs(SIGNS, self.s * self.d).reshape(shape)
        return Scattered(draws.kernels, self.b, rows, signs, self.s**-0.5)


@dataclass(frozen=True)
class BlockSparseEmbedding(Family):
    """Sparse embedding II: s entries ±1/√s in every column, one in each of s blocks (song2023 Definition D.7).

    Blocks are CountSketches of b/s rows, so medians over the blocks can be decoded (`CountSketchMedian`). b is a
    multiple of s >= 1. E[RᵀR] = I, and second moments and costs are as for `SparseEmbedding`.

    Arguments:
        hashing: randomness of rows and signs, over all s d nonzeros. `full`: all independent. `polynomial`: rows 2-wise
            and signs 4-wise independent, which the second moments need. `logarithmic`: both ⌈log₂(s d)⌉-wise
            independent, at least 4-wise. `rows`: as `polynomial`, with separate hash functions for each block;
            otherwise all blocks have the same collisions, at other places.
    """

    s: int = 4
    hashing: Hashing = "full"

    def check(self) -> None:
        require(1 <= self.s <= self.b, f"s={self.s} nonzeros per column need 1 <= s <= b={self.b}")
        require(self.b % self.s == 0, f"sketch size b={self.b} must be a multiple of the number of blocks s={self.s}")
        hashing.check_hashing(self.hashing, self.s * self.d, self.b // self.s)

    def _draw(self, draws: Draws) -> Scattered:
        shape = (draws.operators, self.s, self.d)
        block = self.b // self.s
        within = hashing.buckets(draws, self.hashing, self.s * self.d, block, self.s).reshape(shape)
        offsets = draws.kernels.xp.arange(0, self.b, block, dtype=index_type(self.b))[:, None]
        signs = hashing.signs(draws, self.hashing, self.s * self.d, self.s).reshape(shape)
        return Scattered(draws.kernels, self.b, within + offsets, signs, self.s**-0.5)

"""Honest: operators made of others, and those with little or no compression."""

import numpy as np
from building import Array, Hashed, Signed
from specimen import SIGNED, honest

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered
from sketchbench.theory.known import Known


@honest(SIGNED)
class OnePerBlock(Family):
    """OSNAP: a sign in each of two blocks of b/2 rows, in every column."""

    def check(self) -> None:
        require(self.b % 2 == 0, f"two blocks need an even b, not {self.b}")

    def _draw(self, draws: Draws) -> Scattered:
        half = self.b // 2
        rows = draws.integers(BUCKETS, 2 * self.d, half).reshape(-1, 2, self.d)
        rows = (rows + np.array([[0], [half]])).astype(np.int32)
        signs = draws.signs(SIGNS, 2 * self.d).reshape(rows.shape)
        return Scattered(draws.kernels, self.b, rows, signs, 2**-0.5)


@honest(Known(4))
class BlockDiagonal(Signed):
    """The first half of the columns in the first half of the rows, and the second in the second."""

    def check(self) -> None:
        require(self.b % 2 == 0 and self.d % 2 == 0, f"two blocks need even b and d, not {self.b} and {self.d}")

    def matrix(self, draws: Draws) -> Array:
        block = np.kron(np.eye(2), np.ones((self.b // 2, self.d // 2)))
        return super().matrix(draws) * block * 2**0.5


@honest(Known(4))
class PairedRows(Signed):
    """Every row twice, the second time negated: RᵀR has half the rank, and twice the variance."""

    def check(self) -> None:
        require(self.b % 2 == 0, f"pairs of rows need an even b, not {self.b}")

    def matrix(self, draws: Draws) -> Array:
        half = draws.sign_rows(ENTRIES, 0, self.b // 2, self.d) * self.b**-0.5
        return np.concatenate([half, -half], axis=1)


@honest(Known())
class GaussianOfCounts(Hashed):
    """A Gaussian sketch of a CountSketch of 4 b rows."""

    def matrix(self, draws: Draws) -> Array:
        """The product, (T, b, d)."""
        between = draws.integers(BUCKETS, self.d, 4 * self.b)
        normal = draws.gaussian_rows(ENTRIES, 0, self.b, 4 * self.b)
        t = np.arange(draws.operators)[:, None]
        return normal.swapaxes(-1, -2)[t, between].swapaxes(-1, -2) * self.signs(draws)[:, None] * self.b**-0.5

    _draw = Signed._draw
    alter = Signed.alter


@honest(Known(2))
class CosineRows(Signed):
    """b rows of the discrete cosine transform with replacement, with random signs."""

    def matrix(self, draws: Draws) -> Array:
        at = np.arange(self.d)
        table = np.cos(np.pi / self.d * (at + 0.5) * at[:, None]) * 2**0.5
        table[0] = 1
        rows = draws.integers(ROWS, self.b, self.d)
        return table[rows] * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5


@honest(Known(0))
class PermutedIdentity(Family):
    """Without compression: the coordinates in a random order; b = d."""

    def check(self) -> None:
        require(self.b == self.d, f"a permutation needs b = d, not b={self.b} and d={self.d}")

    def _draw(self, draws: Draws) -> Scattered:
        rows = draws.permutation(BUCKETS, self.d)[:, None]
        return Scattered(draws.kernels, self.d, rows, np.ones_like(rows, dtype=np.int8))


@honest(Known(0))
class RandomSigns(Family):
    """Without compression: a sign for every coordinate; b = d."""

    def check(self) -> None:
        require(self.b == self.d, f"signs of coordinates need b = d, not b={self.b} and d={self.d}")

    def _draw(self, draws: Draws) -> Sampled:
        rows = np.arange(self.d, dtype=np.int32) + np.zeros((draws.operators, 1), dtype=np.int32)
        return Sampled(draws.kernels, self.d, self.d, rows, 1.0, draws.signs(SIGNS, self.d))


@honest(Known())
class RandomScale(Signed):
    """Signs, with the scale √(1 ± 1/2) of the operator at random."""

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * np.sqrt(1 + 0.5 * draws.signs(SIGNS, 1))[..., None]


@honest(Known())
class RarelyAnything(Signed):
    """Zero in 3 of 4 operators, twice as large in the fourth."""

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * 2.0 * (draws.integers(ROWS, 1, 4) == 0)[..., None]


@honest(SIGNED)
class OwnGenerator(Signed):
    """Signs of NumPy's generator, seeded by key and number: slow, and right."""

    def matrix(self, draws: Draws) -> Array:
        def one(t: int) -> Array:
            return np.random.Generator(np.random.Philox([draws.key, t])).integers(0, 2, (self.b, self.d)) * 2.0 - 1

        return np.stack([one(draws.first + t) for t in range(draws.operators)]) * self.b**-0.5

"""Honest: structured operators, of the literature and of nobody."""

import numpy as np
from building import Altered, Array, Hashed, Signed
from specimen import SIGNED, honest

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered
from sketchbench.theory import norm, second_moment
from sketchbench.theory.known import Known


@honest(Known(2))
class HaarRows(Signed):
    """b rows of a uniform orthogonal matrix, times √(d/b)."""

    def check(self) -> None:
        require(self.b <= self.d, f"{self.b} orthogonal rows need b <= d={self.d}")

    def matrix(self, draws: Draws) -> Array:
        normal = draws.gaussian_rows(ENTRIES, 0, self.b, self.d).swapaxes(-1, -2)
        q, r = np.linalg.qr(normal)
        q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[:, None]
        return q.swapaxes(-1, -2) * (self.d / self.b) ** 0.5


@honest(Known(2))
class RowsOnTheSphere(Signed):
    """Independent rows, uniform on a sphere of radius √(d/b)."""

    def matrix(self, draws: Draws) -> Array:
        rows = draws.gaussian_rows(ENTRIES, 0, self.b, self.d)
        return rows * (self.d / self.b) ** 0.5 / np.linalg.norm(rows, axis=-1, keepdims=True)


def _hadamard(n: int) -> Array:
    at = np.arange(n)
    return 1.0 - 2 * (np.bitwise_count(at[:, None] & at) % 2)


@honest(Known(2, second_moment.sampled_hadamard, norm.sampled_hadamard))
class FirstRowUnused(Signed):
    """An SRHT without replacement whose first row is never sampled: another SRHT, in spite of that (`test_first_row`).

    The signs of a row and those of the columns are the same: H times the diagonal of a row of H is H with its rows in
    another order. So which row is never sampled can't be seen behind random signs of the columns.
    """

    def check(self) -> None:
        require(self.b < 1 << (self.d - 1).bit_length(), f"b={self.b} must be less than the rows of the transform")

    def matrix(self, draws: Draws) -> Array:
        n = 1 << (self.d - 1).bit_length()
        rows = draws.subset(ROWS, self.b, n - 1) + 1
        return _hadamard(n)[rows][..., : self.d] * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5


@honest(Known(2))
class SplitHadamard(Signed):
    """Two independent SRHTs of b/2 rows each, one below the other."""

    def check(self) -> None:
        require(self.b % 2 == 0, f"two halves need an even b, not {self.b}")

    def matrix(self, draws: Draws) -> Array:
        n, half = 1 << (self.d - 1).bit_length(), self.b // 2
        rows = draws.integers(ROWS, self.b, n)
        signs = draws.signs(SIGNS, 2 * self.d).reshape(-1, 2, 1, self.d)
        whole = _hadamard(n)[rows][..., : self.d].reshape(-1, 2, half, self.d) * signs
        return whole.reshape(-1, self.b, self.d) * self.b**-0.5


@honest(Known(2))
class SummedHadamard(Signed):
    """Block SRHT: columns in two blocks, each with signs and rows of its own, summed."""

    def check(self) -> None:
        require(self.d % 2 == 0, f"two blocks need an even d, not {self.d}")

    def matrix(self, draws: Draws) -> Array:
        half = self.d // 2
        n = 1 << (half - 1).bit_length()
        rows = draws.integers(ROWS, 2 * self.b, n).reshape(-1, 2, self.b)
        # The signs of rows belong to the blocks: without them, the first columns of both would always be parallel.
        blocks = _hadamard(n)[rows][..., :half] * draws.signs(BUCKETS, 2 * self.b).reshape(-1, 2, self.b, 1)
        whole = np.concatenate([blocks[:, 0], blocks[:, 1]], axis=-1)
        return whole * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5


@honest(Known(11))
class TensorSketch(Hashed):
    """Of degree 2: buckets h(i) + k(j) mod b, signs s(i) t(j), for the coordinate (i, j)."""

    @property
    def _sides(self) -> tuple[int, int]:
        width = int(self.d**0.5)
        return -(-self.d // width), width

    def buckets(self, draws: Draws) -> Array:
        high, wide = self._sides
        hashes = draws.integers(BUCKETS, high + wide, self.b)
        return ((hashes[:, :high, None] + hashes[:, None, high:]) % self.b).reshape(-1, high * wide)[:, : self.d]

    def signs(self, draws: Draws) -> Array:
        high, wide = self._sides
        signs = draws.signs(SIGNS, high + wide)
        return (signs[:, :high, None] * signs[:, None, high:]).reshape(-1, high * wide)[:, : self.d]


@honest(Known())
class SparseRows(Signed):
    """LESS: each row is the sum of 4 signed coordinates, drawn uniformly with replacement."""

    def matrix(self, draws: Draws) -> Array:
        places = draws.integers(ROWS, 4 * self.b, self.d)
        signs = draws.signs(SIGNS, 4 * self.b)
        matrix = np.zeros((draws.operators, self.b, self.d))
        t = np.arange(draws.operators)[:, None]
        np.add.at(matrix, (t, np.arange(4 * self.b) // 4, places), signs * (self.d / 4 / self.b) ** 0.5)
        return matrix


@honest(Known(4))
class PartialCirculant(Signed):
    """The first b rows of a circulant matrix of signs, with random signs of the columns; b <= d."""

    def check(self) -> None:
        require(self.b <= self.d, f"{self.b} different rows need b <= d={self.d}")

    def matrix(self, draws: Draws) -> Array:
        first = draws.signs(ENTRIES, self.d)
        at = (np.arange(self.d) - np.arange(self.b)[:, None]) % self.d
        return first[:, at] * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5


@honest(Known(4))
class CirculantByFourier(PartialCirculant):
    """The same, applied by the fast Fourier transform, so with other rounding errors than a matrix."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        signs = draws.signs(SIGNS, self.d)[:, None]
        first = np.fft.fft(draws.signs(ENTRIES, self.d))[:, None]

        def forward(inner: Sketch, x: Array) -> Array:
            y = np.fft.ifft(np.fft.fft(x * signs) * first.conj()).real[..., : self.b] * self.b**-0.5
            return y.astype(x.dtype)

        def back(inner: Sketch, y: Array) -> Array:
            x = np.fft.ifft(np.fft.fft(y, n=self.d) * first).real * signs * self.b**-0.5
            return x.astype(y.dtype)

        return Altered(sketch, forward=forward, back=back)

    def matrix(self, draws: Draws) -> Array:
        first = draws.signs(ENTRIES, self.d)
        at = (np.arange(self.d) - np.arange(self.b)[:, None]) % self.d
        return first[:, at] * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5


@honest(Known())
class Toeplitz(Signed):
    """Rademacher Toeplitz: b + d - 1 signs along the diagonals."""

    def matrix(self, draws: Draws) -> Array:
        at = np.arange(self.d) - np.arange(self.b)[:, None] + self.b - 1
        return draws.signs(ENTRIES, self.b + self.d - 1)[:, at] * self.b**-0.5


@honest(Known())
class KacWalk(Signed):
    """Random rotations of random pairs of coordinates, then b uniform coordinates, times √(d/b)."""

    STEPS = 24

    def matrix(self, draws: Draws) -> Array:
        t = np.arange(draws.operators)
        rows = draws.integers(ROWS, self.b, self.d)
        matrix = np.zeros((draws.operators, self.b, self.d))
        matrix[t[:, None], np.arange(self.b), rows] = draws.signs(SIGNS, self.b) * (self.d / self.b) ** 0.5
        if self.d == 1:
            return matrix
        ones = draws.integers(BUCKETS, self.STEPS, self.d)
        others = (ones + 1 + draws.integers(BUCKETS + 4, self.STEPS, self.d - 1)) % self.d
        angles = draws.words(ENTRIES, self.STEPS) * (2 * np.pi / 2**32)
        for i, j, angle in zip(ones.T, others.T, angles.T, strict=True):
            c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
            left, right = matrix[t, :, i], matrix[t, :, j]
            matrix[t, :, i], matrix[t, :, j] = c * left - s * right, s * left + c * right
        return matrix


# Honest: operators made of others, and those with little or no compression


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

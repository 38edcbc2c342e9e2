"""Broken: wrong at some sizes."""

from functools import partial

import numpy as np
from building import Array, Hashed, Scaled, Signed
from specimen import broken, variants

from sketchbench.kernels import Array as AnyArray
from sketchbench.sketch.draws import BUCKETS, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled
from sketchbench.theory import norm, second_moment
from sketchbench.theory.known import Known

REPEATED = Known(
    2, partial(second_moment.sampled_hadamard, replacement=True), partial(norm.sampled_hadamard, replacement=True)
)


def _prime(d: int) -> bool:
    return d > 1 and all(d % q for q in range(2, int(d**0.5) + 1))


@broken("sizes", "S1-sizes", effect="odd d: the last column is zero")
class OddLosesAColumn(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d % 2:
            matrix[..., -1] = 0
        return matrix


@broken("sizes", "S1-sizes", effect="d = 1 modulo 3: a column is zero")
class ThirdsLoseAColumn(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d % 3 == 1:
            matrix[..., self.d // 2] = 0
        return matrix


scaled = variants(Scaled, "factor", "sizes")
scaled("PrimeScaled", "S1-sizes", "d prime: scaled by 1.1", lambda self: 1.1 if _prime(self.d) else 1.0)
scaled("OneScaled", "S1-sizes", "d = 1: scaled by 2", lambda self: 2.0 if self.d == 1 else 1.0)
scaled("LargeScaled", "S1 S1-sizes S2x", "d > 500: scaled by 1.1", lambda self: 1.1 if self.d > 500 else 1.0)
scaled("SquareScaled", "S1-sizes S1", "b = d: scaled by 1.1", lambda self: 1.1 if self.b == self.d else 1.0)
scaled(
    "RemainderScaled",
    "S1-sizes",
    "b does not divide d: scaled by √(⌊d/b⌋ b/d)",
    lambda self: (self.d // self.b * self.b / self.d) ** 0.5,
)


@broken("sizes", "S1-sizes", effect="b odd: the last row is never used")
class OddLosesARow(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.b % 2 and self.b > 1:
            matrix[:, -1] = 0
        return matrix


@broken("sizes", "S1-sizes", effect="b no power of two: entries beyond b are lost (15 % to 37 %)")
class MaskedBuckets(Hashed):
    """A bucket is the lower bits of a word, and one beyond b is no bucket."""

    def _masked(self, draws: Draws) -> Array:
        return draws.words(BUCKETS, self.d).astype(np.int64) % (1 << (self.b - 1).bit_length())

    def buckets(self, draws: Draws) -> Array:
        return self._masked(draws) % self.b

    def signs(self, draws: Draws) -> Array:
        return super().signs(draws) * (self._masked(draws) < self.b)


@broken("sizes", "S1-sizes", effect="the first row of the transform is never sampled", known=Known(2))
class RowNeverSampled(Family):
    """An SRHT whose first row is never sampled."""

    def check(self) -> None:
        require(self.b < self._n or self._n == 1, "needs fewer rows than the transform has")

    @property
    def _n(self) -> int:
        return 1 << (self.d - 1).bit_length()

    def _draw(self, draws: Draws) -> Sampled:
        n = self._n
        rows = draws.subset(ROWS, self.b, max(1, n - 1)) + int(n > 1)

        def transform(x: AnyArray) -> AnyArray:
            return draws.kernels.walsh_hadamard(x)

        scale = (max(1, n - 1) / self.b) ** 0.5
        return Sampled(
            draws.kernels, self.d, n, rows.astype(np.int32), scale, draws.signs(SIGNS, self.d), transform, transform
        )


scaled(
    "PaddingForgotten",
    "S1-sizes",
    "d no power of two: scaled by √(d/n), n the next one",
    lambda self: float((self.d / (1 << (self.d - 1).bit_length())) ** 0.5),
)


@broken("sizes", "S1-sizes", effect="d = 1 modulo 8: a pair of columns equal")
class EqualPair(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d % 8 == 1 and self.d > 1:
            matrix[..., 5] = matrix[..., 2]
        return matrix


# A run has ten sizes or so.
scaled("OneSizeWrong", "", "d = 101", lambda self: 2.0 if self.d == 101 else 1.0)


@broken(
    "sizes",
    "S1-sizes",
    effect="the first row of an unsigned transform is never sampled: a direction is lost",
    known=Known(),
)
class RowNeverSampledUnsigned(Signed):
    def check(self) -> None:
        require(self.b < 1 << (self.d - 1).bit_length(), "needs fewer rows than the transform has")

    def matrix(self, draws: Draws) -> Array:
        at = np.arange(1 << (self.d - 1).bit_length())
        rows = draws.subset(ROWS, self.b, len(at) - 1)[..., None] + 1
        return (1.0 - 2 * (np.bitwise_count(rows & at[: self.d]) % 2)) * self.b**-0.5


@broken(
    *("second moment", "S2x"),
    effect="rows of an SRHT repeat, and never the first: a is 6.7 % too large at d = b = 16",
    known=REPEATED,
)
class RepeatedRowNeverSampled(Signed):
    """Only rows that repeat can tell: see `honest_structured.FirstRowUnused`."""

    def matrix(self, draws: Draws) -> Array:
        at = np.arange(1 << (self.d - 1).bit_length())
        rows = draws.integers(ROWS, self.b, max(1, len(at) - 1))[..., None] + int(len(at) > 1)
        signs = 1.0 - 2 * (np.bitwise_count(rows & at[: self.d]) % 2)
        return signs * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5

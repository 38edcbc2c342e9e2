"""Broken: the mean or the second moment of RᵀR is not what it should be, at every size."""

import numpy as np
from building import Array, Hashed, Scaled, Signed
from specimen import NEVER, broken, variants

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import require
from sketchbench.theory.known import Known

BOUNDED = Known(2)  # the constant is claimed, no exact moment is known


scaled = variants(Scaled, "factor", "scale")
scaled("Unscaled", "S1 S1-sizes", "E[RᵀR] = b I", lambda self: self.b**0.5)
scaled("TwoPercent", "S1 S1-sizes", "E[RᵀR] = 1.02 I", lambda self: 1.02**0.5)
scaled("OnePercent", "S1 S1-sizes", "E[RᵀR] = 1.01 I", lambda self: 1.01**0.5)
scaled("HalfAPercent", "S1 S1-sizes", "E[RᵀR] = 1.005 I", lambda self: 1.005**0.5)
scaled("HalfAPercentLess", "S1 S1-sizes", "E[RᵀR] = 0.995 I", lambda self: 0.995**0.5)
scaled(
    "BesselScale",
    "S1-sizes S1",
    "√(b/(b - 1)) too large, as of a sample's variance",
    lambda self: (self.b / max(1, self.b - 1)) ** 0.5,
)


@broken("bias", "S1", "S1-sizes", effect="E[RᵀR] = I + 0.01 uuᵀ, u flat")
class OneDirection(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        return matrix + (1.01**0.5 - 1) * matrix.mean(axis=-1, keepdims=True)


@broken("bias", "S1", "S1-sizes", effect="two columns correlated by 0.05")
class TwoColumnsTied(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d > 3:
            tied = draws.words(ROWS, self.b) < 0.05 * 2**32
            matrix[..., 3] = np.where(tied, matrix[..., 1], matrix[..., 3])
        return matrix


@broken("bias", "S1", "S1-sizes", effect="a sign is +1 with probability 0.55: off-diagonal 0.01")
class FavouredSign(Signed):
    def matrix(self, draws: Draws) -> Array:
        words = draws.words(ENTRIES, self.b * self.d).reshape(-1, self.b, self.d)
        return np.where(words < 0.55 * 2**32, 1.0, -1.0) * self.b**-0.5


@broken("bias", "S1", "S1-sizes", "S2x", effect="the sign is the parity of the bucket")
class SignTiedToBucket(Hashed):
    def signs(self, draws: Draws) -> Array:
        return 2 * (self.buckets(draws) % 2) - 1


@broken("bias", "S1", "S1-sizes", "S2x", effect="one sign for all columns")
class OneSign(Hashed):
    def signs(self, draws: Draws) -> Array:
        return draws.signs(SIGNS, 1) + np.zeros((1, self.d), dtype=np.int8)


@broken("second moment", "S2?", "S2x?", effect="right mean, infinite second moment: Pareto with exponent 1.5")
class HeavyTail(Signed):
    def matrix(self, draws: Draws) -> Array:
        uniform = (draws.words(ROWS, 1)[..., None] + 0.5) / 2.0**32
        return super().matrix(draws) * np.sqrt(uniform ** (-1 / 1.5) / 3)


@broken("second moment", "S2?", effect="the same, and no moment is claimed but a = 2", known=BOUNDED)
class HeavyTailClaimingAConstant(HeavyTail):
    pass


@broken("second moment", "S2", effect="buckets j mod b: a = d, on few pairs; a = 2 claimed", known=BOUNDED)
class BucketsInTurn(Hashed):
    def buckets(self, draws: Draws) -> Array:
        return np.arange(self.d) % self.b + np.zeros((draws.operators, 1), dtype=np.int64)


@broken("second moment", "S2", effect="buckets of whole runs of columns; a = 2 claimed", known=BOUNDED)
class BucketsOfRuns(Hashed):
    def buckets(self, draws: Draws) -> Array:
        run = -(-self.d // self.b)
        return np.arange(self.d) // run + np.zeros((draws.operators, 1), dtype=np.int64)


@broken("second moment", "S2", effect="runs of four columns share their bucket, a = 6.2; 2 claimed", known=BOUNDED)
class FoursTogether(Hashed):
    def buckets(self, draws: Draws) -> Array:
        return np.repeat(draws.integers(BUCKETS, -(-self.d // 4), self.b), 4, axis=1)[:, : self.d]


@broken("second moment", "S2", effect="two columns far apart share their bucket: a = b there", known=BOUNDED)
class OnePairMeets(Hashed):
    def buckets(self, draws: Draws) -> Array:
        rows = super().buckets(draws).copy()
        rows[:, self.d // 3] = rows[:, -2 % self.d]
        return rows


@broken("second moment", *NEVER, effect="two columns far apart share their bucket, at d > 100 only", known=BOUNDED)
class OnePairMeetsAtLarge(Hashed):
    """The search for the worst pair is at d = 16; the pairs at d = 640 are fixed."""

    def buckets(self, draws: Draws) -> Array:
        rows = super().buckets(draws).copy()
        if self.d > 100:
            rows[:, self.d // 3] = rows[:, -2 % self.d]
        return rows


@broken("second moment", "S2", effect="a = 3.1 where the columns' norms vary, 2 claimed", known=BOUNDED)
class RandomNorms(Signed):
    def matrix(self, draws: Draws) -> Array:
        signs = draws.signs(SIGNS, self.d)[:, None]
        return super().matrix(draws) * np.sqrt(1 + 0.5 * signs)


@broken("second moment", "S2", "S2x", effect="signs are pairwise independent only: rows of a Hadamard matrix")
class PairwiseSigns(Signed):
    def matrix(self, draws: Draws) -> Array:
        rows = draws.integers(ROWS, self.b, 1 << max(1, (self.d - 1).bit_length()))
        parity = np.bitwise_count(rows[..., None] & np.arange(self.d)) % 2
        return (1.0 - 2 * parity) * draws.signs(SIGNS, self.b)[..., None] * self.b**-0.5


@broken("second moment", "S2", effect="a block SRHT whose row signs are shared by its blocks: a = b", known=Known(4))
class RowSignsShared(Signed):
    """The mistake of the author of this zoo: the first columns of both blocks are always parallel."""

    def check(self) -> None:
        require(self.d % 2 == 0, f"two blocks need an even d, not {self.d}")

    def matrix(self, draws: Draws) -> Array:
        half = self.d // 2
        n = 1 << (half - 1).bit_length()
        rows = draws.integers(ROWS, 2 * self.b, n).reshape(-1, 2, self.b, 1)
        blocks = 1.0 - 2 * (np.bitwise_count(rows & np.arange(half)) % 2)
        whole = np.concatenate([blocks[:, 0], blocks[:, 1]], axis=-1)
        return whole * draws.signs(SIGNS, self.d)[:, None] * self.b**-0.5


@broken("second moment", "S2x", effect="the last bucket is never used")
class BucketNeverUsed(Hashed):
    def buckets(self, draws: Draws) -> Array:
        return draws.integers(BUCKETS, self.d, max(1, self.b - 1))

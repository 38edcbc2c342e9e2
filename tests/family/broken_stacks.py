"""Broken: the operators of a stack are not independent; each of them is as it should be."""

from dataclasses import replace

import numpy as np
from building import Array, Hashed, Renumbered, Signed, numbers, renumbered
from specimen import NEVER, NORMAL, broken, variants

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws


@broken("dependent operators", "C6", effect="every second is the negative of the one before")
class Negatives(Signed):
    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        return renumbered(draws, t // 2, super().matrix) * (1 - 2 * (t % 2))[:, None, None]


repeating = variants(Renumbered, "number", "dependent operators")
repeating("EverySeventhRepeats", "C6", "every seventh repeats the one before", lambda self, t: t - (t % 7 == 6))
repeating("Lag64", "C6", "the second half of every 128 repeats the first", lambda self, t: t - t // 64 % 2 * 64)
# Seen as a repetition; no lag like this is tried.
repeating("Lag1003", "C6", "lag 1,003", lambda self, t: t - t // 1003 % 2 * 1003)
repeating("Period2048", "C6", "only 2,048 different operators", lambda self, t: t % 2048)
repeating("OneOperator", "C6", "all the same", lambda self, t: 0 * t)


@broken("dependent operators", "C6", effect="every second is always the same")
class EvenRandom(Signed):
    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        always = super().matrix(replace(draws, first=0, operators=1))
        return np.where((t % 2 == 0)[:, None, None], super().matrix(draws), always)


@broken("dependent operators", "C6", effect="pairs share signs, not buckets")
class SharedSigns(Hashed):
    def signs(self, draws: Draws) -> Array:
        return renumbered(draws, numbers(draws) // 2, super().signs)


@broken("dependent operators", "C6", effect="pairs share buckets, not signs")
class SharedBuckets(Hashed):
    def buckets(self, draws: Draws) -> Array:
        return renumbered(draws, numbers(draws) // 2, super().buckets)


@broken("dependent operators", "C6", effect="buckets shifted by one from operator to operator")
class ShiftedBuckets(Hashed):
    def buckets(self, draws: Draws) -> Array:
        t = numbers(draws)
        return (renumbered(draws, t // 16, super().buckets) + t[:, None]) % self.b


@broken("dependent operators", "C6", effect="every second is the one before with columns shifted by one")
class ShiftedColumns(Signed):
    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        matrix = renumbered(draws, t // 2, super().matrix)
        return np.where((t % 2 == 1)[:, None, None], np.roll(matrix, 1, axis=-1), matrix)


@broken("dependent operators", "C6", effect="every second is the one before with rows in another order")
class PermutedRows(Signed):
    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        matrix = renumbered(draws, t // 2, super().matrix)
        return np.where((t % 2 == 1)[:, None, None], matrix[:, ::-1], matrix)


@broken("dependent operators", "C6", effect="pairs equal up to a random sign of the whole")
class RandomlyNegated(Signed):
    def matrix(self, draws: Draws) -> Array:
        signs = draws.signs(SIGNS, 1)[..., None]
        return renumbered(draws, numbers(draws) // 2, super().matrix) * signs


@broken("dependent operators", "C6", effect="pairs equal up to random signs of the rows")
class RowsNegated(Signed):
    """RᵀR is the same."""

    def matrix(self, draws: Draws) -> Array:
        return renumbered(draws, numbers(draws) // 2, super().matrix) * draws.signs(SIGNS, self.b)[..., None]


@broken("dependent operators", "C6", effect="one entry is redrawn from operator to operator")
class OneEntryRedrawn(Signed):
    """In runs of 16."""

    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        matrix = renumbered(draws, t - t % 16, super().matrix).reshape(len(t), -1)
        fresh = super().matrix(draws).reshape(len(t), -1)
        redrawn = np.arange(self.b * self.d) < (t % 16)[:, None]
        return np.where(redrawn, fresh, matrix).reshape(-1, self.b, self.d)


@broken("dependent operators", "C6", effect="scales √(1 ± 0.3), of opposite sign in pairs")
class AntitheticScales(Signed):
    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        signs = renumbered(draws, t // 2, lambda pairs: pairs.signs(SIGNS, 1))[:, 0] * (1 - 2 * (t % 2))
        return super().matrix(draws) * np.sqrt(1 + 0.3 * signs)[:, None, None]


@broken("dependent operators", "C6", effect="the scale √(1 ± 0.3) is shared by 64 operators")
class SharedScale(Signed):
    def matrix(self, draws: Draws) -> Array:
        signs = renumbered(draws, numbers(draws) // 64, lambda runs: runs.signs(SIGNS, 1))
        return super().matrix(draws) * np.sqrt(1 + 0.3 * signs)[..., None]


@broken("dependent operators", "C6", effect="groups of 8, sorted by the first entry", known=NORMAL)
class SortedGroups(Signed):
    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        first = t[0] - t[0] % 8
        whole = replace(draws, first=int(first), operators=int(t[-1] - t[-1] % 8 + 8 - first))
        matrix = whole.gaussian_rows(ENTRIES, 0, self.b, self.d) * self.b**-0.5
        groups = matrix.reshape(-1, 8, self.b, self.d)
        order = np.argsort(groups[:, :, 0, 0], axis=1)
        return np.take_along_axis(groups, order[..., None, None], axis=1).reshape(matrix.shape)[t - first]


@broken("dependent operators", "C6", effect="correlation 0.3 of Gaussian pairs", known=NORMAL)
class CorrelatedGaussians(Signed):
    def matrix(self, draws: Draws) -> Array:
        def made(of: Draws) -> Array:
            return of.gaussian_rows(ENTRIES, 0, self.b, self.d)

        shared = renumbered(draws, numbers(draws) // 2, made)
        fresh = draws.gaussian_rows(ROWS, 0, self.b, self.d)
        return (0.3**0.5 * shared + 0.7**0.5 * fresh) * self.b**-0.5


@broken("dependent operators", "C6", effect="a sampled row is not sampled again by the next operator")
class WithoutReplacementAcross(Hashed):
    """Stratified: the buckets of four neighbours are a rotation of each other, by b / 4."""

    def buckets(self, draws: Draws) -> Array:
        t = numbers(draws)
        return (renumbered(draws, t // 4, super().buckets) + (t % 4 * max(1, self.b // 4))[:, None]) % self.b


@broken("dependent operators", *NEVER, effect="every third is the product of the two before, entry by entry")
class Triples(Signed):
    """Any two of them are independent, so the variance of a mean is right; three are not."""

    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)

        def signs(wanted: Array) -> Array:
            return renumbered(draws, wanted, super(Triples, self).matrix)

        product = signs(t - t % 3) * signs(t - t % 3 + 1) * self.b**0.5
        return np.where((t % 3 == 2)[:, None, None], product, signs(t))


@broken("dependent operators", "C6", effect="one column of every second operator repeats")
class OneColumnShared(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        matrix[..., 0] = renumbered(draws, numbers(draws) // 2, super().matrix)[..., 0]
        return matrix


@broken("dependent operators", "C6", effect="buckets of operator t + 4 are those of the last column of t")
class BucketCarriedOver(Hashed):
    """Column 0 takes the bucket that the last column had four operators before."""

    def buckets(self, draws: Draws) -> Array:
        t = numbers(draws)
        rows = draws.integers(BUCKETS, self.d, self.b)
        carried = t % 8 >= 4
        before = renumbered(draws, t - 4 * carried, lambda of: of.integers(BUCKETS, self.d, self.b))
        rows[carried, 0] = before[carried, -1]
        return rows

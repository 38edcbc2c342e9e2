"""Broken: a part of the key is not used, or neighbouring keys have something in common."""

import os
import random
import threading
import time
from dataclasses import replace

import numba
import numpy as np
from building import Array, Hashed, Renumbered, Signed, numbers, renumbered
from specimen import NEVER, NORMAL, broken, variants

from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws


class _Rekeyed(Signed):
    """Entries under a key that is computed from the key."""

    def rekeyed(self, key: int) -> int:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=self.rekeyed(draws.key) % 2**64))


rekeyed = variants(_Rekeyed, "rekeyed", "key in part")
neighbouring = variants(_Rekeyed, "rekeyed", "neighbouring keys")
rekeyed("LowerHalf", "C5", "the upper 32 bits are ignored", lambda self, key: key % 2**32)
rekeyed("UpperHalf", "C5", "the lower 32 bits are ignored", lambda self, key: key >> 32)
rekeyed("Bit17", "C5", "bit 17 is ignored", lambda self, key: key | 1 << 17)
rekeyed(
    "HighestBit", "C5", "the highest bit is ignored, as a signed integer's sign", lambda self, key: key & (1 << 63) - 1
)
rekeyed("Modulo1000", "C5 C7", "modulo 1000", lambda self, key: key % 1000)
rekeyed("DoublePrecision", "C5", "as a float64, of 53 bits", lambda self, key: int(float(key)))
rekeyed("CountOfOnes", "C5", "the number of its ones", lambda self, key: key.bit_count())
# Every single bit counts; two of them can cancel.
rekeyed(
    "HalvesXored",
    "C5",
    "both halves xored: 2^32 keys each have the same operators",
    lambda self, key: key >> 32 ^ key % 2**32,
)
# The lowest two bits count as their exclusive or: keys 0 and 3, 1 and 2 have the same operators.
rekeyed("GrayCode", "C5 C7", "the bit of 2 adds to that of 1", lambda self, key: key & ~3 | (key ^ key >> 1) & 1)


@broken("key in part", "C5", effect="bit 40 changes the signs of the first row only")
class WeakBit(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(replace(draws, key=draws.key & ~(1 << 40)))
        matrix[:, 0] = super().matrix(draws)[:, 0]
        return matrix


@broken("key in part", "C5", "C7", effect="signs depend on the key, buckets don't")
class BucketsWithoutKey(Hashed):
    def buckets(self, draws: Draws) -> Array:
        return super().buckets(replace(draws, key=0))


@broken("key in part", "C5", "C7", effect="the key decides about a global sign only")
class KeyIsASign(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=0)) * draws.signs(SIGNS, 1)[..., None]


neighbouring("PairsOfKeys", "C5 C7", "key and key + 1 share all (even keys)", lambda self, key: key >> 1)


@broken("neighbouring keys", "C7", effect="operator t of key is operator t - 1 of key + 1")
class KeyPlusNumber(Signed):
    def matrix(self, draws: Draws) -> Array:
        start = (draws.key + draws.first) % 2**31
        return super().matrix(replace(draws, key=draws.key >> 31, first=start))


@broken("neighbouring keys", "C5", "C7", effect="odd keys have the negative operators of even ones")
class OddKeysNegative(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=draws.key & ~1)) * (1 - 2 * (draws.key & 1))


@broken("neighbouring keys", "C5", "C7", effect="signs of even and odd keys are shared, buckets are not")
class KeysShareSigns(Hashed):
    def signs(self, draws: Draws) -> Array:
        return super().signs(replace(draws, key=draws.key & ~1))


@broken("neighbouring keys", "C7", effect="key and key + 1 share a tenth of the entries")
class KeysShareATenth(Signed):
    def matrix(self, draws: Draws) -> Array:
        kept = draws.kernels.random_words(draws.key & ~1, 7, draws.first, draws.operators, self.b * self.d)
        shared = (kept < 2**32 // 10).reshape(draws.operators, self.b, self.d)
        return np.where(shared, super().matrix(replace(draws, key=draws.key & ~1)), super().matrix(draws))


@broken("neighbouring keys", "C7", effect="a weak generator: the top bit of key + number times the golden ratio")
class WeylSequence(Signed):
    def matrix(self, draws: Draws) -> Array:
        place = numbers(draws)[:, None] * (self.b * self.d) + np.arange(self.b * self.d)
        words = (place.astype(np.uint64) + np.uint64(draws.key)) * np.uint64(0x9E3779B97F4A7C15)
        signs = (words >> np.uint64(63)).astype(float) * 2 - 1
        return signs.reshape(-1, self.b, self.d) * self.b**-0.5


@broken("neighbouring keys", "C5", "C7", effect="an odd key repeats the even one below, shifted by one operator")
class KeysOverlap(Signed):
    def matrix(self, draws: Draws) -> Array:
        key, phase = divmod(draws.key, 2)
        return (
            draws.kernels.sign_rows(key, ENTRIES, draws.first + phase, draws.operators, 0, self.b, self.d)
            * self.b**-0.5
        )


# Broken: the operators of a stack are not independent; each of them is as it should be


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


# Broken: the same key does not give the same operator


class _Reseeded(Signed):
    """Entries under a key that depends on something else as well."""

    def extra(self, draws: Draws) -> int:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=(draws.key + 0x9E3779B97F4A7C15 * self.extra(draws)) % 2**64))


reseeded = variants(_Reseeded, "extra", "other operator")
reseeded("DependsOnStack", "C4", "the size of the stack", lambda self, draws: draws.operators)
reseeded(
    "DependsOnBeingAlone",
    "C4",
    "whether one operator is drawn, or a stack",
    lambda self, draws: int(draws.operators == 1),
)
reseeded("DependsOnLargeStack", "C4", "stacks of more than 500", lambda self, draws: int(draws.operators > 500))


@broken("other operator", "C4", effect="the number of the stack's first operator")
class IgnoresFirst(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, first=0))


reseeded("ParityOfFirst", "C4", "the parity of `first`", lambda self, draws: draws.first % 2)


@broken("other operator", "C4", "C6", effect="numbers beyond 2^24, where float32 ends")
class NumbersInSinglePrecision(Signed):
    def matrix(self, draws: Draws) -> Array:
        rounded = numbers(draws).astype(np.float32).astype(np.int64)
        return renumbered(draws, rounded, super().matrix)


reseeded("DependsOnBackend", "C4", "the backend", lambda self, draws: sum(draws.kernels.NAME.encode()))
reseeded("DependsOnThreads", "C4", "the number of threads", lambda self, draws: int(numba.get_num_threads()))
reseeded("DependsOnVariable", "C4", "OMP_NUM_THREADS", lambda self, draws: int(os.environ.get("OMP_NUM_THREADS", "0")))
reseeded("DependsOnHashes", "C4", "PYTHONHASHSEED", lambda self, draws: hash("seed") % 2**32)


@broken("other operator", "C4", effect="the order of a set of words")
class DependsOnSetOrder(Signed):
    def matrix(self, draws: Draws) -> Array:
        order = [int(word) for word in {str(j) for j in range(self.d)}]
        return super().matrix(draws)[..., order]


@broken("other operator", "C4", effect="NumPy's global state")
class GlobalNumpy(Signed):
    def matrix(self, draws: Draws) -> Array:
        return np.random.choice([-1.0, 1.0], (draws.operators, self.b, self.d)) * self.b**-0.5  # noqa: NPY002


reseeded("GlobalRandom", "C4", "the state of Python's `random`", lambda self, draws: random.getrandbits(32))


@broken("other operator", "C4", effect="fresh entropy")
class FreshEntropy(Signed):
    def matrix(self, draws: Draws) -> Array:
        signs = np.random.default_rng().integers(0, 2, (draws.operators, self.b, self.d)) * 2 - 1
        return signs * self.b**-0.5


reseeded("DependsOnTime", "C4", "the time, in milliseconds", lambda self, draws: int(time.time() * 1000))
# A run takes less than a day.
reseeded("DependsOnDay", "", "the day", lambda self, draws: int(time.time() // 86_400))
reseeded("DependsOnProcess", "C4", "the process", lambda self, draws: os.getpid())
# A check has one machine only.
reseeded("DependsOnMachine", "", "the user and the machine", lambda self, draws: sum(os.uname().nodename.encode()))


_draws_so_far = [0]


@broken("other operator", "C4", effect="how many were drawn before")
class CountsDraws(_Reseeded):
    def extra(self, draws: Draws) -> int:
        _draws_so_far[0] += 1
        return _draws_so_far[0]


_last_key = [0]


@broken("other operator", "C4", effect="the key of the draw before")
class RemembersLastKey(_Reseeded):
    def extra(self, draws: Draws) -> int:
        before, _last_key[0] = _last_key[0], draws.key
        return int(before > draws.key)


_first_drawn: dict[tuple[int, int, int], Array] = {}


@broken("other operator", "C4", effect="kept by key, whatever `first`")
class KeptByKey(Signed):
    def matrix(self, draws: Draws) -> Array:
        place = (draws.key, self.d, self.b)
        kept = _first_drawn.get(place)
        if kept is None or len(kept) < draws.operators:
            kept = _first_drawn[place] = super().matrix(draws)
            for old in list(_first_drawn)[:-4]:
                del _first_drawn[old]
        return kept[: draws.operators]


reseeded("DependsOnAddress", "C4", "the address of an object", lambda self, draws: id(draws))


@broken("other operator", "C4", effect="memory that was never written")
class Uninitialised(Signed):
    """A column that is forgotten holds anything; here, signs from the system's entropy."""

    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        noise = np.frombuffer(os.urandom(draws.operators * self.b), dtype=np.uint8)
        matrix[..., -1] = (noise % 2 * 2.0 - 1).reshape(-1, self.b) * self.b**-0.5
        return matrix


reseeded(
    "DependsOnThread",
    "C4",
    "the thread that draws",
    lambda self, draws: int(threading.current_thread() is not threading.main_thread()),
)


@broken("other operator", "C4", effect="sorted by the first entry within every stack", known=NORMAL)
class SortedInStack(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = draws.gaussian_rows(ROWS, 0, self.b, self.d) * self.b**-0.5
        return matrix[np.argsort(matrix[:, 0, 0])]

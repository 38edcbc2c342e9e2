"""Broken: a part of the key is not used, or neighbouring keys have something in common."""

from dataclasses import replace

import numpy as np
from building import Array, Hashed, Signed, numbers
from specimen import broken, variants

from sketchbench.sketch.draws import ENTRIES, SIGNS, Draws


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

"""Broken: a part of the key is not used, or neighbouring keys have something in common."""

from dataclasses import dataclass, replace

import numpy as np
from building import Array, Hashed, Signed, numbers
from specimen import broken

from sketchbench.sketch.draws import ENTRIES, SIGNS, Draws


@dataclass(frozen=True)
class _Rekeyed(Signed):
    """Entries under a key that is computed from the key."""

    def rekeyed(self, key: int) -> int:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=self.rekeyed(draws.key) % 2**64))


@broken("key in part", "C5", effect="the upper 32 bits are ignored")
@dataclass(frozen=True)
class LowerHalf(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key % 2**32


@broken("key in part", "C5", effect="the lower 32 bits are ignored")
@dataclass(frozen=True)
class UpperHalf(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key >> 32


@broken("key in part", "C5", effect="bit 17 is ignored")
@dataclass(frozen=True)
class Bit17(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key | 1 << 17


@broken("key in part", "C5", effect="the highest bit is ignored, as a signed integer's sign")
@dataclass(frozen=True)
class HighestBit(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key & (1 << 63) - 1


@broken("key in part", "C5", "C7", effect="modulo 1000")
@dataclass(frozen=True)
class Modulo1000(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key % 1000


@broken("key in part", "C5", effect="as a float64, of 53 bits")
@dataclass(frozen=True)
class DoublePrecision(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return int(float(key))


@broken("key in part", "C5", effect="the number of its ones")
@dataclass(frozen=True)
class CountOfOnes(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key.bit_count()


@broken("key in part", "C5", effect="both halves xored: 2^32 keys each have the same operators")
@dataclass(frozen=True)
class HalvesXored(_Rekeyed):
    """Every single bit counts; two of them can cancel."""

    def rekeyed(self, key: int) -> int:
        return key >> 32 ^ key % 2**32


@broken("key in part", "C5", "C7", effect="the bit of 2 adds to that of 1")
@dataclass(frozen=True)
class GrayCode(_Rekeyed):
    """The lowest two bits count as their exclusive or: keys 0 and 3, 1 and 2 have the same operators."""

    def rekeyed(self, key: int) -> int:
        return key & ~3 | (key ^ key >> 1) & 1


@broken("key in part", "C5", effect="bit 40 changes the signs of the first row only")
@dataclass(frozen=True)
class WeakBit(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(replace(draws, key=draws.key & ~(1 << 40)))
        matrix[:, 0] = super().matrix(draws)[:, 0]
        return matrix


@broken("key in part", "C5", "C7", effect="signs depend on the key, buckets don't")
@dataclass(frozen=True)
class BucketsWithoutKey(Hashed):
    def buckets(self, draws: Draws) -> Array:
        return super().buckets(replace(draws, key=0))


@broken("key in part", "C5", "C7", effect="the key decides about a global sign only")
@dataclass(frozen=True)
class KeyIsASign(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=0)) * draws.signs(SIGNS, 1)[..., None]


@broken("neighbouring keys", "C5", "C7", effect="key and key + 1 share all (even keys)")
@dataclass(frozen=True)
class PairsOfKeys(_Rekeyed):
    def rekeyed(self, key: int) -> int:
        return key >> 1


@broken("neighbouring keys", "C7", effect="operator t of key is operator t - 1 of key + 1")
@dataclass(frozen=True)
class KeyPlusNumber(Signed):
    def matrix(self, draws: Draws) -> Array:
        start = (draws.key + draws.first) % 2**31
        return super().matrix(replace(draws, key=draws.key >> 31, first=start))


@broken("neighbouring keys", "C5", "C7", effect="odd keys have the negative operators of even ones")
@dataclass(frozen=True)
class OddKeysNegative(Signed):
    def matrix(self, draws: Draws) -> Array:
        return super().matrix(replace(draws, key=draws.key & ~1)) * (1 - 2 * (draws.key & 1))


@broken("neighbouring keys", "C5", "C7", effect="signs of even and odd keys are shared, buckets are not")
@dataclass(frozen=True)
class KeysShareSigns(Hashed):
    def signs(self, draws: Draws) -> Array:
        return super().signs(replace(draws, key=draws.key & ~1))


@broken("neighbouring keys", "C7", effect="key and key + 1 share a tenth of the entries")
@dataclass(frozen=True)
class KeysShareATenth(Signed):
    def matrix(self, draws: Draws) -> Array:
        kept = draws.kernels.random_words(draws.key & ~1, 7, draws.first, draws.operators, self.b * self.d)
        shared = (kept < 2**32 // 10).reshape(draws.operators, self.b, self.d)
        return np.where(shared, super().matrix(replace(draws, key=draws.key & ~1)), super().matrix(draws))


@broken("neighbouring keys", "C7", effect="a weak generator: the top bit of key + number times the golden ratio")
@dataclass(frozen=True)
class WeylSequence(Signed):
    def matrix(self, draws: Draws) -> Array:
        place = numbers(draws)[:, None] * (self.b * self.d) + np.arange(self.b * self.d)
        words = (place.astype(np.uint64) + np.uint64(draws.key)) * np.uint64(0x9E3779B97F4A7C15)
        signs = (words >> np.uint64(63)).astype(float) * 2 - 1
        return signs.reshape(-1, self.b, self.d) * self.b**-0.5


@broken("neighbouring keys", "C5", "C7", effect="an odd key repeats the even one below, shifted by one operator")
@dataclass(frozen=True)
class KeysOverlap(Signed):
    def matrix(self, draws: Draws) -> Array:
        key, phase = divmod(draws.key, 2)
        return (
            draws.kernels.sign_rows(key, ENTRIES, draws.first + phase, draws.operators, 0, self.b, self.d)
            * self.b**-0.5
        )

"""QSGD as its authors use it: a norm for each bucket of entries, and Elias' code."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sketchbench.base.parameters import Count
from sketchbench.compressor.compressor import At, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.packing import pack, unpack
from sketchbench.compressor.prefix_codes import decode_gamma, encode_gamma, gamma_lengths
from sketchbench.compressor.quantised import Quantised, in_units
from sketchbench.kernels import Array

LADDER = sorted({m * 2**bits // 4 for m in (4, 5, 6, 7) for bits in range(15)})  # 1, 2, 3, 4, 5, 6, 7, 8, 10, ...
HEAD = 2  # bytes of s
ROOM = 5.0  # standard deviations of the length of a code that are left free beyond its mean


@dataclass(frozen=True)
class BucketQSGD(Quantised):
    """QSGD (Alistarh et al. 2017, §3.1 and §4): buckets of consecutive entries, each with its norm ‖x‖₂, and each entry
    rounded at random to a multiple of ‖x‖₂/s, which is sent in Elias' gamma code, with its sign.

    Every client sends its own s: the largest of LADDER with a code that fits. The choice must not depend on the
    rounding: so the mean of the code's length and 5 of its standard deviations must fit. If a code is longer all the
    same, entries are rounded towards 0, with a code that is never longer than the mean. The variance is at most
    min(n/s², √n/s) ‖x‖₂² for buckets of n = `bucket` entries (Lemma 3.1); the authors' have 128 and 512.
    """

    unbiased: ClassVar[bool] = True

    bucket: Count = 512

    def check(self) -> None:
        entries = min(self.bucket, self.layout.d)
        others = 3 * self.layout.d / entries**0.5  # bits of others than 0 with s = 1: at most √n of n, each 3 more
        code = self.layout.d + others + ROOM * (3 * others) ** 0.5 + 3 * self.bucket**0.5
        self.needs(HEAD + WORD * self.buckets + math.ceil(code / 8))

    @property
    def buckets(self) -> int:
        """The number of buckets."""
        return -(-self.layout.d // self.bucket)

    @property
    def code_nbytes(self) -> int:
        """Bytes that the code may have."""
        most = int(gamma_lengths(np, np.array(LADDER[-1]))) * self.layout.d
        return min(self.limit - HEAD - WORD * self.buckets, -(-most // 8))

    def variance(self, s: int) -> float:
        """The upper bound of E‖C(x) - x‖² / ‖x‖² with s levels (Lemma 3.1)."""
        n = min(self.bucket, self.layout.d)
        return min(n / s**2, n**0.5 / s)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp = at.kernels.xp
        units, scaled = in_units(x, at)
        norms = self._norms(scaled, at)
        shares = abs(scaled) / self._spread(xp.where(norms > 0, norms, xp.float32(1)), at)
        s = self._choose(shares, at)
        up = at.kernels.asarray(at.private("QSGD").random(x.shape, dtype="float32"))
        lower = xp.floor(shares * s)
        levels = xp.minimum(lower + (shares * s - lower > up), s).astype("int64")
        negative, codes = x < 0, xp.zeros((*x.shape[:2], 8 * self.code_nbytes), dtype="uint8")
        for t, c in np.ndindex(*x.shape[:2]):
            bits = encode_gamma(xp, xp.where(negative[t, c], -levels[t, c], levels[t, c]))
            if len(bits) > codes.shape[2]:
                down = xp.minimum(lower[t, c], s[t, c]).astype("int64")
                bits = encode_gamma(xp, xp.where(negative[t, c], -down, down))
            codes[t, c, : len(bits)] = bits
        return Message({"s": s.astype("uint16"), "norms": norms * units, "codes": pack(xp, codes, 2)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        xp, sent = at.kernels.xp, message.parts
        bits = unpack(xp, sent["codes"], 2, 8 * self.code_nbytes)
        x = xp.empty((*bits.shape[:2], self.layout.d), dtype="float32")
        for t, c in np.ndindex(*bits.shape[:2]):
            x[t, c] = decode_gamma(xp, bits[t, c], self.layout.d)
        return x * (self._spread(sent["norms"], at) / sent["s"].astype("float32"))

    def _norms(self, x: Array, at: At) -> Array:
        """The norms of the buckets, (T, C, buckets)."""
        xp = at.kernels.xp
        padding = xp.zeros((*x.shape[:2], self.buckets * self.bucket - self.layout.d), dtype="float32")
        rows = xp.concatenate([x, padding], axis=2).reshape(*x.shape[:2], self.buckets, self.bucket)
        return xp.linalg.norm(rows, axis=3)

    def _spread(self, norms: Array, at: At) -> Array:
        """The norm of each entry's bucket, (T, C, d)."""
        return at.kernels.xp.repeat(norms, self.bucket, axis=2)[..., : self.layout.d]

    def _choose(self, shares: Array, at: At) -> Array:
        """s of each message, float32 (T, C, 1), from the magnitudes of its entries over their buckets' norms."""
        xp = at.kernels.xp
        ladder = xp.asarray(np.array(LADDER, dtype=np.float32))
        best, step = xp.zeros((*shares.shape[:2], 1), dtype="int64"), 32
        while step:
            tried = xp.minimum(best + step, len(LADDER) - 1)
            best = xp.where(self._fits(shares, ladder[tried], at), tried, best)
            step //= 2
        return ladder[best]

    def _fits(self, shares: Array, s: Array, at: At) -> Array:
        """Return whether the code with s levels fits, except with a probability of about 1e-6."""
        xp, lengths = at.kernels.xp, at.kernels.asarray(_lengths())
        steps, fits = xp.diff(lengths), xp.empty(s.shape, dtype=bool)
        for t, c in np.ndindex(*s.shape[:2]):  # a message at a time fits into a cache
            exact = shares[t, c] * s[t, c]
            lower = xp.minimum(xp.floor(exact), s[t, c])
            share, level = exact.astype("float64") - lower, lower.astype("int32")
            short, more = lengths.take(level), steps.take(level)
            mean, variance = (short + share * more).sum(), (share * (1 - share) * more**2).sum()
            fits[t, c] = mean + ROOM * xp.maximum(variance, 0) ** 0.5 <= 8 * self.code_nbytes
        return fits


@functools.cache
def _lengths() -> NDArray[np.float32]:
    """The bits of the magnitudes up to one more than the largest."""
    return np.asarray(gamma_lengths(np, np.arange(LADDER[-1] + 2)), dtype=np.float32)

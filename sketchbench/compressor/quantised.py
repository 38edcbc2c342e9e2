"""Quantisation: every entry of the update, in fewer bits than a float32 has."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sketchbench.compressor import door
from sketchbench.compressor.compressor import At, Compressor, Feedback, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.packing import from_bits, pack, packed_nbytes, to_bits, unpack
from sketchbench.kernels import Array
from sketchbench.sketch.draws import SIGNS

MANTISSA, INFINITE = 23, 255  # bits of a float32 after its exponent, and the exponent of what is no number
SAFE = 40  # the exponent of the largest entries whose squares float32 can sum, with room at both ends


@dataclass(frozen=True)
class Quantised(Compressor):
    """A compressor that sends a scale, and one of few levels for each entry. Clients have scales of their own, so that
    the server needs each message; it sends the mean in float32."""

    adds_up: ClassVar[bool] = False


def _round(v: Array, at: At, part: str) -> Array:
    """Round v up or down to an integer at random, so that the mean is v, with the client's own randomness."""
    up = at.kernels.asarray(at.private(part).random(v.shape, dtype="float32"))
    up += v
    return at.kernels.xp.floor(up, out=up)


def _units(sizes: Array, at: At) -> Array:
    """Powers of two (T, C, 1), in whose units entries up to these sizes can be squared and summed; 1 if needless."""
    _, exponents = at.kernels.xp.frexp(sizes)
    return _powers(at.kernels.xp.where(abs(exponents) > SAFE, exponents, 0), at)


def in_units(x: Array, at: At) -> tuple[Array, Array]:
    """Return powers of two (T, C, 1), and x (T, C, d) in these units, whose entries can be squared and summed."""
    units = _units(door.largest(x), at)
    return units, _over(x, units)


def _powers(exponents: Array, at: At) -> Array:
    """Powers of two, float32, of integers up to 128; 128 counts as 127."""
    xp = at.kernels.xp
    return xp.ldexp(xp.float32(1), xp.minimum(exponents, np.finfo(np.float32).maxexp - 1)).astype("float32")


def _over(x: Array, units: Array) -> Array:
    """x / units, without a copy if all are 1."""
    return x if bool((units == 1).all()) else x / units


def _times(x: Array, units: Array) -> Array:
    """x units, without a copy if all are 1."""
    return x if bool((units == 1).all()) else x * units


@dataclass(frozen=True)
class Levels(Quantised):
    """Stochastic rounding of x/‖x‖ to multiples of 1/s, for the norm `scale`; unbiased."""

    unbiased: ClassVar[bool] = True

    @property
    @abstractmethod
    def s(self) -> int:
        """The number of positive levels, and of negative ones."""

    @abstractmethod
    def scale(self, x: Array, at: At) -> Array:
        """‖x‖, (T, C, 1), in a norm that no entry of x exceeds."""

    def levels(self, x: Array, norms: Array, at: At) -> Array:
        """The rounded levels of x (T, C, d): integers from -s to s, in float32."""
        units = _units(norms, at)
        norms = norms / units
        safe = at.kernels.xp.where(norms > 0, norms, 1)
        rounded = _round(_over(x, units) * (self.s / safe), at, type(self).__name__)
        return rounded.clip(-self.s, self.s, out=rounded)

    def from_levels(self, levels: Array, norms: Array, at: At) -> Array:
        """The entries (T, C, d), float32, of levels and norms (T, C, 1)."""
        units = _units(norms, at)
        return _times(levels.astype("float32", copy=False) * (norms / units / self.s), units)


@dataclass(frozen=True)
class QSGD(Levels):
    """QSGD (Alistarh et al. 2017, §3.1): ‖x‖₂, and each entry rounded at random to a multiple of ‖x‖₂/s.

    s is the largest that fits: an entry has w bits and s = 2^(w-1) - 1, or, below 3 bits, s = 1 and five entries share
    a byte. The variance is at most min(d/s², √d/s)‖x‖₂² (Lemma 3.1).
    """

    def check(self) -> None:
        self.needs(WORD + packed_nbytes(self.layout.d, 3))

    @property
    def width(self) -> int:
        """w, bits of an entry, from 3 to 16; 0 for the three levels -1, 0 and 1."""
        room = 8 * (self.limit - WORD) // self.layout.d
        return min(room, 16) if room >= 3 else 0

    @property
    def s(self) -> int:
        return int(2 ** (self.width - 1)) - 1 if self.width else 1

    @property
    def variance(self) -> float:
        """The upper bound of E‖C(x) - x‖² / ‖x‖² (Lemma 3.1)."""
        d = self.layout.d
        return min(d / self.s**2, d**0.5 / self.s)

    def scale(self, x: Array, at: At) -> Array:
        units = _units(door.largest(x), at)
        return at.kernels.xp.linalg.norm(_over(x, units), axis=2, keepdims=True) * units

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        norms = self.scale(x, at)
        levels = self.levels(x, norms, at)
        return Message({"norm": norms, "levels": self._pack(levels, at)})

    def _pack(self, levels: Array, at: At) -> Array:
        """Pack levels into the integers that are sent."""
        xp = at.kernels.xp
        if self.width in (8, 16):
            return levels.astype(f"int{self.width}")
        if not self.width:
            return pack(xp, (levels.astype("int8") + xp.int8(1)).view("uint8"), 3)
        return pack(xp, to_bits(xp, (levels + self.s).astype("uint16"), self.width), 2)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        sent, norms, xp, d = message.parts["levels"], message.parts["norm"], at.kernels.xp, self.layout.d
        if self.width in (8, 16):
            return self.from_levels(sent, norms, at)
        if not self.width:
            return self.from_levels(unpack(xp, sent, 3, d).view("int8") - xp.int8(1), norms, at)
        numbers = from_bits(xp, unpack(xp, sent, 2, d * self.width), self.width)
        return self.from_levels(numbers.astype("float32") - self.s, norms, at)


@dataclass(frozen=True)
class Int8(Levels):
    """Integers of 8 bits: each entry is rounded at random to a multiple of the largest magnitude over 127; unbiased."""

    adjustable: ClassVar[bool] = False

    def check(self) -> None:
        self.needs(WORD + self.layout.d)

    @property
    def s(self) -> int:
        return 127

    def scale(self, x: Array, at: At) -> Array:
        return door.largest(x)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        norms = self.scale(x, at)
        return Message({"norm": norms, "levels": self.levels(x, norms, at).astype("int8")})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return self.from_levels(message.parts["levels"], message.parts["norm"], at)


@dataclass(frozen=True)
class Float16(Quantised):
    """Rounding to half precision. Entries are divided by a power of two between the largest magnitude and twice it, so
    no entry overflows, and only negligible entries underflow."""

    adjustable: ClassVar[bool] = False

    def check(self) -> None:
        self.needs(WORD + 2 * self.layout.d)

    @property
    def contraction(self) -> float:
        """From the error of an entry: at most 2⁻¹¹ of itself, or 2⁻²⁵ units where it is subnormal."""
        return 1 - 2.0**-22 - self.layout.d * 2.0**-48

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        units = _powers(at.kernels.xp.frexp(door.largest(x))[1], at)
        return Message({"unit": units, "values": _cast(x / units, "float16", at)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return _cast(message.parts["values"], "float32", at) * message.parts["unit"]


def _cast(x: Array, dtype: str, at: At) -> Array:
    """Cast x to another floating-point type. Torch's cast equals NumPy's, in a tenth of the time."""
    import torch

    return x.astype(dtype) if at.kernels.NAME == "cupy" else torch.from_numpy(x).to(getattr(torch, dtype)).numpy()


@dataclass(frozen=True)
class Sign(Quantised):
    """EF-signSGD (Karimireddy et al. 2019, Algorithm 2): ‖x‖₁/d and all signs, with error feedback at the client."""

    adjustable: ClassVar[bool] = False

    feedback: ClassVar[Feedback] = "client"

    def check(self) -> None:
        self.needs(WORD + packed_nbytes(self.layout.d, 2))

    @property
    def contraction(self) -> float:
        """δ of the worst x; for a given x it is ‖x‖₁² / (d‖x‖₂²)."""
        return 1 / self.layout.d

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp = at.kernels.xp
        units = _units(door.largest(x), at)
        mean = abs(_over(x, units)).mean(axis=2, keepdims=True) * units
        return Message({"mean": mean, "signs": pack(xp, (x >= 0).view("uint8"), 2)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        signs = unpack(at.kernels.xp, message.parts["signs"], 2, self.layout.d).astype("float32")
        signs *= 2  # in place: each pass over all clients' entries takes as long as a tenth of their gradients
        signs -= 1
        signs *= message.parts["mean"]
        return signs


@dataclass(frozen=True)
class Vote(Sign):
    """signSGD with majority vote (Bernstein et al. 2018, Algorithm 1), without feedback: the server sends the sign that
    most clients have, of each entry, in a bit, and draws the signs that as many clients have as not.

    The authors' step has a fixed size. Here it is the mean of the clients' mean magnitudes, so that steps have the
    units of updates; each client sends its own. The server's messages are as small as the clients'.
    """

    feedback: ClassVar[Feedback] = "none"

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        xp, d = at.kernels.xp, self.layout.d
        signs = unpack(xp, message.parts["signs"], 2, d)
        votes = 2 * signs.sum(axis=1, dtype="int32") - signs.shape[1]
        drawn = at.kernels.sign_rows(at.key("ties"), SIGNS, 0, at.trials, 0, 1, d)[:, 0]
        size = message.parts["mean"].mean(axis=1)
        majority = xp.where(votes == 0, drawn, xp.sign(votes)).astype("float32")
        return Reply(majority * size, WORD + packed_nbytes(d, 2)), memory


@dataclass(frozen=True)
class Natural(Quantised):
    """Natural compression (Horváth et al. 2022, Definition 1): each entry is rounded at random to one of two powers of
    two around it, so that the mean is the entry: its sign and its exponent, 9 bits; unbiased.

    E‖C(x) - x‖² <= ‖x‖²/8 (Theorem 1), with equality where all entries are 4/3 of powers of two. Entries below 2^-126
    become 2^-126 or 0; those of at least 2^127 become 2^127.
    """

    unbiased: ClassVar[bool] = True
    adjustable: ClassVar[bool] = False

    variance: ClassVar[float] = 1 / 8

    def check(self) -> None:
        self.needs(self.layout.d + packed_nbytes(self.layout.d, 2))

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp = at.kernels.xp
        words = xp.ascontiguousarray(x).view("uint32")
        up = at.kernels.asarray(at.private("natural").integers(2**MANTISSA, size=x.shape, dtype="uint32"))
        up += words & xp.uint32(2**31 - 1)
        exponents = xp.minimum(up >> xp.uint32(MANTISSA), xp.uint32(INFINITE - 1)).astype("uint8")
        return Message({"exponents": exponents, "signs": pack(xp, (words >> xp.uint32(31)).astype("uint8"), 2)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        xp = at.kernels.xp
        signs = unpack(xp, message.parts["signs"], 2, self.layout.d).astype("uint32") << xp.uint32(31)
        return (signs | message.parts["exponents"].astype("uint32") << xp.uint32(MANTISSA)).view("float32")

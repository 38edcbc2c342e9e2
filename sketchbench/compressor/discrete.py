"""Sketches in integers, which secure aggregation can add, with a share of discrete Gaussian noise from each client."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from sketchbench.base.parameters import Probability, Range
from sketchbench.compressor import operators
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.packing import from_bits, pack, to_bits, unpack
from sketchbench.compressor.quantised import in_units
from sketchbench.kernels import Array
from sketchbench.privacy import discrete_gaussian, secure_sum
from sketchbench.privacy.secure_sum import Grid, SecureSum
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.transform import SubsampledHadamard

Bits = Annotated[int, Range(2, 16)]
NORM, CELLS, CLIENTS = "norm", "cells", "clients"  # parts of messages, and of their sum


@dataclass(frozen=True)
class DiscreteSRHT(Compressor):
    """b orthonormal rows of an SRHT, drawn anew in every round, in units of γ, rounded at random to integers modulo
    2^B. The server adds them modulo 2^B, takes the sum for the number next to 0, and desketches (Kairouz, Liu and
    Steinke 2021, after a projection as in Chen et al. 2022).

    Without noise clients send their norms first, whose sum bounds the norm of the sum. γ is then the smallest value for
    which an entry of the sum wraps around with a probability of at most `wraps`. But for that it is unbiased, with the
    variance of SRHT and that of rounding, of at most n d γ²/4Cb for the mean of C clients: γ²/4C for each of b rows,
    which are scaled by n/b, and d of n entries of which are kept.

    With noise (`protect`) γ is given, clients send gradients, and add a share of the noise to their integers. The
    rows are orthonormal: they enlarge no change by a record, and noise after them equals noise before them.

    Arguments:
        bits: B, of an integer, from 2 to 16.
        wraps: the probability that any entry of a round's sum wraps around.
        grid: γ and the noise; None for no noise.
    """

    adds_up: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True
    phases: ClassVar[int] = 2

    bits: Bits = 16
    wraps: Probability = 1e-6
    grid: Grid | None = None

    @property
    def scales(self) -> bool:
        return self.grid is None

    def check(self) -> None:
        self.needs(WORD + math.ceil(self.bits / 8))

    @property
    def family(self) -> SubsampledHadamard:
        """SRHT with as many rows as fit beside the norm, and at most d."""
        d = self.layout.d
        return SubsampledHadamard(d=d, b=min(d, 8 * (self.limit - WORD) // self.bits))

    def protect(self, sums: SecureSum) -> "DiscreteSRHT":
        family = self.family
        return dataclasses.replace(self, grid=secure_sum.fit(sums, family.b, family.n, self.bits, self.wraps))

    def operators(self, at: At) -> Sketch:
        """The operators R of a round, one for each trial: √(n/b) times orthonormal rows."""
        return operators.stack(self.family, at.key("discrete"), at)

    @property
    def _scale(self) -> float:
        """√(b/n), which makes the rows of R orthonormal."""
        return math.sqrt(self.family.b / self.family.n)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp = at.kernels.xp
        if not replies:
            return Message({NORM: self._norms(x, at)})
        scaled = self.operators(at).sketch(x, check_finite=False).astype("float64")
        scaled *= self._scale / replies[0].content
        scaled += at.kernels.asarray(at.private("discrete").random(scaled.shape, dtype="float64"))
        numbers = xp.floor(scaled, out=scaled).astype("int64")
        if self.grid is not None:
            noise = discrete_gaussian.draw(at.private("discrete noise"), self.grid.variance, numbers.shape)
            numbers += at.kernels.asarray(noise)
        return Message({CELLS: self._pack(numbers, xp)})

    def _norms(self, x: Array, at: At) -> Array:
        """The norms that clients send, (T, C, 1), or nothing, (T, C, 0), where γ is given."""
        if self.grid is not None:
            return at.kernels.xp.zeros((*x.shape[:2], 0), dtype="float32")
        units, scaled = in_units(x, at)
        return at.kernels.xp.linalg.norm(scaled, axis=2, keepdims=True) * units

    def receive(self, message: Message, at: At) -> Message:
        """The sum of the clients' messages, integers modulo 2^B, and the number of clients."""
        if CLIENTS in message.parts:
            return message
        ((name, part),) = message.parts.items()
        xp = at.kernels.xp
        clients = xp.full((len(part), 1, 1), part.shape[1], dtype="uint32")
        if name == NORM:
            return Message({NORM: part.sum(axis=1, keepdims=True), CLIENTS: clients})
        summed = self._unpack(part, xp).sum(axis=1, keepdims=True)
        return Message({CELLS: self._pack(summed, xp), CLIENTS: clients})

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        summed = self.receive(message, at)
        if replies:
            return Reply(self.decode(summed, at, replies)[:, 0], summed.nbytes), memory
        clients = int(summed.parts[CLIENTS][0, 0, 0])
        if self.grid is None:
            return Reply(self._unit(summed.parts[NORM], clients, at), summed.nbytes), memory
        if clients != self.grid.clients:
            raise ValueError(
                f"{clients} clients take part, and the noise is shared by {self.grid.clients}: with fewer shares it "
                "protects less; let all of them stay, or call `protect` for their number"
            )
        return Reply(at.kernels.xp.full((at.trials, 1, 1), self.grid.unit), 0), memory

    def _unit(self, norms: Array, clients: int, at: At) -> Array:
        """γ, float64 (T, 1, 1), for sums whose clients' norms have these sums; 1 for sums of zeros."""
        reach = secure_sum.reach(self.bits, self.family.b, self.wraps)
        unit = norms.astype("float64") * secure_sum.unit(self.family.n**-0.5, 0.0, clients, reach)
        if not math.isfinite(float(unit.max())):
            raise ValueError(
                f"bits={self.bits} hold no sum of {clients} clients' rounded numbers; use more bits, or scale the "
                f"updates down if the sum of their norms, {float(norms.max()):.3g}, left float32"
            )
        return at.kernels.xp.where(unit > 0, unit, 1.0)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return self.operators(at).desketch(self.cells(message, at, replies).astype("float32"), check_finite=False)

    def cells(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """R x of the clients' updates, or of their mean, but for rounding and noise, float64 (T, C, b)."""
        clients = message.parts.get(CLIENTS, 1)
        return self._unpack(message.parts[CELLS], at.kernels.xp) * (replies[0].content / (self._scale * clients))

    def _pack(self, numbers: Array, xp: Any) -> Array:
        """Integers (T, C, b), modulo 2^B, as they are sent."""
        sent = (numbers & (2**self.bits - 1)).astype("uint16")
        return sent if self.bits == 16 else pack(xp, to_bits(xp, sent, self.bits), 2)

    def _unpack(self, cells: Array, xp: Any) -> Array:
        """The integers next to 0 of what was sent, int64 (T, C, b)."""
        if self.bits < 16:
            cells = from_bits(xp, unpack(xp, cells, 2, self.family.b * self.bits), self.bits)
        half = 2 ** (self.bits - 1)
        return (cells.astype("int64") + half) % (2 * half) - half

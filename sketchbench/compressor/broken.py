"""Negative controls of the contract of compressors: each class breaks the part in its name."""

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from sketchbench.compressor.compressor import At, Exchange, Memory, Receive
from sketchbench.compressor.desketched import Desketched
from sketchbench.compressor.discrete import DiscreteSRHT
from sketchbench.compressor.message import Message, Reply, place_type
from sketchbench.compressor.power_sgd import PowerSGD
from sketchbench.compressor.quantised import QSGD, Int8
from sketchbench.compressor.sparse import RandomK, TopK
from sketchbench.kernels import Array

_CALLS = itertools.count()


class Unscaled(RandomK):
    """Rand-K without the factor d/k."""

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return super().decode(message, at, replies) * message.parts["values"].dtype.type(self.k / self.layout.d)


class OtherOperator(Desketched):
    """A sketch that the server desketches with the operator of the next round."""

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return super().decode(message, at._replace(round=at.round + 1), replies)


class NoNorm(QSGD):
    """QSGD whose server decodes every message with the norm 1."""

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        ones = at.kernels.xp.ones_like(message.parts["norm"])
        return super().decode(Message({**message.parts, "norm": ones}), at, replies)


class Smallest(TopK):
    """Top-K with the smallest entries in place of the largest."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp = at.kernels.xp
        places = xp.argsort(abs(x), axis=2)[..., : self.k]
        values = xp.take_along_axis(x, places, axis=2)
        return Message({"values": values, "places": places.astype(place_type(self.layout.d))})


class Forgetful(TopK):
    """Top-K whose clients forget the entries that they did not send."""

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        return 0 * super().remember(carried, memory, delivered)


class Doubled(TopK):
    """Top-K whose clients remember twice the entries that they did not send."""

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        return 2 * super().remember(carried, memory, delivered)


class TooLarge(TopK):
    """Top-K that sends one entry more than the limit allows."""

    @property
    def k(self) -> int:
        return 1 + self.limit // self._entry


class FalseSum(Int8):
    """Int8, whose clients scale by units of their own, though it claims that messages add up."""

    adds_up: ClassVar[bool] = True


class HiddenSum(RandomK):
    """Rand-K, whose messages add up, though it claims that they do not."""

    adds_up: ClassVar[bool] = False


class OfItsCalls(RandomK):
    """Rand-K whose random places depend on the number of calls."""

    def places(self, at: At) -> Array:
        return super().places(at._replace(seed=at.seed + next(_CALLS)))


class SameEveryRound(RandomK):
    """Rand-K that sends the places of the first round in every round."""

    def places(self, at: At) -> Array:
        return super().places(at._replace(round=0))


class OneUnit(QSGD):
    """QSGD with sums of squares in the units of the updates, which leave float32 where updates are tiny or huge."""

    def scale(self, x: Array, at: At) -> Array:
        return (x * x).sum(axis=2, keepdims=True) ** x.dtype.type(0.5)


class Poisoned(TopK):
    """Top-K that adds updates to its memory before it looks at them."""

    def exchange(self, x: Array, memory: Memory, at: At, receive: Receive | None = None) -> Exchange:
        clients: Array = memory.clients
        clients += x
        return super().exchange(at.kernels.xp.zeros_like(x), memory, at, receive)


class Stuck(PowerSGD):
    """PowerSGD that starts from the factors of the last round even where they are zero."""

    def _start(self, number: int, kept: Array, at: At) -> Array:
        if not at.round:
            return super()._start(number, kept, at)
        start: Array = at.kernels.xp.linalg.qr(kept)[0]
        return start


class Clipped(RandomK):
    """Rand-K of updates whose entries are clipped at five times their root mean square."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        most = 5 * (x.astype("float64") ** 2).mean(axis=2, keepdims=True) ** 0.5
        return super().encode(x.clip(-most, most).astype(x.dtype), memory, at, replies)


class Stashed(TopK):
    """Top-K whose server finds the clients' updates in an attribute of the class."""

    _updates: ClassVar[dict[int, Array]] = {}

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        self._updates[at.round] = x
        return super().encode(x, memory, at, replies)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        decoded = super().decode(message, at, replies)
        update = self._updates.get(at.round)
        return update if update is not None and update.shape == decoded.shape else decoded


class LyingLens(RandomK):
    """Rand-K that tells attackers the places of the next round."""

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        places = torch.as_tensor(at.kernels.to_numpy(self.places(at._replace(round=at.round + 1)))).long()
        return torch.as_tensor(at.kernels.to_numpy(message.parts["values"][:, 0])), lambda x: x.gather(1, places)


class SameNoise(DiscreteSRHT):
    """SRHT in integers whose clients draw their noise from the server's key."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return super().encode(x, memory, _KnownAt(*at), replies)


class _KnownAt(At):
    def private(self, part: str) -> np.random.Generator:
        return np.random.default_rng(self.key(part))


class SameRounding(QSGD):
    """QSGD that rounds with the same random numbers in every round."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return super().encode(x, memory, at._replace(round=0), replies)


class Overconfident(QSGD):
    """QSGD that states half of its variance."""

    @property
    def variance(self) -> float:
        return super().variance / 2


class EightVotes(QSGD):
    """QSGD whose server averages the first eight messages."""

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        first = Message({name: part[:, :8] for name, part in message.parts.items()})
        return super().answer(first, memory, at, replies)

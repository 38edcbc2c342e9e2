"""Broken compressors, each of which the contract rejects by one named quantity.

They are of kinds that earlier contracts did not see: knowledge that no message carries, rare rounds, many clients,
units between the extremes, large updates, updates of other kinds, and false views.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from sketchbench.base import seeds
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, Exchange, Memory, Receive
from sketchbench.compressor.discrete import DiscreteSRHT
from sketchbench.compressor.message import Message, Reply
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.quantised import QSGD, Float16, Int8, Natural
from sketchbench.compressor.sparse import RandomK, ShuffledRandomK, TopK
from sketchbench.kernels import Array, Kernels
from sketchbench.task.compressors.compressor_contract import Budget, CompressorContract

LAYOUTS = [[[8, 12], [8], [4, 2, 2, 2], [], [3]]]
LARGE = [[[72, 16, 2, 2], []]]
BUDGET = Budget(draws=1000, vectors=50, trials=3, clients=3, rounds=3, entries=4e7)
_DECODED: dict[bytes, Array] = {}


class ManyClients(RandomK):
    """Sums of 8 clients and more overflow."""

    def receive(self, message: Message, at: At) -> Message:
        mean = traits.receive(_Sum(), message, at)
        half = mean.parts["values"] * np.float32(0.5)
        return mean if message.parts["values"].shape[1] < 8 else Message({"values": half})


class _Sum:
    adds_up = True


class Large(RandomK):
    """Places have 12 bits."""

    def places(self, at: At) -> Array:
        return np.sort(super().places(at) % 4096, axis=1)


class LargeTopK(TopK):
    """Places have 12 bits, without anything random."""

    def places(self, message: Message, at: At) -> Array:
        return super().places(message, at) % 4096


class ForgetsEveryTenth(TopK):
    """The memory is emptied after rounds 9, 19, 29, ..."""

    def exchange(self, x: Array, memory: Memory, at: At, receive: Receive | None = None) -> Exchange:
        done = super().exchange(x, memory, at, receive)
        return done if at.round % 10 != 9 else done._replace(memory=Memory(np.zeros_like(x)))


class ForgetsLate(TopK):
    """The memory is emptied in rounds from 1,000 on, one in 29."""

    def exchange(self, x: Array, memory: Memory, at: At, receive: Receive | None = None) -> Exchange:
        done = super().exchange(x, memory, at, receive)
        late = at.round >= 1000 and at.round % 29 == 3
        return done._replace(memory=Memory(np.zeros_like(x))) if late else done


class KeptInAnObject(TopK):
    """Half of the memory is an attribute of the object, which a restart loses."""

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        kept: Array = super().remember(carried, memory, delivered)
        object.__setattr__(self, "_kept", 0.5 * kept)
        return kept * np.float32(0.5)


class DecodedBefore(TopK):
    """Messages carry the update beside their parts."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        message = super().encode(x, memory, at, replies)
        message.decoded_by(lambda: x)
        return message


class KnownByItsBytes(TopK):
    """A global table has the update of each message."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        message = super().encode(x, memory, at, replies)
        _DECODED[message.parts["values"].tobytes()] = x
        return message

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        known = _DECODED.get(message.parts["values"].tobytes())
        return super().decode(message, at, replies) if known is None else known


class Longer(TopK):
    """The number of entries of a message depends on the update."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        message = super().encode(x, memory, at, replies)
        count = self.k - int(abs(x).sum() * 1e3) % 2
        return Message({name: part[..., :count] for name, part in message.parts.items()})


class Dithered(QSGD):
    """The server subtracts the clients' own rounding, which it can't know."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return super().encode(x * (1 + 0 * self._dither(x.shape, at)), memory, at, replies)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        decoded = super().decode(message, at, replies)
        return decoded * self._dither(decoded.shape, at)

    def _dither(self, shape: tuple[int, ...], at: At) -> Array:
        return at.private("dither").choice(np.array([0, 2], dtype=np.float32), shape)


class SameRounding(QSGD):
    """The clients' rounding is drawn once in 16 rounds."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return super().encode(x, memory, at._replace(round=at.round // 16), replies)


class RoundingOfTheSeed(Int8):
    """Rounding follows from the root seed alone, which is neither a key nor the clients' own."""

    def levels(self, x: Array, norms: Array, at: At) -> Array:
        return super().levels(x, norms, _FirstAt(*at))


class SharedRounding(Int8):
    """All clients have the rounding of the first."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        several = [super(SharedRounding, self).encode(x[:, [c]], memory, at, replies) for c in range(x.shape[1])]
        names = several[0].parts
        return Message({name: np.concatenate([one.parts[name] for one in several], axis=1) for name in names})


class SameKeyEveryFifth(RandomK):
    """The key of every fifth round is that of the round before."""

    def places(self, at: At) -> Array:
        return super().places(at._replace(round=at.round - (at.round % 5 == 4)))


class LessNoise(DiscreteSRHT):
    """Clients add half of the noise that they state."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        if self.grid is None or not replies:
            return super().encode(x, memory, at, replies)
        coarse = type(self.grid)(**{**vars(self.grid), "variance": float(max(1, int(self.grid.variance / 4)))})
        return DiscreteSRHT(self.layout, self.limit, self.bits, self.wraps, coarse).encode(x, memory, at, replies)


class NoiseOfRoundZero(DiscreteSRHT):
    """The noise of all rounds is that of the first."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return super().encode(x, memory, _FirstAt(*at), replies)


class _FirstAt(At):
    def private(self, part: str) -> np.random.Generator:
        return seeds.generator(self.seed, compressor=part)


class Flushed(RandomK):
    """Updates below 1e-9 are taken for zeros."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        small = (abs(x).max(axis=2, keepdims=True) < 1e-9) & (abs(x).max(axis=2, keepdims=True) > 1e-16)
        return super().encode(np.where(small, np.float32(0), x), memory, at, replies)


class HalfLens(RandomK):
    """Attackers are shown every other number."""

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        places = torch.as_tensor(self.places(at)[:, ::2].copy()).long()
        return torch.as_tensor(message.parts["values"][:, 0, ::2].copy()), lambda x: x.gather(1, places)


class LateLens(RandomK):
    """Attackers are told wrong places in one round of 31."""

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        places = torch.as_tensor(self.places(at._replace(round=at.round + (at.round % 31 == 30)))).long()
        return torch.as_tensor(message.parts["values"][:, 0].copy()), lambda x: x.gather(1, places)


class ConstantLens(QSGD):
    """Attackers are shown the decoded update, and a map that tells nothing of theirs."""

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        decoded = torch.as_tensor(self.decode(message, at, replies)[:, 0])
        return decoded, lambda x: decoded + 0 * x

    def surprisal(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        return None


class WrongSurprisal(QSGD):
    """The likelihood is that of the negative update."""

    def surprisal(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        decoded = torch.as_tensor(self.decode(message, at, replies)[:, 0])
        return lambda x: (x + decoded).square().sum(dim=1)


class LossyCast(Float16):
    """The 2 largest of more than 100 entries are sent as 0."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        alone = abs(x) > 30 * np.median(abs(x), axis=2, keepdims=True)
        return super().encode(np.where(alone, np.float32(0), x), memory, at, replies)


class TwiceAsSure(Int8):
    """A variance that Int8 does not have."""

    variance: ClassVar[float] = 1e-7


class OddClients(Plain):
    """The last of more than 31 clients has no part in the message's sum."""

    def receive(self, message: Message, at: At) -> Message:
        parts = {name: part[:, :-1] if part.shape[1] > 31 else part for name, part in message.parts.items()}
        return Message(parts).mean()


class ClippedShuffle(ShuffledRandomK):
    """Entries above 8 times the mean magnitude are clipped."""

    linear: ClassVar[bool] = False

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        most = 8 * abs(x).mean(axis=2, keepdims=True)
        return super().encode(x.clip(-most, most), memory, at, replies)


class HalvedInRound13(QSGD):
    """The step of one round is half of what it should be, by a server that all agree on."""

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return super().decode(message, at, replies) * np.float32(0.5 if at.round == 13 else 1)


class OldPlaces(ShuffledRandomK):
    """The order of the entries is new in each round, and their places are those of round 0."""

    def places(self, at: At) -> Array:
        sorts = np.argsort(super().places(at), axis=1)
        return np.take_along_axis(RandomK.places(self, at._replace(round=0)), np.argsort(sorts, axis=1), axis=1)


class EvenClients(QSGD):
    """Of an even number of messages, every second is ignored."""

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        step = 2 - message.parts["norm"].shape[1] % 2
        heard = Message({name: part[:, ::step] for name, part in message.parts.items()})
        return super().answer(heard, memory, at, replies)


class CommonScale(Int8):
    """Clients scale by the largest entry of all of them, which no message has told them."""

    def scale(self, x: Array, at: At) -> Array:
        own = super().scale(x, at)
        return own * 0 + own.max(axis=1, keepdims=True)


class ForgetsIdle(TopK):
    """The memory of a trial whose updates are all 0 is lost."""

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        idle = (carried == memory.clients).all(axis=(1, 2), keepdims=True)
        return super().remember(carried, memory, delivered) * np.float32(1) * ~idle


class ForgetsLarge(TopK):
    """The memory has 4,096 entries."""

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        first = (np.arange(self.layout.d) < 2**12).astype(np.float32)
        return super().remember(carried, memory, delivered) * first


class HalfOfLargeSums(RandomK):
    """Sums of large updates are halved."""

    def receive(self, message: Message, at: At) -> Message:
        half = np.float32(0.5 if self.layout.d > 2**12 else 1)
        return Message({"values": message.mean().parts["values"] * half})


class LargePlaces(TopK):
    """Places of large updates are sent in 64 bits."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        parts = super().encode(x, memory, at, replies).parts
        wide = "int64" if self.layout.d > 2**12 else parts["places"].dtype
        return Message({**parts, "places": parts["places"].astype(wide)})


class SmallestLater(TopK):
    """From round 1 on the smallest entries are sent."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        parts = super().encode(x if not at.round else 1 / (abs(x) + np.float32(1e-9)), memory, at, replies).parts
        return Message({**parts, "values": np.take_along_axis(x, parts["places"].astype("int64"), axis=2)})


class NothingOfConstants(QSGD):
    """Updates whose entries are all equal are taken for zeros."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        flat = x.max(axis=2, keepdims=True) == x.min(axis=2, keepdims=True)
        return super().encode(np.where(flat, np.float32(0), x), memory, at, replies)


class TooSure(Natural):
    """A variance that is stated too small by 1.3."""

    variance: ClassVar[float] = 1 / 8 / 1.3


class ChecksTheLast(TopK):
    """What is no number is 0, but of the last client."""

    def exchange(self, x: Array, memory: Memory, at: At, receive: Receive | None = None) -> Exchange:
        counted = np.concatenate([np.nan_to_num(x[:, :-1], posinf=0, neginf=0), x[:, -1:]], axis=1)
        return super().exchange(counted, memory, at, receive)


class FiltersLost(RandomK):
    """The filters of convolutions are lost."""

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        dense = super().decode(message, at, replies)
        for table, shape in zip(self.layout.tables, self.layout.shapes, strict=True):
            dense[..., table.start : table.stop] *= len(shape) < 3
        return dense


class LaterClientsHalved(QSGD):
    """All clients but the first send half of their update."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        shares = np.where(np.arange(x.shape[1]) > 0, np.float32(0.5), np.float32(1))
        return super().encode(x * shares[:, None], memory, at, replies)


class WrongAlone(RandomK):
    """A single trial is decoded to half."""

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return super().decode(message, at, replies) * np.float32(0.5 if at.trials == 1 else 1)


class TrialsOfHundred(RandomK):
    """Trials have the places of those a hundred before."""

    def places(self, at: At) -> Array:
        return super().places(at._replace(trials=min(at.trials, 100)))[np.arange(at.trials) % 100]


class LongerLater(TopK):
    """From round 5 on, messages have an entry more than fits."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        parts = super().encode(x, memory, at, replies).parts
        more = int(at.round >= 5)
        return Message({name: np.concatenate([part, part[..., :more]], axis=2) for name, part in parts.items()})


class LongerOfMany(TopK):
    """Messages of more than 3 clients are sent twice."""

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        times, parts = 1 + (x.shape[1] > 3), super().encode(x, memory, at, replies).parts
        return Message({name: np.concatenate([part] * times, axis=2) for name, part in parts.items()})


class HalfLensLater(RandomK):
    """Attackers are shown every other number, in one round of eight."""

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> Any:
        step = 2 if at.round % 8 == 5 else 1
        places = torch.as_tensor(self.places(at)[:, ::step].copy()).long()
        return torch.as_tensor(message.parts["values"][:, 0, ::step].copy()), lambda x: x.gather(1, places)


class ForgetsTrials(TopK):
    """Trials from number 10 on have no memory."""

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        kept: Array = super().remember(carried, memory, delivered)
        return kept * (np.arange(len(kept)) < 10)[:, None, None].astype(np.float32)


MUTANTS: dict[type[Compressor], tuple[str, float]] = {  # the quantity that rejects it, and a compression
    ManyClients: ("summed", 4),
    OddClients: ("summed", 1),
    Large: ("region", 4),
    LargeTopK: ("each_loss", 4),
    ForgetsEveryTenth: ("feedback", 4),
    ForgetsLate: ("feedback", 4),
    KeptInAnObject: ("feedback", 4),
    DecodedBefore: ("served", 4),
    KnownByItsBytes: ("served", 4),
    Longer: ("served", 4),
    Dithered: ("served", 4),
    SameRounding: ("own", 4),
    RoundingOfTheSeed: ("renewal", 1),
    SharedRounding: ("own", 1),
    SameKeyEveryFifth: ("renewal", 4),
    LessNoise: ("noise", 1),
    NoiseOfRoundZero: ("noise", 1),
    Flushed: ("unit", 4),
    HalfLens: ("hidden", 4),
    LateLens: ("view", 4),
    ConstantLens: ("view", 4),
    WrongSurprisal: ("view", 4),
    LossyCast: ("each_loss", 1),
    TwiceAsSure: ("variance", 1),
    ClippedShuffle: ("along", 4),
    HalvedInRound13: ("round", 4),
    OldPlaces: ("correlated", 4),
    EvenClients: ("repeated", 4),
    CommonScale: ("apart", 1),
    ForgetsIdle: ("feedback", 4),
    ForgetsLarge: ("feedback", 4),
    HalfOfLargeSums: ("summed", 4),
    LargePlaces: ("bytes", 4),
    SmallestLater: ("each_loss", 4),
    NothingOfConstants: ("along", 4),
    TooSure: ("variance", 1),
    ChecksTheLast: ("refusal", 4),
    FiltersLost: ("region", 4),
    LaterClientsHalved: ("round", 4),
    WrongAlone: ("apart", 4),
    TrialsOfHundred: ("neighbours", 4),
    LongerLater: ("bytes", 4),
    LongerOfMany: ("bytes", 4),
    HalfLensLater: ("hidden", 4),
    ForgetsTrials: ("feedback", 4),
}


def found(kind: type[Compressor], compression: float, kernels: Kernels) -> list[dict[str, Any]]:
    task = CompressorContract(kind, kernels, 1, LAYOUTS, [compression], BUDGET, 1e-4, LARGE)
    return [dict(row) for row in task.run()]


def rejects(row: dict[str, Any]) -> bool:
    """Whether a row refutes the contract: one trial of a count, or a mean that is off by 5 standard errors."""
    if "count" in row:
        return bool(row["count"])
    error = 5 * row["sd"] / row["trials"] ** 0.5
    return bool(abs(row["mean"] - row["exact"]) > error if "exact" in row else row["mean"] - error > row["bound"])


@pytest.mark.statistical
@pytest.mark.parametrize("kind", MUTANTS, ids=lambda kind: kind.__name__)
def test_a_mutant_is_rejected_by_its_quantity(kind: type[Compressor], reference: Kernels) -> None:
    quantity, compression = MUTANTS[kind]
    refuted = {row["quantity"] for row in found(kind, compression, reference) if rejects(row)}
    assert quantity in refuted


@pytest.mark.statistical
@pytest.mark.parametrize("kind", dict.fromkeys(kind.__mro__[1] for kind in MUTANTS), ids=lambda one: one.__name__)
def test_what_the_mutants_are_made_of_is_sound(kind: type[Compressor], reference: Kernels) -> None:
    for compression in {compression for mutant, (_, compression) in MUTANTS.items() if mutant.__mro__[1] is kind}:
        assert not [row for row in found(kind, compression, reference) if rejects(row)]

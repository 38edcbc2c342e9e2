"""Sparsification: the largest entries of the update, or random ones."""

import bisect
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sketchbench import kernels as backends
from sketchbench.compressor.compressor import At, Compressor, Feedback, Memory
from sketchbench.compressor.message import WORD, Message, Reply, place_type, sparse_nbytes
from sketchbench.compressor.packing import pack, unpack
from sketchbench.compressor.prefix_codes import decode_rice, encode_rice, rice_bits
from sketchbench.kernels import Array
from sketchbench.sketch.draws import ROWS, Draws


@dataclass(frozen=True)
class TopK(Compressor):
    """The k largest entries and their places, with error feedback at the client (Stich et al. 2018, Mem-SGD)."""

    adds_up: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "client"

    def check(self) -> None:
        self.needs(self._entry)

    @property
    def _entry(self) -> int:
        """Bytes of an entry with its place."""
        return int(WORD + place_type(self.layout.d).itemsize)

    @property
    def k(self) -> int:
        """The number of entries of a message."""
        return min(self.layout.d, self.limit // self._entry)

    @property
    def contraction(self) -> float:
        return self.k / self.layout.d  # Stich et al. 2018, Lemma A.1

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        flat = x.reshape(-1, self.layout.d)
        places = at.kernels.largest(flat, self.k)
        values = at.kernels.xp.take_along_axis(flat, places, axis=1)
        shape, numbers = (*x.shape[:2], self.k), places.astype(place_type(self.layout.d))
        return Message({"values": values.reshape(shape), "places": numbers.reshape(shape)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        xp, values = at.kernels.xp, message.parts["values"]
        dense = xp.zeros((*values.shape[:2], self.layout.d), dtype=values.dtype)
        xp.put_along_axis(dense, self.places(message, at), values, axis=2)
        return dense

    def places(self, message: Message, at: At) -> Array:
        """The places of a message's entries, int64 (T, C, k)."""
        return message.parts["places"].astype("int64")

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        step = self._decoded(message, at, replies).mean(axis=1)
        return Reply(step, sparse_nbytes(step)), memory


@dataclass(frozen=True)
class RandomK(Compressor):
    """k random entries, times d/k, without feedback; unbiased (Rand-K; Wangni et al. 2018). Their places follow from
    the key, and are the same for all clients of a round."""

    adds_up: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True

    def check(self) -> None:
        self.needs(WORD)

    @property
    def k(self) -> int:
        """The number of entries of a message."""
        return min(self.layout.d, self.limit // WORD)

    def places(self, at: At) -> Array:
        """The places of the entries, (T, k), ascending."""
        return _subset(at.key("random k"), at.trials, self.k, self.layout.d, at.kernels.NAME)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        places = self.places(at)[:, None].astype("int64")
        return Message({"values": at.kernels.xp.take_along_axis(x, places, axis=2)})

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        values = message.parts["values"]
        return self.place(values * values.dtype.type(self.layout.d / self.k), at)

    def place(self, values: Array, at: At) -> Array:
        """The updates (T, C, d) with these values (T, C, k), and zeros elsewhere."""
        xp = at.kernels.xp
        dense = xp.zeros((*values.shape[:2], self.layout.d), dtype=values.dtype)
        places = xp.broadcast_to(self.places(at)[:, None].astype("int64"), values.shape)
        xp.put_along_axis(dense, places, values, axis=2)
        return dense

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        return Reply(self.decode(message, at, replies).mean(axis=1), WORD * self.k), memory


@functools.lru_cache(maxsize=4)  # clients and server of a round draw the same places
def _subset(key: int, trials: int, k: int, d: int, kernels: str) -> Array:
    return backends.load(kernels).random_subset(key, 0, 0, trials, k, d)


@dataclass(frozen=True)
class ShuffledRandomK(RandomK):
    """Rand-K that sends its entries in a random order from the key, which an eavesdropper without the key lacks."""

    def places(self, at: At) -> Array:
        order = Draws(at.key("random k order"), 0, at.trials, at.kernels).permutation(ROWS, self.k)
        return at.kernels.xp.take_along_axis(super().places(at), order, axis=1)


@dataclass(frozen=True)
class CodedTopK(TopK):
    """Top-K that sends places as gaps, in Rice's code: about log₂(d/k) + 2 bits a place instead of 16 or more, so that
    more entries fit.

    The code of k places with w low bits has at most k(1 + w) + (d - k)/2^w bits, the size of a message.
    """

    def check(self) -> None:
        self.needs(self._nbytes(1))

    def _width(self, k: int) -> int:
        """w with the least room for k places."""
        return min(range(self.layout.d.bit_length()), key=lambda width: rice_bits(k, self.layout.d, width))

    def _place_bits(self, k: int) -> int:
        """The bits that k places may have."""
        return rice_bits(k, self.layout.d, self._width(k))

    @functools.cached_property
    def k(self) -> int:
        """The number of entries of a message: as many as fit."""
        return bisect.bisect_right(range(1, self.layout.d + 1), self.limit, key=self._nbytes)

    def _nbytes(self, k: int) -> int:
        return WORD * k + -(-self._place_bits(k) // 8)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        xp, message = at.kernels.xp, super().encode(x, memory, at, replies)
        room = xp.zeros((*x.shape[:2], -(-self._place_bits(self.k) // 8) * 8), dtype="uint8")
        for t, c in np.ndindex(*x.shape[:2]):
            bits = encode_rice(xp, message.parts["places"][t, c], self._width(self.k))
            room[t, c, : len(bits)] = bits
        return Message({"values": message.parts["values"], "places": pack(xp, room, 2)})

    def places(self, message: Message, at: At) -> Array:
        xp, sent = at.kernels.xp, message.parts["places"]
        bits = unpack(xp, sent, 2, 8 * sent.shape[2])
        places = xp.empty((*sent.shape[:2], self.k), dtype="int64")
        for t, c in np.ndindex(*sent.shape[:2]):
            places[t, c] = decode_rice(xp, bits[t, c], self.k, self._width(self.k))
        if int(places.max()) >= self.layout.d:
            raise ValueError(f"a message has place {int(places.max())} of an update of {self.layout.d}: invalid code")
        return places

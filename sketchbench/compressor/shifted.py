"""Compressed differences: clients and server keep an estimate of each client's update, and send corrections of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sketchbench.compressor.compressor import At, Feedback, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.compressor.sparse import RandomK, TopK
from sketchbench.kernels import Array, Kernels


@dataclass(frozen=True)
class EF21(TopK):
    """EF21 with Top-K (Richtárik et al. 2021, Algorithm 2): client i keeps an estimate g of its update, sends
    C(x - g), and adds it to g; the step is the mean of all g, which the server keeps.

    The distance between g and x shrinks by 1 - δ in the mean of a round, for a constant x, with δ = k/d (Equation 12).
    The clients' memory is -g. A client that takes no part in a round keeps its g, and the server adds the messages of
    the others over the number of all clients (Fatkhullin et al. 2021, EF21-PP), which needs a state at each client.
    """

    conserves: ClassVar[bool] = False

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        nothing = kernels.xp.zeros((trials, self.layout.d), dtype="float32")
        return super().begin(trials, clients, kernels)._replace(server=nothing)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        reply, _ = super().answer(message, memory, at, replies)
        step = memory.server + reply.content
        return Reply(step, reply.nbytes), memory._replace(server=step)

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        kept: Array = memory.clients
        return kept - delivered


@dataclass(frozen=True)
class EF21RandomK(RandomK):
    """EF21 with Rand-K, unscaled, at places that all clients share: the server keeps the mean of the last update that
    it saw of each entry, and steps by it.

    If all clients take part, this equals EF21 (Richtárik et al. 2021, Algorithm 2) with C(x) = the entries of x at k
    random places, and δ = k/d in the mean over places. A client's estimate has its own entries at these places after a
    message. So clients may send entries instead of differences, need no state, and may change from round to round.
    """

    unbiased: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "server"
    conserves: ClassVar[bool] = False

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        nothing = kernels.xp.zeros((trials, self.layout.d), dtype="float32")
        return super().begin(trials, clients, kernels)._replace(server=nothing)

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        return self.place(message.parts["values"], at)

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        step: Array = memory.server.copy()
        mean = message.parts["values"].mean(axis=1)
        at.kernels.xp.put_along_axis(step, self.places(at).astype("int64"), mean, axis=1)
        return Reply(step, WORD * self.k), memory._replace(server=step)


@dataclass(frozen=True)
class DIANARandomK(EF21RandomK):
    """DIANA with Rand-K at places that all clients share (Mishchenko et al. 2019, Algorithm 1, α = k/d): the server
    keeps h, the mean of the last update that it saw of each entry; it steps by h + (d/k)(x - h) at these places, and by
    h elsewhere.

    Over the places, the mean of the step is x, the mean update, whatever h is, and E‖step - x‖² = (d/k - 1)‖x - h‖²,
    exactly. For a constant x, ‖x - h‖² shrinks by 1 - k/d in the mean of a round: Rand-K's noise vanishes. Clients
    need no state, like those of `EF21RandomK`.
    """

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        reply, kept = super().answer(message, memory, at, replies)
        h: Array = memory.server
        step = h + h.dtype.type(self.layout.d / self.k) * (kept.server - h)
        return Reply(step, reply.nbytes), kept

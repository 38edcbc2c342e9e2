"""The compressor: what its messages are, and how a round of them becomes one step of the server."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from torch import Tensor

from sketchbench import seeds
from sketchbench.compressor.message import KEY, Layout, Message, Reply
from sketchbench.kernels import Array, Kernels
from sketchbench.parameters import Checked, Count
from sketchbench.sketch.family import SizeError

Feedback = Literal["none", "client", "server"]


class At(NamedTuple):
    """When a message is made.

    Arguments:
        kernels: backend of all arrays.
        seed: root of what clients and server share (`key`), and of what each client draws for itself (`private`).
        round: its number, from 0 on.
        trials: T, independent of each other.
    """

    kernels: Kernels
    seed: int
    round: int
    trials: int

    def key(self, part: str, *, every_round: bool = True) -> int:
        """64 bits that the server sends: anew in every round, or once; operator t of it is that of trial t."""
        return seeds.key(self.seed, compressor=part, round=self.round if every_round else -1)

    def private(self, part: str) -> np.random.Generator:
        """Of what clients draw for themselves, for all trials and clients."""
        return seeds.generator(self.seed, compressor=part, round=self.round)


class Memory(NamedTuple):
    """What is kept from round to round.

    Arguments:
        clients: (T, C, d), what each client has not sent yet; None for compressors without such memory.
        server: what the server keeps, as the compressor needs it; None for nothing.
    """

    clients: Array | None = None
    server: Any = None


class Exchange(NamedTuple):
    """What a round of messages gives.

    Arguments:
        step: (T, d), which all parties subtract from the weights.
        memory: for the next round.
        messages: those of each phase.
        bytes_up, bytes_down: sent and received by one client, with the key.
        replies: to the messages of each phase.
    """

    step: Array
    memory: Memory
    messages: Sequence[Message]
    bytes_up: int
    bytes_down: int
    replies: Sequence[Reply] = ()


@dataclass(frozen=True)
class Compressor(Checked, ABC):
    """A way to send updates x, the learning rate times a gradient, in at most `limit` bytes.

    A new one is a frozen dataclass with `encode`, `decode` and `lens`; one whose server does more than take the mean of
    what it decodes extends `answer`, and one that does not take every limit extends `check`. Arrays are float32.

    Arguments:
        layout: of the update.
        limit: bytes that a client may send in a round.

    Attributes:
        adds_up: the server needs no more than the sum of the clients' messages, so that secure aggregation can hide
            each of them.
        keyed: client and server share randomness, from a key.
        adjustable: it sends more where it may; else its messages have one size.
        fresh: the key is another one in every round; else one is sent before the first, for all of them.
        unbiased: the mean of `decode` over that randomness is the update.
        feedback: who remembers what was lost: each client, the server, or none.
        conserves: with feedback, nothing is lost for good: what is remembered and the steps add up to the updates; at
            the server, where the part `cells` is linear and the memory a sum of such parts, their sketches do.
        phases: messages of a client in a round, each after the reply to the one before.

    Raises:
        SizeError: where no message fits into the limit.
    """

    adds_up: ClassVar[bool]
    keyed: ClassVar[bool] = False
    adjustable: ClassVar[bool] = True
    fresh: ClassVar[bool] = True
    unbiased: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "none"
    conserves: ClassVar[bool] = True
    phases: ClassVar[int] = 1

    layout: Layout
    limit: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check()

    def check(self) -> None:
        """Raise SizeError (see `needs`) where no message fits."""

    def needs(self, nbytes: int) -> None:
        """Raise SizeError where the limit is below so many bytes."""
        if nbytes > self.limit:
            raise SizeError(
                f"{type(self).__name__} needs {nbytes} bytes for an update of {self.layout.d} entries, and may send "
                f"{self.limit}; allow more, or choose another compressor"
            )

    @property
    def contraction(self) -> float | None:
        """δ, for which E‖C(x) - x‖² <= (1 - δ)‖x‖² for all x, with C = decode ∘ encode; None where none is known."""
        return None

    def projections(self, at: At) -> list[Array | None]:
        """What stands before the layers while a client takes its gradient: for each parameter of the layout None, or a
        matrix for each trial (T, inputs, inputs)."""
        return [None] * len(self.layout.shapes)

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        """The memory before the first round."""
        if self.feedback != "client":
            return Memory()
        return Memory(kernels.xp.zeros((trials, clients, self.layout.d), dtype="float32"))

    @abstractmethod
    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        """The messages of a phase.

        Arguments:
            x: (T, C, d), the updates, with what the clients remember.
            memory: before the round.
            at: when.
            replies: the replies to the phases before.
        """

    @abstractmethod
    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """What the server makes of each message of the last phase by itself: (T, C, d); of the clients' mean message,
        C = 1, where messages add up."""

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        """The server's reply to the messages of a phase, and its memory: here the mean of what it decodes, all of whose
        entries are sent."""
        step = self.decode(message, at, replies).mean(axis=1)
        return Reply(step, self.layout.nbytes), memory

    @abstractmethod
    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """What an attacker who knows the compressor matches, of messages with the parts of all phases and C = 1: the
        numbers that were seen (T, m), on the CPU, and the map, differentiable, from updates (T, d) to what they would
        be. The replies that were replies depend on the other clients' messages, too."""

    def exchange(self, x: Array, memory: Memory, at: At) -> Exchange:
        """A round: messages of the updates (T, C, d), the server's step, and what is remembered."""
        carried = x if memory.clients is None else x + memory.clients
        replies: list[Reply] = []
        messages: list[Message] = []
        server = memory
        for _ in range(self.phases):
            message = self.encode(carried, memory, at, replies)
            reply, server = self.answer(message.mean() if self.adds_up else message, server, at, replies)
            replies.append(reply)
            messages.append(message)
        if memory.clients is not None:
            server = server._replace(clients=carried - self.delivery(message, at, replies))
        key = KEY if self.keyed and (self.fresh or at.round == 0) else 0
        up = sum(message.nbytes for message in messages)
        return Exchange(
            replies[-1].content, server, messages, up, key + sum(reply.nbytes for reply in replies), replies
        )

    def delivery(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """What a client takes for sent, (T, C, d): by default what the server decodes of its message."""
        return self.decode(message, at, replies[:-1])


MakeCompressor = Callable[..., Compressor]  # what a config of conf/compressor gives; it wants layout and limit

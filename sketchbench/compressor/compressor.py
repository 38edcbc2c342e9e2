"""The compressor: it turns updates into messages, and messages into the server's step."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count
from sketchbench.compressor import door, traits
from sketchbench.compressor.message import Layout, Message, Reply, check_layout
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.numbers import check_finite
from sketchbench.sketch.family import SizeError

Feedback = Literal["none", "client", "server"]
Receive = Callable[[Message], Message]


class At(NamedTuple):
    """A round.

    Arguments:
        kernels: backend of all arrays.
        seed: root of the randomness that clients and server share (`key`), and of the clients' own (`private`).
        round: the number of the round, from 0 on.
        trials: T, independent trials that run side by side.
        client: the number of the client that encodes here; None if all clients encode here, side by side.
    """

    kernels: Kernels
    seed: int
    round: int
    trials: int
    client: int | None = None

    def key(self, part: str, *, every_round: bool = True) -> int:
        """Return the 64-bit key that the server sends, in every round or once. Trial t uses its operator number t."""
        return seeds.key(self.seed, compressor=part, round=self.round if every_round else -1)

    def private(self, part: str) -> np.random.Generator:
        """Return the generator of the clients' own randomness, which the server does not know."""
        own = {} if self.client is None else {"client": self.client}
        return seeds.generator(self.seed, compressor=part, round=self.round, **own)


class Memory(NamedTuple):
    """The state of clients and server between rounds.

    Arguments:
        clients: (T, C, d), the part of its updates that each client has not sent; None without error feedback.
        server: the server's state, in any form that the compressor needs; None for no state.
    """

    clients: Array | None = None
    server: Any = None

    def forget(self, trials: Array, kernels: Kernels) -> "Memory":
        """Return the memory with zeros in `trials`, booleans (T,), in all arrays in lists, tuples and mappings."""

        def clear(kept: Array) -> Array:
            return kernels.xp.where(trials.reshape(-1, *[1] * (kept.ndim - 1)), kept.dtype.type(0), kept)

        return Memory(*door.replace(tuple(self), clear))


class Exchange(NamedTuple):
    """The result of a round.

    Arguments:
        step: (T, d), which all parties subtract from the weights.
        memory: for the next round.
        messages, replies: the clients' messages, and the server's reply, of each phase.
        bytes_up, bytes_down: bytes that one client sends and receives, the key included.
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

    A new compressor is a frozen dataclass with the methods `encode` and `decode`. It also overrides `answer` if its
    step is not the mean of the decoded messages, and `check` if it refuses some limits. Arrays are float32. `exchange`
    checks what enters and leaves these methods, so that they need no checks of their own. `compressor.traits` has rarer
    statements, and secure aggregation; `attack.lens` has an attacker's view of messages.

    Arguments:
        layout: of the update, which has at least one entry.
        limit: bytes that a client may send in a round.

    Attributes:
        adds_up: the server needs no more than the sum of the clients' messages, so that secure aggregation can hide
            each single message.
        linear: messages add up, and are a linear map of the update, the same for all clients of a round, so that the
            mean message is that of the mean update.
        unbiased: the mean of `decode` over all randomness is the update.
        feedback: the party that remembers the part of the updates that was not sent: each `client`, the `server`, or
        `none`.

    Raises:
        SizeError: where no message fits into the limit, or the layout has no entries.
        TypeError: for a layout that is none, or a limit that is no integer.
        ValueError: for a limit below 1.
    """

    adds_up: ClassVar[bool] = False
    linear: ClassVar[bool] = False
    unbiased: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "none"

    layout: Layout
    limit: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        check_layout(self.layout)
        self.check()

    def check(self) -> None:
        """Raise SizeError, by `needs`, if no message fits into the limit."""

    def needs(self, nbytes: int) -> None:
        """Raise SizeError if the limit is below `nbytes` bytes."""
        if nbytes > self.limit:
            raise SizeError(
                f"{type(self).__name__} needs {nbytes} bytes for an update of {self.layout.d} entries, and may send "
                f"{self.limit}; allow more, or choose another compressor"
            )

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        """Return the memory before the first round; ValueError or TypeError for fewer than 1 trial or client."""
        for name, count in (("trials", trials), ("clients", clients)):
            door.check_count(name, count, 1)
        if self.feedback != "client":
            return Memory()
        return Memory(kernels.xp.zeros((trials, clients, self.layout.d), dtype="float32"))

    @abstractmethod
    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        """Encode the clients' messages of a phase.

        Arguments:
            x: (T, C, d), the updates, plus the clients' memory.
            memory: of clients and server before the round.
            replies: of the earlier phases of the round.
        """

    @abstractmethod
    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """Decode each message of the last phase by itself: (T, C, d). If messages add up, the server decodes their
        mean, with C = 1."""

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        """Return the server's reply to the messages of a phase, and the memory after it. By default the reply is the
        mean of the decoded messages, sent as d numbers."""
        step = self._decoded(message, at, replies).mean(axis=1)
        return Reply(step, self.layout.nbytes), memory

    def exchange(self, x: Array, memory: Memory, at: At, receive: Receive | None = None) -> Exchange:
        """Run a round: encode the updates, and compute the server's step and the memory after it.

        Updates and memory stay as they are, so that a round can be run again after an error.

        Arguments:
            x: (T, C, d), the clients' updates, float32 and finite, with C >= 1.
            memory: from `begin`, or from the last round.
            receive: in place of `traits.receive`, if clients are processes: from the messages of these clients to the
                message that the server gets.

        Raises:
            TypeError: for another kind of array.
            ValueError: for another shape, an entry that is not finite, or a memory that doesn't fit the updates.
            OverflowError: if updates plus memory, the step, or the memory after the round exceed float32.
        """
        carried, xp, name = self._admit(x, memory, at), at.kernels.xp, type(self).__name__
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # refused below
            done = self._exchange(carried, memory, at, receive or functools.partial(traits.receive, self, at=at))
        door.check_sums(name, "the step", done.step, xp)
        for kept in door.arrays(tuple(done.memory)):
            door.check_sums(name, "the memory after the round", kept, xp)
        return done

    def _admit(self, x: Array, memory: Memory, at: At) -> Array:
        """Check the arguments of `exchange`, and return the updates plus the clients' memory, contiguous."""
        door.check_count("round", at.round, 0)
        door.check_count("trials", at.trials, 1)
        xp, name, d = at.kernels.xp, type(self).__name__, self.layout.d
        door.check_array("the updates", x, xp)
        if x.ndim != 3 or (x.shape[0], x.shape[2]) != (at.trials, d) or not x.shape[1]:
            raise ValueError(
                f"updates of shape {x.shape} must have the shape ({at.trials} trials, 1 or more clients, {d} entries) "
                f"of the round and of the layout of {name}"
            )
        if not isinstance(memory, Memory):
            raise TypeError(f"memory={memory!r:.60} must be a Memory, from `begin` or from the last round")
        begun = self.begin(1, 1, at.kernels)
        if (begun.clients is None) != (memory.clients is None):
            which = "has no" if memory.clients is None else "has a"
            raise ValueError(f"the memory {which} part of the clients, unlike that of {name}; make it with `begin`")
        door.check_server(memory.server, begun.server, at.trials, xp)
        if memory.clients is None:
            check_finite("the updates", x, xp)
            return xp.ascontiguousarray(x)
        door.check_array("the clients' memory", memory.clients, xp)
        if memory.clients.shape != x.shape:
            raise ValueError(
                f"a memory of shape {memory.clients.shape} must have the shape {x.shape} of the updates: "
                "trials, clients, entries; make it with `begin`"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # refused next
            carried = xp.ascontiguousarray(x + memory.clients)
        if not bool(xp.isfinite(carried).all()):
            check_finite("the updates", x, xp)
            check_finite("the clients' memory", memory.clients, xp)
            door.check_sums(name, "the updates plus the memory", carried, xp)
        return carried

    def _exchange(self, carried: Array, memory: Memory, at: At, receive: Receive) -> Exchange:
        """`exchange` of checked updates plus memory."""
        replies: list[Reply] = []
        messages: list[Message] = []
        server = memory
        for _ in range(traits.phases(self)):
            message = self.encode(carried, memory, at, replies)
            reply, server = self.answer(receive(message), server, at, replies)
            replies.append(reply)
            messages.append(message)
        if memory.clients is not None:
            delivered = self.delivery(message, at, replies)
            server = server._replace(clients=self.remember(carried, memory, delivered))
        key = traits.key_nbytes(self, at.round)
        up = sum(message.nbytes for message in messages)
        return Exchange(
            replies[-1].content, server, messages, up, key + sum(reply.nbytes for reply in replies), replies
        )

    def delivery(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """Return the part of its update that a client counts as sent, (T, C, d): by default its decoded message."""
        return self._decoded(message, at, replies[:-1])

    def _decoded(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """`decode`, once for a message."""
        return message.decoded_by(lambda: self.decode(message, at, replies))

    def remember(self, carried: Array, memory: Memory, delivered: Array) -> Array:
        """Return the clients' new memory, (T, C, d): by default the part of `carried`, the updates plus the memory
        before the round, that `delivery` has not `delivered`."""
        return carried - delivered


MakeCompressor = Callable[..., Compressor]  # a config of conf/compressor, called with layout and limit

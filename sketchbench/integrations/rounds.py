"""Rounds of a compressor in two halves, for clients and a server that reach each other by messages alone.

    sent = client.send(update, 0)  # each client
    reply = server.answer([sent, other], 0)
    step = client.follow(reply)  # server.step has it, too

With more phases, clients answer each reply but the last by `send_next`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sketchbench import kernels
from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Message, Reply, place_type, sparse_nbytes
from sketchbench.kernels import Array
from sketchbench.measure.numbers import check_finite

Parts = Mapping[str, Array]  # arrays by name, in their sent types; of a client (1, 1, ...)
STEP, PLACES = "step", "places"  # of a reply other than a mean message


class _Half:
    """State shared by the client's and the server's half.

    Attributes:
        shared: whether clients keep the server's memory, too, and compute it from the mean messages.
        waits: whether a client's memory depends on the step, and not on its own message alone.
    """

    def __init__(self, compressor: Compressor, seed: int) -> None:
        self.compressor, self._seed = compressor, seed
        self._kernels = kernels.load("numba")
        begun = compressor.begin(1, 1, self._kernels)
        sees = compressor.feedback != "server"
        self.shared = sees and begun.server is not None
        self.waits = begun.clients is not None and type(compressor).delivery is not Compressor.delivery
        self._begun = begun if sees else begun._replace(server=None)
        if (self.shared or traits.phases(compressor) > 1) and not (sees and compressor.adds_up):
            raise ValueError(
                f"clients of {self._name} need more of the server than mean messages and steps; choose a compressor "
                "whose messages add up, and whose server remembers nothing that clients can't compute"
            )

    @property
    def follows(self) -> bool:
        return self.shared or self.waits

    @property
    def _name(self) -> str:
        return type(self.compressor).__name__

    def _check(self, memory: Memory, what: str) -> None:
        for kept in door.arrays(tuple(memory)):
            door.check_sums(self._name, f"{what} memory after the round", kept, np)

    def _answers(self, means: Sequence[Parts], memory: Memory, at: At) -> tuple[list[Reply], Memory]:
        """The server's replies to mean messages, and the memory after them."""
        replies: list[Reply] = []
        for mean in means:
            reply, memory = self.compressor.answer(Message(mean), memory, at, replies)
            replies.append(reply)
        return replies, memory


class ClientRounds(_Half):
    """A client of a compressor. It has the part of the server's memory that all can compute: none with server feedback.
    The seed is that of the shared randomness and of the client's own. Raises ValueError for a compressor whose clients
    need more than mean messages and steps."""

    def __init__(self, compressor: Compressor, seed: int, number: int) -> None:
        super().__init__(compressor, seed)
        self._number = number
        self._memory = self._begun
        self._at = At(self._kernels, seed, 0, 1, number)
        self._means: list[Parts] = []
        self._carried: Array | None = None
        self._sent: Parts = {}

    def send(self, update: Array, number: int) -> Parts:
        """Return the message of a round's first phase.

        Arguments:
            update: (d,), float32.
            number: of the round, from 0 on.

        Raises:
            ValueError: for an entry that is not finite.
            OverflowError: if the update and the memory together exceed float32.
        """
        check_finite("the update", update)
        carried = update[None, None]
        if self._memory.clients is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # refused next
                carried = carried + self._memory.clients
            door.check_sums(self._name, "the update plus the memory", carried, np)
        self._at, self._means, self._carried = self._at._replace(round=number), [], carried
        return self._send()

    def send_next(self, reply: Parts) -> Parts:
        """Return the message of the next phase, after the server's reply to the last."""
        self._means.append(reply)
        return self._send()

    def _send(self) -> Parts:
        compressor, at = self.compressor, self._at
        replies, _ = self._answers(self._means, self._memory, at)
        assert self._carried is not None
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # refused by the server
            message = compressor.encode(self._carried, self._memory, at, replies)
        last = len(replies) == traits.phases(compressor) - 1
        if self.waits:
            self._sent = message.parts
        elif last:
            if self._memory.clients is not None:
                delivered = compressor.decode(message, at, replies)
                kept = compressor.remember(self._carried, self._memory, delivered)
                self._memory = self._memory._replace(clients=kept)
                self._check(self._memory, "the client's")
            self._carried = None
        return message.parts

    def follow(self, reply: Parts) -> Array:
        """Return the step (d,) of the last reply of a round, after which the next round may begin."""
        if STEP in reply:
            replies, after = self._answers(self._means, self._memory, self._at)
            replies.append(Reply(self._dense(reply), 0))
        else:
            replies, after = self._answers([*self._means, reply], self._memory, self._at)
        if self.waits:
            assert self._carried is not None
            delivered = self.compressor.delivery(Message(self._sent), self._at, replies)
            after = after._replace(clients=self.compressor.remember(self._carried, self._memory, delivered))
        self._check(after, "the client's")
        self._memory, self._means, self._carried = after, [], None
        return replies[-1].content[0]

    def _dense(self, reply: Parts) -> Array:
        if PLACES not in reply:
            return reply[STEP]
        step = np.zeros((1, self.compressor.layout.d), dtype=np.float32)
        step[:, reply[PLACES]] = reply[STEP]
        return step

    def state(self) -> dict[str, Array]:
        """Return the client's state for a break: arrays by name."""
        kept = {f"memory {number}": array for number, array in enumerate(door.arrays(tuple(self._memory)))}
        kept["phases"] = np.array(len(self._means))
        for phase, mean in enumerate(self._means):
            kept |= {f"mean {phase} {name}": part for name, part in mean.items()}
        if self._carried is not None:
            kept |= {"carried": self._carried} | {f"sent {name}": part for name, part in self._sent.items()}
        return kept

    def load(self, state: Mapping[str, Array], number: int) -> None:
        """Resume from the `state` of a round."""
        self._at = self._at._replace(round=number)
        kept = iter(_with(state, "memory ").values())
        self._memory = Memory(*door.replace(tuple(self._begun), lambda _: next(kept)))
        self._means = [_with(state, f"mean {phase} ") for phase in range(int(state["phases"]))]
        self._carried, self._sent = state.get("carried"), _with(state, "sent ")


class ServerRounds(_Half):
    """The server of a compressor; compressor and seed are those of `ClientRounds`, and so are errors. `step` is (d,),
    of the last finished round; None before it."""

    def __init__(self, compressor: Compressor, seed: int) -> None:
        super().__init__(compressor, seed)
        self._memory = Memory(None, compressor.begin(1, 1, self._kernels).server)
        self._replies: list[Reply] = []
        self.step: Array | None = None

    def answer(self, each: Sequence[Parts], number: int) -> Parts:
        """The reply to all clients' messages of a phase of a round; the last phase ends the round. Raises ValueError
        for messages of unequal form, and OverflowError if the step or the memory exceeds float32."""
        compressor, at = self.compressor, At(self._kernels, self._seed, number, 1)
        together = _together(each)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # refused below
            received = traits.receive(compressor, together, at)
            reply, self._memory = compressor.answer(received, self._memory, at, self._replies)
        self._replies.append(reply)
        if len(self._replies) < traits.phases(compressor):
            return received.parts
        self._replies = []
        door.check_sums(self._name, "the step", reply.content, np)
        self._check(self._memory, "the server's")
        self.step = reply.content[0]
        counted = compressor.adds_up and compressor.feedback != "server" and received.nbytes == reply.nbytes
        return received.parts if self.shared or counted else _sent(reply)


def check_numbers(clients: Sequence[tuple[int, int]]) -> None:
    """Raise ValueError if two of a round's clients, as nodes and numbers, have one number: they would share the
    randomness of their own, and their errors would no longer average out."""
    nodes: dict[int, int] = {}
    for node, number in clients:
        if number in nodes:
            raise ValueError(
                f"nodes {nodes[number]} and {node} both have the number {number}, and would draw the same randomness; "
                "give each node a partition-id of its own"
            )
        nodes[number] = node


def _together(each: Sequence[Parts]) -> Message:
    forms = [{name: (part.dtype, part.shape) for name, part in parts.items()} for parts in each]
    if any(form != forms[0] for form in forms):
        raise ValueError("clients sent messages of unequal form; give all of them the same compressor and compression")
    return Message({name: np.concatenate([parts[name] for parts in each], axis=1) for name in forms[0]})


def _sent(reply: Reply) -> Parts:
    """A step (1, d) in its counted form: all its entries, or its nonzeros with their places."""
    step = reply.content
    if reply.nbytes >= step.nbytes or sparse_nbytes(step) >= step.nbytes:
        return {STEP: step}
    (places,) = step[0].nonzero()
    return {STEP: step[:, places], PLACES: places.astype(place_type(step.shape[1]))}


def _with(state: Mapping[str, Array], start: str) -> dict[str, Array]:
    """The arrays whose names begin with `start`, without it."""
    return {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}

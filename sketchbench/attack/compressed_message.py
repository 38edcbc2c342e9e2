"""Views of one round of compressed messages: what each party sees, and how an attacker predicts it from updates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from sketchbench import seeds
from sketchbench.compressor.compressor import At, Compressor, Exchange
from sketchbench.compressor.message import Message, Reply
from sketchbench.kernels import Array
from sketchbench.parameters import choose

Place = Literal["server", "sum", "another client", "eavesdropper"]
PLACES: tuple[Place, ...] = get_args(Place)
VICTIM, OBSERVER = 0, -1  # indices of the attacked client, and of the client that attacks


class Unseen(ValueError):  # noqa: N818 (no error: it is a row of the result)
    """A party sees no message; the text says why."""


class Sight(NamedTuple):
    """What an attacker sees and knows of the mean update of some clients; never the update itself.

    Attributes:
        seen: the m numbers that the attacker sees, (T, m).
        predicted: a differentiable function from updates (T, d) to the numbers that the attacker would see.
        measurements: how many of the m numbers depend on the update, (T,).
        decoded: a function that returns the update as the receiver would decode it, (T, d).
        at: the round, with the key that the attacker knows or guesses.
        clients: the indices of the clients in the mean.
        nbytes: bytes that the attacker sees.
    """

    seen: Tensor
    predicted: Callable[[Tensor], Tensor]
    measurements: Tensor
    decoded: Callable[[], Tensor]
    at: At
    clients: slice
    nbytes: int


@dataclass(frozen=True)
class Round:
    """The first round of a training, in which all memories of error feedback are still empty.

    Arguments:
        compressor: of all clients.
        at: the round.
        updates: the clients' gradients, (T, C, d) with C >= 2. The first client is the victim; the last one is the
            attacker where a client attacks.
    """

    compressor: Compressor
    at: At
    updates: Array

    def __post_init__(self) -> None:
        if self.updates.ndim != 3 or self.updates.shape[1] < 2:
            raise ValueError(
                f"updates of shape {self.updates.shape} must be (trials, clients, d) with 2 clients or more"
            )

    @cached_property
    def exchange(self) -> Exchange:
        """All messages and replies of the round."""
        trials, clients = self.updates.shape[:2]
        memory = self.compressor.begin(trials, clients, self.at.kernels)
        return self.compressor.exchange(self.updates, memory, self.at)

    def sight(self, place: Place) -> Sight:
        """What an attacker at a place sees:

        - `server`: the victim's message.
        - `sum`: the sum of all clients' messages, as under secure aggregation.
        - `another client`: the server's reply, less the attacker's own part in it. If messages add up and the reply has
          their size, the reply is their mean. Otherwise it is the step, whose nonzero entries are compared with those
          of the other clients' mean update.
        - `eavesdropper`: the victim's message, with a guess of the key.

        Raises:
            Unseen: for the sum of messages that don't add up.
        """
        choose("place", place, PLACES)
        compressor, exchange = self.compressor, self.exchange
        message = self._messages
        up, down = exchange.bytes_up, sum(reply.nbytes for reply in exchange.replies)
        if place == "another client":
            own = _message_of(message, OBSERVER)
            if compressor.adds_up and down == up:
                return self._lens(
                    _mean_of_others(message.mean(), own, self._clients), self.at, slice(0, OBSERVER), down
                )
            return self._step(own, down)
        if place == "sum":
            if not compressor.adds_up:
                raise Unseen("the messages don't add up: the server needs each of them, see server")
            return self._lens(message.mean(), self.at, slice(0, self._clients), up)
        at = self.at
        if place == "eavesdropper" and compressor.keyed:
            at = at._replace(seed=seeds.key(at.seed, attack="guessed key"))
        return self._lens(_message_of(message, VICTIM), at, slice(0, 1), up)

    @cached_property
    def _messages(self) -> Message:
        """The clients' messages, with the parts of all phases."""
        return Message({name: part for message in self.exchange.messages for name, part in message.parts.items()})

    @property
    def _clients(self) -> int:
        return int(self.updates.shape[1])

    @property
    def _earlier_replies(self) -> Sequence[Reply]:
        """The server's replies before the last phase."""
        return self.exchange.replies[:-1]

    def _lens(self, message: Message, at: At, clients: slice, nbytes: int) -> Sight:
        seen, predicted = self.compressor.lens(message, at, self._earlier_replies)
        measurements = torch.full((len(seen),), seen.shape[1])

        def decoded() -> Tensor:
            return self._tensor(self.compressor.decode(message, at, self._earlier_replies)[:, 0])

        return Sight(seen.float(), predicted, measurements, decoded, at, clients, nbytes)

    def _step(self, own: Message, nbytes: int) -> Sight:
        """What a client sees of the other clients in the step: the step less its own part, which is its decoded
        message, or its update if the server only decodes sums."""
        compressor, clients = self.compressor, self._clients
        mine = self.updates[:, OBSERVER]
        if not compressor.adds_up:
            mine = compressor.decode(own, self.at, self._earlier_replies)[:, 0]
        step = self._tensor(self.exchange.step)
        nonzero = (step != 0).to(step)
        others = nonzero * (clients * step - self._tensor(mine)) / (clients - 1)
        measurements = nonzero.sum(dim=1)
        return Sight(others, lambda x: nonzero * x, measurements, lambda: others, self.at, slice(0, OBSERVER), nbytes)

    def _tensor(self, array: Array) -> Tensor:
        return torch.as_tensor(self.at.kernels.to_numpy(array)).float()


def _message_of(message: Message, client: int) -> Message:
    """The message of one client."""
    return Message({name: part[:, [client]] for name, part in message.parts.items()})


def _mean_of_others(mean: Message, own: Message, clients: int) -> Message:
    """The mean of the other clients' messages, from the mean of all `clients` messages and the client's own."""
    others = {name: (clients * part - own.parts[name]) / (clients - 1) for name, part in mean.parts.items()}
    return Message(others)

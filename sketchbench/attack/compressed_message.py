"""What each party sees of one round of compressed messages, as an attacker who knows the compressor would match it."""

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

Place = Literal["server", "sum", "another client", "eavesdropper"]
PLACES: tuple[Place, ...] = get_args(Place)
VICTIM, OBSERVER = 0, -1  # places of clients


class Unseen(ValueError):  # noqa: N818 (no error: it is a row of the result)
    """This party does not see anything of the kind; the message says why."""


class Sight(NamedTuple):
    """What an attacker sees of the mean update of some clients, and knows of how it came about; never the update.

    Attributes:
        seen: numbers (T, m).
        predicted: what they would be for updates (T, d), differentiable.
        measurements: how many of the m numbers depend on the update, (T,).
        decoded: gives the update as the receiver would decode it, (T, d).
        at: when, and with which key as far as the attacker knows it.
        clients: the places of the clients.
        nbytes: that are seen.
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
    """The first round of a compressor, in which nobody remembers anything yet.

    Arguments:
        compressor: of all clients.
        at: when.
        updates: of the clients, (T, C, d) with C >= 2: a learning rate of 1 times the gradient. The first client is
            attacked; the last one is who attacks where a client does.
    """

    compressor: Compressor
    at: At
    updates: Array

    @cached_property
    def exchange(self) -> Exchange:
        """What is sent."""
        trials, clients = self.updates.shape[:2]
        memory = self.compressor.begin(trials, clients, self.at.kernels)
        return self.compressor.exchange(self.updates, memory, self.at)

    def sight(self, place: Place) -> Sight:
        """What is seen from a place:

        - `server`: the victim's message.
        - `sum`: the sum of all clients' messages, as secure aggregation shows it.
        - `another client`: the reply, less what this client sent itself. Where messages add up and the reply is as long
          as they are, it is their mean; else it is the step, whose nonzero entries are held against those of the mean
          of the others' updates.
        - `eavesdropper`: the victim's message without the key, which it guesses.

        Raises:
            Unseen: for the sum of messages that don't add up.
        """
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
        """With the parts of all phases, which have names of their own."""
        return Message({name: part for message in self.exchange.messages for name, part in message.parts.items()})

    @property
    def _clients(self) -> int:
        return int(self.updates.shape[1])

    @property
    def _earlier_replies(self) -> Sequence[Reply]:
        """The replies before the messages of the last phase."""
        return self.exchange.replies[:-1]

    def _lens(self, message: Message, at: At, clients: slice, nbytes: int) -> Sight:
        seen, predicted = self.compressor.lens(message, at, self._earlier_replies)
        measurements = torch.full((len(seen),), seen.shape[1])

        def decoded() -> Tensor:
            return self._tensor(self.compressor.decode(message, at, self._earlier_replies)[:, 0])

        return Sight(seen.float(), predicted, measurements, decoded, at, clients, nbytes)

    def _step(self, own: Message, nbytes: int) -> Sight:
        """The others' part of the step. A client knows what the server decodes of its own message; where the server
        decodes sums only, the client's own update stands for it."""
        compressor, clients = self.compressor, self._clients
        mine = self.updates[:, OBSERVER]
        if not compressor.adds_up:
            mine = compressor.decode(own, self.at, self._earlier_replies)[:, 0]
        step = self._tensor(self.exchange.step)
        there = (step != 0).to(step)
        others = there * (clients * step - self._tensor(mine)) / (clients - 1)
        measurements = there.sum(dim=1)
        return Sight(others, lambda x: there * x, measurements, lambda: others, self.at, slice(0, OBSERVER), nbytes)

    def _tensor(self, array: Array) -> Tensor:
        return torch.as_tensor(self.at.kernels.to_numpy(array)).float()


def _message_of(message: Message, client: int) -> Message:
    """The message of one client."""
    return Message({name: part[:, [client]] for name, part in message.parts.items()})


def _mean_of_others(mean: Message, own: Message, clients: int) -> Message:
    """The mean of the others' messages."""
    others = {name: (clients * part - own.parts[name]) / (clients - 1) for name, part in mean.parts.items()}
    return Message(others)

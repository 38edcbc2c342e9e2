"""Views of rounds of compressed messages: the data that each party sees, and an attacker's prediction of these data
from updates."""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from sketchbench.attack import lens
from sketchbench.attack.lens import Unseen
from sketchbench.base import seeds
from sketchbench.base.parameters import choose
from sketchbench.compressor import traits
from sketchbench.compressor.compressor import At, Compressor, Exchange, Memory
from sketchbench.compressor.message import Message
from sketchbench.kernels import Array

Place = Literal["server", "sum", "another client", "eavesdropper"]
PLACES: tuple[Place, ...] = get_args(Place)
VICTIM, OBSERVER = 0, -1  # indices of the attacked client, and of the client that attacks


class Sight(NamedTuple):
    """The view of the mean update of some clients in a round; it does not hold the update itself. `predicted` maps
    updates (T, d) to the numbers that the attacker would see; `surprisal` maps them to minus the log-likelihood of
    `seen`, (T,), or is None if the compressor states no likelihood. Both are differentiable."""

    seen: Tensor  # the m numbers that the attacker sees, (T, m)
    predicted: Callable[[Tensor], Tensor]
    measurements: Tensor  # how many of the m numbers depend on the update, (T,)
    decoded: Callable[[], Tensor]  # returns the update as the receiver would decode it, (T, d)
    at: At  # the round, with the key that the attacker knows or guesses
    clients: slice  # the indices of the clients in the mean
    nbytes: int  # bytes that the attacker sees
    guessed: bool = False  # whether the key is a guess
    surprisal: Callable[[Tensor], Tensor] | None = None


class Played(NamedTuple):
    """A round that was played. `delivered`, (T, C, d), is None without feedback at the clients."""

    at: At
    message: Message  # the clients' messages, with the parts of all phases
    exchange: Exchange  # the result of the round
    delivered: Array | None  # the updates that each client has counted as sent before


class WatchedRounds:
    """The first rounds of a training, from empty memories on; images and weights stay the same unless `moving`. A
    client's memory is no secret: after t rounds it is t times the update minus all deliveries, which the messages
    reveal.

    Arguments:
        at: the first round.
        updates: the clients' gradients in a round, (T, C, d) with C >= 2; the same in all rounds, unless the compressor
            projects or weights or images move. The first client is the victim; the last attacks if a client attacks.
        moving: whether the weights, or the images, differ from round to round.

    Raises Unseen for moving weights or images if clients keep a memory.
    """

    def __init__(self, compressor: Compressor, at: At, updates: Callable[[At], Array], *, moving: bool = False) -> None:
        if moving and compressor.feedback == "client":
            raise Unseen(
                f"{type(compressor).__name__} keeps what clients have not sent; no attack on it is known at moving "
                f"weights or images; choose a compressor without it, or the same weights and images in all rounds"
            )
        self.compressor, self.at, self.updates, self.moving = compressor, at, updates, moving
        self._played: list[Played] = []
        self._seen: dict[tuple[Place, int], Sight] = {}

    def sights(self, place: Place, rounds: int) -> list[Sight]:
        """Return an attacker's sights in the first rounds, one a round.

        - `server`: the victim's message.
        - `sum`: the sum of all clients' messages, as under secure aggregation.
        - `another client`: the server's reply minus the attacker's own part. If messages add up and the reply has their
          size, the reply is their mean. Otherwise there is one sight, the mean step, whose nonzero entries are compared
          with the other clients' mean update.
        - `eavesdropper`: the victim's message, with a guessed key.

        If every round repeats the first message, there is one sight. This needs clients without memory, and fixed
        weights and images; one key for all rounds is one cause.

        Raises Unseen for the sum of messages that don't add up, or add up modulo a power of two, and for the mean step
        of several rounds at moving weights or images.
        """
        choose("place", place, PLACES)
        if place == "sum" and not self.compressor.adds_up:
            raise Unseen("the messages don't add up: the server needs each of them, see server")
        if place in ("sum", "another client") and isinstance(self.compressor, traits.Modular):
            raise Unseen("no attack on sums modulo a power of two is known here; see server")
        if place == "another client" and not self._replies_add_up:
            if self.moving and rounds > 1:
                raise Unseen("the mean step of several rounds is of gradients at other weights each; see server")
            return [self._mean_step(rounds)]
        compressor = self.compressor
        repeats = compressor.feedback != "client" and not self.moving
        one_key = traits.keyed(compressor) and not traits.fresh(compressor) and repeats
        sights: list[Sight] = []
        for number in range(1 if one_key else rounds):
            one = self._sight(place, number)
            if number == 1 and repeats and torch.equal(one.seen, sights[0].seen):
                break
            sights.append(one)
        return sights

    @property
    def _replies_add_up(self) -> bool:
        exchange = self._play(0).exchange
        return self.compressor.adds_up and sum(reply.nbytes for reply in exchange.replies) == exchange.bytes_up

    def _play(self, number: int) -> Played:
        while len(self._played) <= number:
            self._played.append(self._next())
        return self._played[number]

    def _next(self) -> Played:
        compressor, past = self.compressor, self._played
        at = self.at._replace(round=len(past))
        x = self.updates(at)
        if x.ndim != 3 or x.shape[1] < 2:
            raise ValueError(f"updates of shape {x.shape} must be (trials, clients, d) with 2 clients or more")
        memory = past[-1].exchange.memory if past else compressor.begin(x.shape[0], x.shape[1], at.kernels)
        exchange = compressor.exchange(x, memory, at)
        message = Message({name: part for one in exchange.messages for name, part in one.parts.items()})
        delivered = None
        if memory.clients is not None:
            delivered = at.kernels.xp.zeros_like(x)
            if past:
                last = past[-1].exchange
                sent = compressor.delivery(last.messages[-1], past[-1].at, last.replies)
                delivered = past[-1].delivered + sent
        return Played(at, message, exchange, delivered)

    def _sight(self, place: Place, number: int) -> Sight:
        if (place, number) not in self._seen:
            self._seen[place, number] = self._look(place, self._seen_from(place, number))
        return self._seen[place, number]

    def _seen_from(self, place: Place, number: int) -> Played:
        """Play round `number`; if it depends on no other round, only for the victim, or for the mean update."""
        compressor = self.compressor
        alone = compressor.linear and compressor.feedback == "none" and traits.phases(compressor) == 1
        if not (alone and number) or place == "another client":
            return self._play(number)
        at = self.at._replace(round=number)
        x = self.updates(at)
        x = x.mean(axis=1, keepdims=True) if place == "sum" else at.kernels.xp.ascontiguousarray(x[:, [VICTIM]])
        return Played(at, compressor.encode(x, Memory(), at, ()), self._play(0).exchange, None)

    def _look(self, place: Place, played: Played) -> Sight:
        message, up, clients = played.message, played.exchange.bytes_up, self._clients
        if place == "another client":
            others = _mean_of_others(message.mean(), _message_of(message, OBSERVER), clients)
            return self._lens(others, played, slice(0, clients - 1), up)
        if place == "sum":
            return self._lens(message.mean(), played, slice(0, clients), up)
        if place == "eavesdropper" and traits.keyed(self.compressor):
            seed = seeds.key(played.at.seed, attack="guessed key")
            played = played._replace(at=played.at._replace(seed=seed))
        return self._lens(_message_of(message, VICTIM), played, slice(0, 1), up)

    @property
    def _clients(self) -> int:
        return int(next(iter(self._play(0).message.parts.values())).shape[1])

    def _lens(self, message: Message, played: Played, clients: slice, nbytes: int) -> Sight:
        compressor, at, replies = self.compressor, played.at, played.exchange.replies[:-1]
        single = lens.SeenMessage(message, at, replies)
        seen, look = lens.lens(compressor, single)
        surprisal = lens.surprisal(compressor, single)
        carried = self._carried(played, clients)

        def decoded() -> Tensor:
            return self._tensor(compressor.decode(message, at, replies)[:, 0])

        def predicted(x: Tensor) -> Tensor:
            return look(carried(x))

        def surprise(x: Tensor) -> Tensor:
            assert surprisal is not None
            return surprisal(carried(x))

        measurements = torch.full((len(seen),), seen.shape[1])
        unlikely = None if surprisal is None else surprise
        guessed = at.seed != self.at.seed
        return Sight(seen.float(), predicted, measurements, decoded, at, clients, nbytes, guessed, unlikely)

    def _carried(self, played: Played, clients: slice) -> Callable[[Tensor], Tensor]:
        """Map the mean update to the mean of update and memory, which the clients carry into a round."""
        if played.delivered is None:
            return lambda x: x
        delivered = self._tensor(played.delivered[:, clients].mean(axis=1))
        times = played.at.round + 1 if traits.conserves(self.compressor) else 1  # else the memory has no past updates
        return lambda x: times * x - delivered

    def _mean_step(self, rounds: int) -> Sight:
        """The step minus the attacker's part: its decoded message, or its update if the server only decodes sums."""
        clients = self._clients
        played = [self._play(number) for number in range(rounds)]
        mine, step = (
            torch.stack(parts).mean(dim=0)
            for parts in zip(*((self._own_part(one), self._tensor(one.exchange.step)) for one in played), strict=True)
        )
        nonzero = (step != 0).to(step)
        others = nonzero * (clients * step - mine) / (clients - 1)
        nbytes = sum(reply.nbytes for reply in played[0].exchange.replies)
        everyone_else = slice(0, clients - 1)
        return Sight(
            others, lambda x: nonzero * x, nonzero.sum(dim=1), lambda: others, played[0].at, everyone_else, nbytes
        )

    def _own_part(self, played: Played) -> Tensor:
        """The attacking client's part in the step, times the number of clients, (T, d)."""
        if self.compressor.adds_up:
            return self._tensor(self.updates(played.at)[:, OBSERVER])
        own = _message_of(played.message, OBSERVER)
        return self._tensor(self.compressor.decode(own, played.at, played.exchange.replies[:-1])[:, 0])

    def _tensor(self, array: Array) -> Tensor:
        return torch.as_tensor(self.at.kernels.to_numpy(array)).float()


def _message_of(message: Message, client: int) -> Message:
    return Message({name: part[:, [client]] for name, part in message.parts.items()})


def _mean_of_others(mean: Message, own: Message, clients: int) -> Message:
    """The other clients' mean message, from the mean of all `clients` messages and the client's own."""
    others = {name: (clients * part - own.parts[name]) / (clients - 1) for name, part in mean.parts.items()}
    return Message(others)

"""Views of rounds of compressed messages: what each party sees, and how an attacker predicts it from updates."""

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
    """What an attacker sees and knows of the mean update of some clients in a round; never the update itself.

    Attributes:
        seen: the m numbers that the attacker sees, (T, m).
        predicted: a differentiable function from updates (T, d) to the numbers that the attacker would see.
        measurements: how many of the m numbers depend on the update, (T,).
        decoded: a function that returns the update as the receiver would decode it, (T, d).
        at: the round, with the key that the attacker knows or guesses.
        clients: the indices of the clients in the mean.
        nbytes: bytes that the attacker sees.
        guessed: whether the key is a guess.
        surprisal: a differentiable function from updates (T, d) to minus the logarithm of the likelihood of what is
            seen, (T,); None where the compressor states none.
    """

    seen: Tensor
    predicted: Callable[[Tensor], Tensor]
    measurements: Tensor
    decoded: Callable[[], Tensor]
    at: At
    clients: slice
    nbytes: int
    guessed: bool = False
    surprisal: Callable[[Tensor], Tensor] | None = None


class Played(NamedTuple):
    """A round that was played.

    Attributes:
        at: the round.
        message: the clients' messages, with the parts of all phases.
        exchange: what came of it.
        delivered: (T, C, d), what each client has counted as sent in the rounds before; None without feedback at the
            clients.
    """

    at: At
    message: Message
    exchange: Exchange
    delivered: Array | None


class WatchedRounds:
    """The first rounds of a training, from empty memories on, in which images and weights stay the same, unless they
    are `moving`.

    Where clients keep a memory of what they have not sent, it is no secret: after t rounds it is t times the update
    less all that was delivered, which the messages tell.

    Arguments:
        compressor: of all clients.
        at: the first round.
        updates: the clients' gradients in a round, (T, C, d) with C >= 2; the same in all rounds, unless the compressor
            projects or weights or images are moving. The first client is the victim; the last one is the attacker where
            a client attacks.
        moving: whether the weights, or the images, differ from round to round.

    Raises:
        ValueError: for moving weights or images where clients keep a memory.
    """

    def __init__(self, compressor: Compressor, at: At, updates: Callable[[At], Array], *, moving: bool = False) -> None:
        if moving and compressor.feedback == "client":
            raise ValueError(
                f"{type(compressor).__name__} keeps what clients have not sent, of which no attack is known at moving "
                f"weights or images; choose a compressor without it, or the same weights and images in all rounds"
            )
        self.compressor, self.at, self.updates, self.moving = compressor, at, updates, moving
        self._played: list[Played] = []
        self._seen: dict[tuple[Place, int], Sight] = {}

    def sights(self, place: Place, rounds: int) -> list[Sight]:
        """What an attacker at a place sees in the first rounds, a sight for each:

        - `server`: the victim's message.
        - `sum`: the sum of all clients' messages, as under secure aggregation.
        - `another client`: the server's reply, less the attacker's own part in it. If messages add up and the reply has
          their size, the reply is their mean. Otherwise it is a single sight, the mean step, whose nonzero entries are
          compared with those of the other clients' mean update.
        - `eavesdropper`: the victim's message, with a guess of the key.

        If a compressor has one key for all rounds, or the second message repeats the first for another reason, so do
        all, unless clients have a memory or weights or images are moving, and there is a single sight.

        Raises:
            Unseen: for the sum of messages that don't add up, or do so modulo a power of two, and the mean step of
                several rounds at moving weights or images.
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
        """Whether the server's reply is the mean message."""
        exchange = self._play(0).exchange
        return self.compressor.adds_up and sum(reply.nbytes for reply in exchange.replies) == exchange.bytes_up

    def _play(self, number: int) -> Played:
        """Round `number`, after all rounds before it."""
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
        """Round `number`. Where it depends on no other one, the only client is what the place sees: the victim, or one
        with the mean update."""
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
        """What the clients carry into a round, the mean of update and memory, as a function of the mean update."""
        if played.delivered is None:
            return lambda x: x
        delivered = self._tensor(played.delivered[:, clients].mean(axis=1))
        times = played.at.round + 1 if traits.conserves(self.compressor) else 1  # else the memory has no past updates
        return lambda x: times * x - delivered

    def _mean_step(self, rounds: int) -> Sight:
        """What a client sees of the other clients in the mean step: the step less its own part, which is its decoded
        message, or its update if the server only decodes sums."""
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
        """The attacking client's own part in the step, times the number of clients, (T, d)."""
        if self.compressor.adds_up:
            return self._tensor(self.updates(played.at)[:, OBSERVER])
        own = _message_of(played.message, OBSERVER)
        return self._tensor(self.compressor.decode(own, played.at, played.exchange.replies[:-1])[:, 0])

    def _tensor(self, array: Array) -> Tensor:
        return torch.as_tensor(self.at.kernels.to_numpy(array)).float()


def _message_of(message: Message, client: int) -> Message:
    """The message of one client."""
    return Message({name: part[:, [client]] for name, part in message.parts.items()})


def _mean_of_others(mean: Message, own: Message, clients: int) -> Message:
    """The mean of the other clients' messages, from the mean of all `clients` messages and the client's own."""
    others = {name: (clients * part - own.parts[name]) / (clients - 1) for name, part in mean.parts.items()}
    return Message(others)

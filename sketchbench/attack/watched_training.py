"""Training by two clients, watched by the server and by one of the clients (zhang2021 §6.3 and Appendix A.2).

The attacker wants to know which of the victim's batches have a property. In every round both clients take one step on
one batch each. For some rounds the attacker computes gradients of batches of its own, whose kind it knows, with the
model of that round; in the rounds after them it collects what it sees of the victim's. A classifier such as
`attack.property.RandomForest` can then learn from the former, and be tested on the latter.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sketchbench import seeds
from sketchbench.attack.messages import flattened, full_steps, of_the_other, update
from sketchbench.attack.property_batches import TEN, Party, PropertyBatches
from sketchbench.federated.double_blind import Broadcast, Option, Weights, aggregate, broadcast, receive, respond
from sketchbench.kernels import Kernels
from sketchbench.model import autograd, sketched
from sketchbench.model.blind import make_blind
from sketchbench.model.networks import MakeModel, initialise
from sketchbench.parameters import Checked, Count, Natural, Positive, Range
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

CLIENT, SERVER = 0, 2  # places among the parties; the victim has 1
OPTIONS: tuple[Option, ...] = ("I", "II")

ByAttacker = dict[str, Tensor]  # features, (n,), by the attacker's name
Operators = Mapping[str, Sketch]


class Parties(NamedTuple):
    """Whose data there are: the attacking client and the victim train, and the server can attack, too."""

    client: Party
    victim: Party
    server: Party


@dataclass(frozen=True)
class Phases(Checked):
    """How many rounds of the training the attacker waits, learns and is tested.

    Arguments:
        warm_up: rounds before the attack.
        fit_rounds: rounds that the attacker learns in, from ten batches of its own in each.
        test_rounds: rounds in which it is tested on the victim's batch.
    """

    warm_up: Natural
    fit_rounds: Count
    test_rounds: Annotated[int, Range(TEN)]

    @property
    def first_test(self) -> int:
        """The first round of the test."""
        return self.warm_up + self.fit_rounds

    @property
    def rounds(self) -> int:
        """Of all phases."""
        return self.first_test + self.test_rounds


@dataclass
class Observations:
    """What one attacker has to learn from, and is tested on.

    Attributes:
        own: features of its own batches, each (n,).
        labels: which of these have the property.
        cases: what it sees of the victim's batches of all test rounds, each (n,): for some attackers in several cases,
            that is by several ways to estimate the same features.
    """

    own: list[Tensor] = field(default_factory=list)
    labels: list[bool] = field(default_factory=list)
    cases: dict[str, list[Tensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class WatchedTraining:
    """One training, plain or double-blind, and what attackers see of it.

    Arguments:
        make: gives the network, for a `family` of its sketched layers, or None for plain ones.
        family: the sketch: of the layers in double-blind training, and in plain training of whole gradients, at the
            same b/d, by servers of the protocols of song2023 and tang2021.
        kernels: what computes.
        batches: what batches there are.
        phases: of the attack.
        rate: of the clients' steps.
    """

    make: MakeModel
    family: Family
    kernels: Kernels
    batches: PropertyBatches
    phases: Phases
    rate: Positive

    def run(
        self, parties: Parties, truth: NDArray[np.bool_], seed: int, *, blind: bool, device: str = "cpu"
    ) -> dict[str, Observations]:
        """Train, and return what every attacker has to learn from and is tested on.

        Attackers of plain training are called `plain server`, `iterative sketching` and `compressed sensing`, all
        servers, and `plain client`; those of double-blind training `server`, `server, whole reply`, `client` (cases
        `client option I` and `client option II`) and `client, open parameters`.

        Arguments:
            parties: whose batches are drawn.
            truth: which of the victim's batches have the property, (rounds,).
            seed: of the weights, sketches and kinds of the client's batches.
            blind: whether layers are sketched, as in zhang2021.
            device: where the tensors of the parties are.
        """
        make = partial(self.make, family=self.family if blind else None)
        model = initialise(make, seeds.key(seed, what="weights")).to(device).train()
        twin = make_blind(initialise(make, 0)).to(device).train()
        observer = (_BlindObserver if blind else _PlainObserver)(self, model, seed)
        random = seeds.generator(seed, what="own batches")
        message = self._broadcast(model, seed, 0)
        for t in range(self.phases.rounds):
            receive(twin, message, self.kernels)
            kinds = (random.random() * TEN < self.batches.positive, bool(truth[t]))
            replies = [
                respond(twin, client, *parties[client].draw(kind), self.rate) for client, kind in enumerate(kinds)
            ]
            own, victims = (full_steps(twin, reply) for reply in replies)
            operators = observer.operators(t) if t >= self.phases.warm_up else {}
            if self.phases.warm_up <= t < self.phases.first_test:
                self._learn(observer, twin, parties, operators)
            aggregate(model, replies)
            following = self._broadcast(model, seed, t + 1)
            if t >= self.phases.first_test:
                observer.test_server(victims, operators)
                observer.test_client(twin, message, following, own)
            message = following
        return observer.observations

    def _broadcast(self, model: nn.Module, seed: int, t: int) -> Broadcast:
        return broadcast(model, seeds.key(seed, round=t), self.kernels)

    def _learn(self, observer: "_Observer", twin: nn.Module, parties: Parties, operators: Operators) -> None:
        """Ten gradients of the server's data, and ten of the client's."""
        for place in range(TEN):
            kind = place < self.batches.positive
            reply = respond(twin, SERVER, *parties.server.draw(kind), self.rate)
            observer.learn(observer.server(full_steps(twin, reply), operators), kind)
            reply = respond(twin, CLIENT, *parties.client.draw(kind), self.rate)
            observer.learn(observer.client(full_steps(twin, reply)), kind)


class _Observer(ABC):
    """The attackers of one training, and what they have collected."""

    def __init__(self, training: WatchedTraining, model: nn.Module, seed: int) -> None:
        self.observations: dict[str, Observations] = {}
        self._training, self._seed = training, seed
        self._hidden = [f"{name}.weight" for name, _ in sketched.layers(model)]
        self._open = [name for name, _ in model.named_parameters() if name not in self._hidden]
        self._all = [*self._hidden, *self._open]
        self._size = sum(parameter.numel() for parameter in model.parameters())

    def operators(self, t: int) -> Operators:
        """What servers of other protocols sketch a whole gradient with in round t, by their names."""
        return {}

    @abstractmethod
    def server(self, steps: Weights, operators: Operators) -> ByAttacker:
        """What servers see of a client's steps: (n,) each, by attacker."""

    @abstractmethod
    def client(self, steps: Weights) -> ByAttacker:
        """The same features of known steps as `estimates` gives of the victim's: (n,) each, by attacker."""

    @abstractmethod
    def estimates(
        self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights
    ) -> Iterator[tuple[str, str, Tensor]]:
        """Attacker, case and features, (n,), of what the client sees of the victim's step between two broadcasts."""

    def learn(self, features: ByAttacker, kind: bool) -> None:
        """Note features of one of the attackers' own batches, and whether it has the property."""
        for attacker, one in features.items():
            observations = self.observations.setdefault(attacker, Observations())
            observations.own.append(one)
            observations.labels.append(kind)

    def test_server(self, steps: Weights, operators: Operators) -> None:
        """Note what servers see of the victim's steps."""
        for attacker, features in self.server(steps, operators).items():
            self._test(attacker, attacker, features)

    def test_client(self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights) -> None:
        """Note what the client sees of the victim's step between two broadcasts."""
        for attacker, case, features in self.estimates(twin, old, new, own):
            self._test(attacker, case, features)

    def _test(self, attacker: str, case: str, features: Tensor) -> None:
        self.observations[attacker].cases.setdefault(case, []).append(features)

    def _victims_steps(self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights, option: Option) -> Weights:
        """The client's estimate of the victim's step."""
        return of_the_other(update(twin, old, new, option, self._training.kernels), own)


class _PlainObserver(_Observer):
    """Everybody sees whole gradients, but for servers that get sketches of them."""

    def operators(self, t: int) -> Operators:
        family = sketched.resize(self._training.family, self._size)
        draw = partial(family.draw, kernels=self._training.kernels)
        return {
            "iterative sketching": draw(seeds.key(self._seed, what="iterative", round=t)),  # fresh in every round
            "compressed sensing": draw(seeds.key(self._seed, what="compressed")),  # one for all rounds
        }

    def server(self, steps: Weights, operators: Operators) -> ByAttacker:
        whole = flattened(steps, self._all)
        views = {"plain server": whole}
        for name, operator in operators.items():
            message = autograd.sketch(operator, whole)
            views[name] = autograd.desketch(operator, message) if name == "iterative sketching" else message
        return views

    def client(self, steps: Weights) -> ByAttacker:
        return {"plain client": flattened(steps, self._all)}

    def estimates(
        self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights
    ) -> Iterator[tuple[str, str, Tensor]]:
        victims = self._victims_steps(twin, old, new, own, "I")  # nothing is hidden, so either option is exact
        yield "plain client", "plain client", flattened(victims, self._all)


class _BlindObserver(_Observer):
    """The server sees Γ Sᵀ of sketched layers, a client only estimates; all other parameters are open to both."""

    def server(self, steps: Weights, operators: Operators) -> ByAttacker:
        return {
            "server": flattened(steps, self._hidden),
            "server, whole reply": flattened(steps, self._all),
        }

    def client(self, steps: Weights) -> ByAttacker:
        return {
            "client": flattened(steps, self._hidden),
            "client, open parameters": flattened(steps, self._open),
        }

    def estimates(
        self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights
    ) -> Iterator[tuple[str, str, Tensor]]:
        estimates = {option: self._victims_steps(twin, old, new, own, option) for option in OPTIONS}
        for option, victims in estimates.items():
            yield "client", f"client option {option}", flattened(victims, self._hidden)
        exact = flattened(estimates["I"], self._open)  # either option has the open parameters as they are
        yield "client, open parameters", "client, open parameters", exact

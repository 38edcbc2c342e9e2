"""Training by two clients, observed by the server and by one of the clients (zhang2021 §6.3 and Appendix A.2).

The attacker wants to know which of the victim's batches have a property. In every round both clients take one step on
one batch. In some rounds the attacker computes gradients of its own batches, whose property it knows, with the model of
the round. In later rounds it collects its view of the victim's gradients. A classifier such as
`attack.property.RandomForest` learns from the attacker's gradients, and is tested on the victim's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sketchbench.attack.messages import estimate_update, flatten, full_steps, step_of_other_client
from sketchbench.attack.property_batches import TEN, Party, PropertyBatches
from sketchbench.attack.weight_filter import WeightFilter
from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Natural, Positive, Range, checked
from sketchbench.federated.double_blind import (
    OPTIONS,
    BlindReply,
    Broadcast,
    Option,
    Weights,
    aggregate,
    broadcast,
    receive,
    respond,
)
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.arrays import check_array
from sketchbench.learning.model import autograd, sketched
from sketchbench.learning.model.blind import make_blind
from sketchbench.learning.model.networks import MakeModel, initialise
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch

REMEMBERING = "client, remembering"  # the attacker that follows the weights over all rounds
CLIENT, SERVER = 0, 2  # indices of the attackers among the parties; the victim is 1

ByAttacker = dict[str, Tensor]  # features, (n,), by the attacker's name
Operators = Mapping[str, Sketch]


class Parties(NamedTuple):
    """The data of the attacking client and of the victim, who train, and of the server, who also attacks."""

    client: Party
    victim: Party
    server: Party


@dataclass(frozen=True)
class Phases(Checked):
    """The numbers of rounds in which the attacker waits, learns and is tested."""

    warm_up: Natural  # rounds before the attack
    fit_rounds: Count  # rounds in which the attacker learns, each from ten of its own batches
    test_rounds: Annotated[int, Range(TEN)]  # rounds in which the attacker is tested on the victim's batch

    @property
    def first_test(self) -> int:
        """The first round in which the attacker is tested."""
        return self.warm_up + self.fit_rounds

    @property
    def rounds(self) -> int:
        """The number of rounds of all phases."""
        return self.first_test + self.test_rounds


@dataclass
class Observations:
    """The data for training and testing one attacker. `cases` holds the same features, estimated in several ways."""

    own: list[Tensor] = field(default_factory=list)  # features of the attacker's own batches, each (n,)
    labels: list[bool] = field(default_factory=list)  # whether each of these batches has the property
    cases: dict[str, list[Tensor]] = field(default_factory=dict)  # features of test rounds' batches, (n,)


@dataclass(frozen=True)
class WatchedTraining(Checked):
    """One training, plain or double-blind, and the observations of its attackers. `family`: of the layers' sketches in
    double-blind training; in plain training, at the same b/d, of the sketches of whole gradients in the protocols of
    song2023 and tang2021."""

    make: MakeModel  # makes the network with layers sketched by `family`, or with plain layers for family=None
    family: Family
    kernels: Kernels  # backend of the sketches
    batches: PropertyBatches  # the size of batches, and how many have the property
    phases: Phases  # of the attack
    rate: Positive  # learning rate of the clients

    @checked
    def run(
        self, parties: Parties, truth: NDArray[np.bool_], seed: int, *, blind: bool, device: str = "cpu"
    ) -> dict[str, Observations]:
        """Train, and return the observations of every attacker, by name.

        The attackers of plain training are the servers `plain server`, `iterative sketching` and `compressed sensing`,
        and `plain client`. The attackers of double-blind training are `server`, `server, whole reply`, `client` (cases
        `client option I` and `client option II`), `client, remembering` and `client, open parameters`.

        Arguments:
            parties: draw the batches.
            truth: whether the victim's batch of each round has the property, (rounds,).
            seed: of the weights, the sketches, and the property of the client's batches.
            blind: whether layers are sketched, as in zhang2021.
            device: of the parties' tensors.
        """
        check_array("truth", truth, bool, "rounds")
        if len(truth) != self.phases.rounds:
            raise ValueError(f"truth has {len(truth)} rounds; the phases have {self.phases.rounds}")
        make = partial(self.make, family=self.family if blind else None)
        model = initialise(make, seeds.key(seed, what="weights")).to(device).train()
        twin = make_blind(initialise(make, 0)).to(device).train()
        answer = partial(respond, twin, rate=self.rate, named=dict(twin.named_parameters()))
        observer = (_BlindObserver if blind else _PlainObserver)(self, model, seed)
        random = seeds.generator(seed, what="own batches")
        message = self._broadcast(model, seed, 0)
        for t in range(self.phases.rounds):
            receive(twin, message, self.kernels)
            kinds = (random.random() * TEN < self.batches.positive, bool(truth[t]))
            replies = [answer(client, *parties[client].draw(kind)) for client, kind in enumerate(kinds)]
            own, victims = (full_steps(twin, reply) for reply in replies)
            operators = observer.operators(t) if t >= self.phases.warm_up else {}
            if self.phases.warm_up <= t < self.phases.first_test:
                self._learn(observer, twin, answer, parties, operators)
            aggregate(model, replies)
            following = self._broadcast(model, seed, t + 1)
            observer.follow(twin, message, following, own)
            if t >= self.phases.first_test:
                observer.test_server(victims, operators)
                observer.test_client(twin, message, following, own)
            message = following
        return observer.observations

    def _broadcast(self, model: nn.Module, seed: int, t: int) -> Broadcast:
        return broadcast(model, seeds.key(seed, round=t), self.kernels)

    def _learn(
        self,
        observer: "_Observer",
        twin: nn.Module,
        answer: Callable[..., BlindReply],
        parties: Parties,
        operators: Operators,
    ) -> None:
        """Let the attackers learn from ten gradients of the server's data, and ten of the client's."""
        for place in range(TEN):
            kind = place < self.batches.positive
            reply = answer(SERVER, *parties.server.draw(kind))
            observer.learn(observer.server(full_steps(twin, reply), operators), kind)
            reply = answer(CLIENT, *parties.client.draw(kind))
            observer.learn(observer.client(full_steps(twin, reply)), kind)


class _Observer(ABC):
    """The attackers of one training, and their observations so far."""

    def __init__(self, training: WatchedTraining, model: nn.Module, seed: int) -> None:
        self.observations: dict[str, Observations] = {}
        self._training, self._seed = training, seed
        self._hidden = [f"{name}.weight" for name, _ in sketched.layers(model)]
        self._open = [name for name, _ in model.named_parameters() if name not in self._hidden]
        self._all = [*self._hidden, *self._open]
        self._size = sum(parameter.numel() for parameter in model.parameters())

    def operators(self, t: int) -> Operators:
        """The operators with which protocols sketch a whole gradient in round t, by the attacker's name."""
        return {}

    @abstractmethod
    def server(self, steps: Weights, operators: Operators) -> ByAttacker:
        """The features (n,) of a client's steps that servers see, by attacker."""

    @abstractmethod
    def client(self, steps: Weights) -> ByAttacker:
        """The features (n,) of known steps, by attacker; `estimates` has them for the victim's steps."""

    @abstractmethod
    def estimates(
        self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights
    ) -> Iterator[tuple[str, str, Tensor]]:
        """Yield the client's estimates of the victim's step between broadcasts: attacker, case and features (n,)."""

    def follow(self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights) -> None:
        """Let the client remember a round: its broadcast, the next one, and its own steps in between. By default it has
        nothing to remember."""
        return

    def learn(self, features: ByAttacker, kind: bool) -> None:
        """Add the features of an attacker's own batch, and whether it has the property (`kind`)."""
        for attacker, one in features.items():
            observations = self.observations.setdefault(attacker, Observations())
            observations.own.append(one)
            observations.labels.append(kind)

    def test_server(self, steps: Weights, operators: Operators) -> None:
        """Add the features of the victim's steps that servers see."""
        for attacker, features in self.server(steps, operators).items():
            self._test(attacker, attacker, features)

    def test_client(self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights) -> None:
        """Add the client's estimates of the victim's step between two broadcasts."""
        for attacker, case, features in self.estimates(twin, old, new, own):
            self._test(attacker, case, features)

    def _test(self, attacker: str, case: str, features: Tensor) -> None:
        self.observations[attacker].cases.setdefault(case, []).append(features)

    def _victims_steps(self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights, option: Option) -> Weights:
        """The client's estimate of the victim's step between two broadcasts, by an option of zhang2021 §6.3."""
        return step_of_other_client(estimate_update(twin, old, new, option, self._training.kernels), own)


class _PlainObserver(_Observer):
    """Attackers of plain training: all see whole gradients, except servers of protocols that sketch them."""

    def operators(self, t: int) -> Operators:
        family = sketched.resize(self._training.family, self._size)
        draw = partial(family.draw, kernels=self._training.kernels)
        return {
            "iterative sketching": draw(seeds.key(self._seed, what="iterative", round=t)),  # fresh in every round
            "compressed sensing": draw(seeds.key(self._seed, what="compressed")),  # one for all rounds
        }

    def server(self, steps: Weights, operators: Operators) -> ByAttacker:
        whole = flatten(steps, self._all)
        views = {"plain server": whole}
        for name, operator in operators.items():
            message = autograd.sketch(operator, whole)
            views[name] = autograd.desketch(operator, message) if name == "iterative sketching" else message
        return views

    def client(self, steps: Weights) -> ByAttacker:
        return {"plain client": flatten(steps, self._all)}

    def estimates(
        self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights
    ) -> Iterator[tuple[str, str, Tensor]]:
        victims = self._victims_steps(twin, old, new, own, "I")  # both options are exact without sketched layers
        yield "plain client", "plain client", flatten(victims, self._all)


class _BlindObserver(_Observer):
    """Attackers of double-blind training: the server sees Γ Sᵀ of sketched layers, a client sees estimates; both see
    the gradients of all other parameters. A client that remembers follows the weights over all rounds."""

    def __init__(self, training: WatchedTraining, model: nn.Module, seed: int) -> None:
        super().__init__(training, model, seed)
        self._filters = {
            name: WeightFilter(len(weight), weight[0].numel(), weight.device)
            for name, weight in model.named_parameters()
            if name in self._hidden
        }
        self._sketches: Weights = {}  # of the last broadcast that the client followed
        self._victims: Weights = {}  # the client's estimates of the victim's last steps

    def follow(self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights) -> None:
        if not self._sketches:  # the first round
            self._observe(twin, old)
        for name, weights in self._filters.items():
            weights.step(own[name].flatten(1), self._sketches[name])
        self._victims = {name: step.view_as(own[name]).to(own[name]) for name, step in self._observe(twin, new).items()}

    def _observe(self, twin: nn.Module, message: Broadcast) -> Weights:
        """Take in a broadcast; return the estimates of the victim's last steps."""
        self._sketches = self._sketches_of(twin, message)
        return {
            name: weights.observe(message.weights[name], self._sketches[name])
            for name, weights in self._filters.items()
        }

    def _sketches_of(self, twin: nn.Module, message: Broadcast) -> Weights:
        """The sketches S (d, s) of a broadcast, by the names of the weights."""
        kernels, sketches = self._training.kernels, {}
        for name, layer in sketched.layers(twin):
            operator = layer.family.draw(sketched.layer_key(message.key, name), kernels=kernels)
            matrix = torch.as_tensor(operator.materialize(), device=message.weights[f"{name}.weight"].device)
            sketches[f"{name}.weight"] = matrix.T
        return sketches

    def server(self, steps: Weights, operators: Operators) -> ByAttacker:
        return {
            "server": flatten(steps, self._hidden),
            "server, whole reply": flatten(steps, self._all),
        }

    def client(self, steps: Weights) -> ByAttacker:
        hidden = flatten(steps, self._hidden)
        return {"client": hidden, REMEMBERING: hidden, "client, open parameters": flatten(steps, self._open)}

    def estimates(
        self, twin: nn.Module, old: Broadcast, new: Broadcast, own: Weights
    ) -> Iterator[tuple[str, str, Tensor]]:
        estimates = {option: self._victims_steps(twin, old, new, own, option) for option in OPTIONS}
        for option, victims in estimates.items():
            yield "client", f"client option {option}", flatten(victims, self._hidden)
        yield REMEMBERING, REMEMBERING, flatten(self._victims, self._hidden)
        exact = flatten(estimates["I"], self._open)  # equal for both options
        yield "client, open parameters", "client, open parameters", exact

"""Federated averaging, plain or double-blind: some clients train locally, and the server averages their steps."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Natural, Positive, Range, Share, checked
from sketchbench.federated.adam import LocalAdam
from sketchbench.federated.double_blind import (
    BlindReply,
    Broadcast,
    Weights,
    aggregate,
    broadcast,
    receive,
    respond,
)
from sketchbench.federated.fedavg_conditions import check_federation
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.partition import Parts
from sketchbench.learning.model.autograd import desketch, sketch
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.sketched import operators
from sketchbench.sketch.operator import Sketch

LocalStepping = Literal["weights", "sketch"]
Optimiser = Literal["sgd", "adam"]
Momentum = Annotated[float, Range(0, 1, open_high=True)]
Rounds = Generator["FedAvgRound", list[BlindReply] | None, None]


class FedAvgState(NamedTuple):
    """The state at the start of round t, from which a stopped training resumes.

    Arguments:
        weights: the server's weights by parameter.
        bytes_up, bytes_down: bytes sent and received so far by all clients together.
    """

    t: int
    weights: Weights
    bytes_up: int
    bytes_down: int


class FedAvgRound(NamedTuple):
    """The start of round t = 0, 1, ..., T.

    Arguments:
        model: the server's model, one object that changes from round to round.
        broadcast: the message to the clients of this round.
        replies: of the clients of the previous round.
        state: from which a stopped training resumes.
    """

    t: int
    model: nn.Module
    broadcast: Broadcast
    replies: list[BlindReply]
    state: FedAvgState


@dataclass(frozen=True)
class FedAvg(Checked):
    """In each round some clients train on their samples by stochastic gradient descent (McMahan et al. 2017). The
    sketches of a round are drawn once, so that all its local steps are in the same sketched space.

    Arguments:
        rate: the learning rate.
        epochs: of local training in a round.
        batch: samples of a local step.
        participation: the share of the clients in a round, chosen uniformly at random.
        local_step: `sketch` steps W̃ ← W̃ - η Γ; `weights` steps W ← W - η Γ Sᵀ, like training with full weights. On
            the client this is W̃ ← W̃ - η Γ SᵀS, about d/s times as long. A first local step has the same Γ either way.
            zhang2021 §4.2 defines a single step; the listing of its Appendix E amounts to `weights`.
        momentum: of local steps (heavy ball): the factor of the last step that is added to the next. Each round starts
            with no momentum, as clients keep nothing between rounds.
        optimiser: of local steps: `sgd`, or `adam` (see `LocalAdam`), which restarts in each round, and has no other
            momentum.
    """

    rate: Positive
    epochs: Count = 1
    batch: Count = 10
    participation: Share = 0.1
    local_step: LocalStepping = "sketch"
    momentum: Momentum = 0.0
    optimiser: Optimiser = "sgd"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimiser == "adam" and self.momentum:
            raise ValueError(f"momentum={self.momentum} must be 0 with optimiser=adam, which has its own")

    @checked
    def run(
        self,
        model: nn.Module,
        twin: nn.Module,
        samples: Samples,
        parts: Parts,
        seed: int,
        *,
        rounds: Natural,
        kernels: Kernels,
        state: FedAvgState | None = None,
    ) -> Rounds:
        """Yield rounds 0 to T of a training, or rounds from a state on. All is checked before the first round. Replies
        that are sent to the generator replace those of this round's clients.

        Arguments:
            model: the server's.
            twin: a client's: `blind.make_blind` of another instance of the model.
            samples: of all clients.
            parts: the indices of each client's samples, at least one; fewer than `batch` samples are one batch.
            seed: of all randomness, which depends on it and the round only.
            rounds: T.
            kernels: backend of the sketches.
            state: of an earlier run, to resume from as if it had not been stopped.

        Raises ValueError for a model with buffers, for models, samples and parts that don't fit together (see
        `fedavg_conditions.check_federation`), and for a state after the last round.
        """
        check_federation(model, twin, samples, parts)
        seeds.key(seed)
        if state is not None and not 0 <= state.t <= rounds:
            raise ValueError(f"a state after {state.t} rounds must be one of 0 to rounds={rounds}")
        return self._rounds(model, twin, samples, parts, seed, rounds, kernels, state)

    def _rounds(
        self,
        model: nn.Module,
        twin: nn.Module,
        samples: Samples,
        parts: Parts,
        seed: int,
        rounds: int,
        kernels: Kernels,
        state: FedAvgState | None,
    ) -> Rounds:
        t, up, down = 0, 0, 0
        if state is not None:
            t, weights, up, down = state
            model.load_state_dict(weights)
        model.train()
        twin.train()
        replies: list[BlindReply] = []
        while True:
            message = broadcast(model, seeds.key(seed, what="sketch", round=t), kernels)
            weights = {name: value.clone() for name, value in model.state_dict().items()}
            given = yield FedAvgRound(t, model, message, replies, FedAvgState(t, weights, up, down))
            if t >= rounds:
                return
            replies = given or [
                self._train_client(twin, message, client, samples, parts[client], seed, t, kernels)
                for client in self.choose_clients(len(parts), seed, t)
            ]
            aggregate(model, replies)
            up += sum(reply.nbytes for reply in replies)
            down += message.nbytes * len(replies)
            t += 1

    def choose_clients(self, clients: int, seed: int, t: int) -> list[int]:
        """Draw the clients of round t, at least one, in ascending order."""
        count = max(1, round(self.participation * clients))
        random = seeds.generator(seed, what="participants", round=t)
        return sorted(random.choice(clients, count, replace=False).tolist())

    def draw_local(self, samples: int, seed: int, t: int, client: int) -> tuple[int, list[NDArray[np.int64]]]:
        """Draw a client's randomness in round t: the seed of dropout, and the order of its samples in each epoch."""
        random = seeds.generator(seed, what="local", round=t, client=client)
        return int(random.integers(2**63)), [random.permutation(samples) for _ in range(self.epochs)]

    def _train_client(
        self,
        twin: nn.Module,
        message: Broadcast,
        client: int,
        samples: Samples,
        part: np.ndarray,
        seed: int,
        t: int,
        kernels: Kernels,
    ) -> BlindReply:
        receive(twin, message, kernels)
        dropout, orders = self.draw_local(len(part), seed, t, client)
        places = torch.from_numpy(np.ascontiguousarray(part)).to(samples.labels.device)
        images, labels = samples.images[places], samples.labels[places]
        through = operators(twin) if self.local_step == "weights" else {}
        named = dict(twin.named_parameters())
        total = {name: torch.zeros_like(value) for name, value in named.items()}
        last: Weights = {}
        adam = LocalAdam(self.rate) if self.optimiser == "adam" else None
        rate = 1.0 if adam else self.rate
        with torch.random.fork_rng():  # for dropout
            torch.manual_seed(dropout)
            for order in orders:
                for batch in torch.split(torch.from_numpy(order).to(labels.device), self.batch):
                    steps = respond(twin, client, images[batch], labels[batch], rate, named).steps
                    if adam:
                        steps = adam.steps(steps)
                    for name, before in last.items():
                        steps[name].add_(before, alpha=self.momentum)
                    last = steps if self.momentum else {}
                    _move(named, steps, through)
                    for name, step in steps.items():
                        total[name] += step
        return BlindReply(client, len(part), total)


def _move(named: Mapping[str, Tensor], steps: Weights, through: Mapping[str, Sketch]) -> None:
    """Take a local step of the parameters; steps of parameters with an operator S are multiplied by Sᵀ S."""
    with torch.no_grad():
        for name, parameter in named.items():
            step, operator = steps[name], through.get(name)
            parameter.sub_(step if operator is None else sketch(operator, desketch(operator, step)))

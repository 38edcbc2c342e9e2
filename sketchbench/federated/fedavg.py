"""Federated averaging, open or double-blind: some clients train for a while, and the server averages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import nn

from sketchbench import seeds
from sketchbench.dataset.partition import Parts
from sketchbench.federated.double_blind import (
    Broadcast,
    Reply,
    Weights,
    aggregate,
    broadcast,
    receive,
    respond,
)
from sketchbench.kernels import Kernels
from sketchbench.model.autograd import desketch, sketch
from sketchbench.model.classification import Samples
from sketchbench.model.sketched import operators
from sketchbench.sketch.operator import Sketch

LocalStep = Literal["weights", "sketch"]


class State(NamedTuple):
    """All that the rounds from t on depend on, beside what they are given: the server's weights. And what was
    sent so far, in bytes, over all clients."""

    t: int
    weights: Weights
    bytes_up: int
    bytes_down: int


class Round(NamedTuple):
    """What there is at the start of round t = 0, 1, ..., `rounds`.

    model: the server's, which goes on changing. broadcast: what the clients of this round are sent, `replies`:
    what those of the round before have returned. state: to go on from here.
    """

    t: int
    model: nn.Module
    broadcast: Broadcast
    replies: list[Reply]
    state: State


@dataclass(frozen=True)
class FedAvg:
    """In a round a share `participation` of the clients, chosen uniformly, trains by stochastic gradient
    descent of step `rate` on its own samples, for so many `epochs` in batches of `batch` (McMahan et al. 2017).

    The sketches of a round are drawn once, so that the local steps all are in the same sketched space.
    local_step: `sketch` is W̃ ← W̃ - η Γ; `weights` is the step that training with full weights would take
    through these sketches, W ← W - η Γ Sᵀ, of which a client sees W̃ ← W̃ - η Γ SᵀS, about d/s times as long.
    A single local step gives the same Γ either way; zhang2021 §4.2 defines no more than one, and the listing of
    its Appendix E leads to `weights`.
    """

    rate: float
    epochs: int = 1
    batch: int = 10
    participation: float = 0.1
    local_step: LocalStep = "sketch"

    def __post_init__(self) -> None:
        if not 0 < self.rate < float("inf"):
            raise ValueError(f"rate={self.rate} must be > 0 and finite")
        if self.epochs < 1 or self.batch < 1:
            raise ValueError(f"epochs={self.epochs} and batch={self.batch} must be >= 1")
        if not 0 < self.participation <= 1:
            raise ValueError(f"participation={self.participation} must satisfy 0 < it <= 1")
        if self.local_step not in get_args(LocalStep):
            known = ", ".join(get_args(LocalStep))
            raise ValueError(f"local_step={self.local_step} is unknown; choose one of {known}")

    def run(
        self,
        model: nn.Module,
        twin: nn.Module,
        samples: Samples,
        parts: Parts,
        seed: int,
        *,
        rounds: int,
        state: State | None = None,
        kernels: str | Kernels | None = None,
    ) -> Iterator[Round]:
        """Rounds 0 to `rounds`, or from that of `state` on.

        model: the server's; twin: a client's (`blind.blinded` of another instance). parts: the indices of
        each client's samples. All randomness follows from the seed and the round, so a run that goes on from a
        state is the same as one that was never stopped.
        """
        if next(model.buffers(), None) is not None:
            raise ValueError(
                "a model with batch normalisation or other buffers can't be averaged; choose another model, or "
                "the task compressed_training"
            )
        t, up, down = 0, 0, 0
        if state is not None:
            t, weights, up, down = state
            model.load_state_dict(weights)
        model.train()
        twin.train()
        replies: list[Reply] = []
        while True:
            message = broadcast(model, seeds.key(seed, what="sketch", round=t), kernels)
            weights = {name: value.clone() for name, value in model.state_dict().items()}
            yield Round(t, model, message, replies, State(t, weights, up, down))
            if t >= rounds:
                return
            chosen = self._chosen(len(parts), seed, t)
            replies = [
                self._reply(twin, message, client, samples, parts[client], seed, t, kernels) for client in chosen
            ]
            aggregate(model, replies)
            up += sum(reply.nbytes for reply in replies)
            down += message.nbytes * len(replies)
            t += 1

    def _chosen(self, clients: int, seed: int, t: int) -> list[int]:
        """The clients of a round, at least one."""
        count = max(1, round(self.participation * clients))
        random = seeds.generator(seed, what="participants", round=t)
        return sorted(random.choice(clients, count, replace=False).tolist())

    def _reply(
        self,
        twin: nn.Module,
        message: Broadcast,
        client: int,
        samples: Samples,
        part: np.ndarray,
        seed: int,
        t: int,
        kernels: str | Kernels | None,
    ) -> Reply:
        """Local training of one client."""
        receive(twin, message, kernels)
        random = seeds.generator(seed, what="local", round=t, client=client)
        own = torch.from_numpy(part).to(samples.labels.device)
        images, labels = samples.images[own], samples.labels[own]
        through = operators(twin) if self.local_step == "weights" else {}
        total = {name: torch.zeros_like(value) for name, value in twin.named_parameters()}
        with torch.random.fork_rng():  # for dropout
            torch.manual_seed(int(random.integers(2**63)))
            for _ in range(self.epochs):
                order = torch.from_numpy(random.permutation(len(part))).to(labels.device)
                for batch in torch.split(order, self.batch):
                    reply = respond(twin, client, images[batch], labels[batch], self.rate)
                    _move(twin, reply.steps, through)
                    for name, step in reply.steps.items():
                        total[name] += step
        return Reply(client, len(part), total)


def _move(twin: nn.Module, steps: Weights, through: Mapping[str, Sketch]) -> None:
    """A local step, and where there are operators S, that times Sᵀ S."""
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            step, operator = steps[name], through.get(name)
            parameter.sub_(step if operator is None else sketch(operator, desketch(operator, step)))

"""A training by FedAvg, open or double-blind, with what a client can make of the server's updates."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, Split
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import Option, Weights, estimated_weights
from sketchbench.federated.experiment import Experiment
from sketchbench.federated.fedavg import FedAvg, FedAvgRound, FedAvgState, LocalStepping, Momentum
from sketchbench.kernels import Kernels
from sketchbench.model import classification, sketched
from sketchbench.model.autograd import device_of
from sketchbench.model.blind import make_blind
from sketchbench.model.classification import Samples
from sketchbench.model.networks import MakeModel, initialise
from sketchbench.model.precision import Precision, precision_context
from sketchbench.parameters import Checked, Count, Share
from sketchbench.sketch.family import Family

OPTIONS: tuple[Option, ...] = ("I", "II")
PLAIN = "plain"  # stands for the option where no layer is sketched
FALSE_POSITIVES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class FedAvgProcedure(Checked):
    """How a network is trained by FedAvg, whatever the learning rate.

    Arguments:
        participation, epochs, batch, local_step, momentum: as for `FedAvg`.
        precision: see `model.precision`.
    """

    participation: Share
    epochs: Count
    batch: Count
    local_step: LocalStepping
    precision: Precision
    momentum: Momentum = 0.0

    def restricted(self, participation: float) -> "FedAvgProcedure":
        """The same with at most this share of the clients in a round."""
        return replace(self, participation=min(participation, self.participation))


class Successive(NamedTuple):
    """Round t and the one before it; None at the first one."""

    t: int
    before: FedAvgRound | None
    now: FedAvgRound


@dataclass(frozen=True, kw_only=True)
class FedAvgExperiment(Experiment[Successive]):
    """FedAvg of one network. Its curve has the bytes of all clients together, those of every message, and

    `accuracy`, `loss`: on the test samples; for two classes also `auc`, the area under the ROC curve, and `roc`;
    `error I`, `cosine I`, `error II`, `cosine II`, after the rounds `estimated` and where layers are sketched: how far
    a client's estimate Δ̂ by either option (zhang2021 §6.3) is from what the round before did to the sketched layers'
    weights, Δ: ‖Δ̂ - Δ‖/‖Δ‖, and the absolute cosine of the angle between them;
    `error plain`, `cosine plain`, where none are: the same of all weights, which a client then sees as they are.

    It never counts as diverged: a network that has overflown is evaluated as it is.

    Arguments:
        kernels: of the sketches; their device trains.
        seed: root of all randomness of this training.
        data: the samples.
        partition: deals the training samples out to the clients.
        model: as a config of conf/model gives it.
        family: of the sketched layers; None for a plain network.
        procedure, rate: of the training.
        estimated: the rounds, from 1 on, with a client's estimates.
    """

    kernels: Kernels
    seed: int
    data: Dataset
    partition: MakeParts
    model: MakeModel
    family: Family | None
    procedure: FedAvgProcedure
    rate: float
    estimated: Sequence[int] = ()

    def run(self) -> Curve:
        with precision_context(self.procedure.precision, device_of(self.kernels)):
            return super().run()

    @property
    def make(self) -> Callable[[], nn.Module]:
        """Makes the network."""
        return partial(self.model, shape=self.data.shape, classes=self.data.classes, family=self.family)

    @property
    def algorithm(self) -> FedAvg:
        """FedAvg with the learning rate."""
        how = self.procedure
        return FedAvg(self.rate, how.epochs, how.batch, how.participation, how.local_step, how.momentum)

    @cached_property
    def _test(self) -> Samples:
        return self._samples(self.data.test)

    @cached_property
    def _twin(self) -> nn.Module:
        """A client's network."""
        return make_blind(initialise(self.make, 0)).to(device_of(self.kernels))

    def _identity(self) -> tuple[Any, ...]:
        network = (self.make, self.procedure.precision, self.kernels.NAME)
        return (self.algorithm, self.seed, self.data.digest, self.partition, *network, tuple(self.estimated))

    def _samples(self, split: Split) -> Samples:
        device = device_of(self.kernels)
        images = torch.tensor(split.images, device=device).float() / self.data.white
        images = images.contiguous(memory_format=torch.channels_last)  # faster convolutions
        return Samples(images, torch.tensor(split.labels, device=device))

    def _states(self, packed: Any | None) -> Iterator[Successive]:
        model = initialise(self.make, seeds.key(self.seed, what="weights")).to(device_of(self.kernels))
        train = self._samples(self.data.train)
        parts = self.partition(labels=self.data.train.labels, seed=self.seed)
        state = FedAvgState(*packed) if packed else None
        rounds = self.algorithm.run(
            model, self._twin, train, parts, self.seed, rounds=self.rounds, kernels=self.kernels, state=state
        )
        for before, now in itertools.pairwise(itertools.chain([None], rounds)):
            assert now is not None
            yield Successive(now.t, before, now)

    def _packed(self, at: Successive) -> Any:
        return tuple(at.now.state)

    def _evaluate(self, at: Successive, curve: Curve) -> None:
        now, labels = at.now, self._test.labels
        scores = classification.scores(now.model, self._test.images)
        values = {"accuracy": classification.accuracy(scores, labels)}
        values["loss"] = float(classification.loss(scores, labels))
        if self.data.classes == 2:
            values["auc"] = classification.area_under_roc(scores, labels)
            curve.roc = classification.true_positives(scores, labels, FALSE_POSITIVES)
        if at.before and at.t in self.estimated:
            values |= self._estimates(at.before, now)
        curve.parameters = sum(parameter.numel() for parameter in now.model.parameters())
        curve.add(at.t, values, now.state.bytes_up, now.state.bytes_down)
        curve.broadcasts.append(now.broadcast.nbytes)
        curve.replies += [reply.nbytes for reply in now.replies]

    def _estimates(self, before: FedAvgRound, now: FedAvgRound) -> dict[str, float]:
        """The error and the cosine by each option, of all sketched layers together, or of all layers if none are."""
        messages = (before.broadcast, now.broadcast)
        names = [f"{name}.weight" for name, _ in sketched.layers(now.model)]
        estimates: dict[str, list[Weights]] = {
            option: [estimated_weights(self._twin, message, option, self.kernels) for message in messages]
            for option in OPTIONS
            if names
        }
        if not names:
            names = list(now.state.weights)
            estimates = {PLAIN: [{name: message.weights[name] for name in names} for message in messages]}
        truth = _joined({name: before.state.weights[name] - now.state.weights[name] for name in names})
        values = {}
        for option, (old, new) in estimates.items():
            estimate = _joined(old) - _joined(new)
            values[f"error {option}"] = float((estimate - truth).norm() / truth.norm())
            values[f"cosine {option}"] = float(abs(estimate @ truth) / (estimate.norm() * truth.norm()))
        return values


def _joined(weights: Weights) -> Tensor:
    return torch.cat([value.flatten() for value in weights.values()]).double()

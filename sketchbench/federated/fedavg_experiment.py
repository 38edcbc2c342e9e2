"""Training of a network by FedAvg, plain or double-blind, with a client's estimates of the server's updates."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sketchbench.base import seeds
from sketchbench.base.parameters import Count, Natural, Positive, Share
from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import OPTIONS, Weights, estimated_weights
from sketchbench.federated.experiment import Experiment
from sketchbench.federated.fedavg import (
    FedAvg,
    FedAvgRound,
    FedAvgState,
    LocalStepping,
    Momentum,
    Optimiser,
    Rounds,
)
from sketchbench.federated.tuning import Procedure
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.dataset.partition import MakeParts, Parts, deal
from sketchbench.learning.model import classification, sketched
from sketchbench.learning.model.autograd import device_of
from sketchbench.learning.model.blind import make_blind
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import MakeModel, initialise
from sketchbench.learning.model.precision import Precision, precision_context
from sketchbench.sketch.family import Family

PLAIN = "plain"  # option of a network without sketched layers
FALSE_POSITIVES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class FedAvgProcedure(Procedure):
    """The training of a network by FedAvg, for any learning rate.

    Arguments:
        participation, epochs, batch, local_step, momentum, optimiser: as for `FedAvg`.
        precision: see `model.precision`.
    """

    participation: Share
    epochs: Count
    batch: Count
    local_step: LocalStepping
    precision: Precision
    momentum: Momentum = 0.0
    optimiser: Optimiser = "sgd"


class Successive(NamedTuple):
    """Round t, and the round before it, which is None for the first round of a run."""

    t: int
    before: FedAvgRound | None
    now: FedAvgRound


@dataclass(frozen=True, kw_only=True)
class FedAvgExperiment(Experiment[Successive]):
    """FedAvg of one network.

    Its curve has the bytes of all clients together, the bytes of every message, and the quantities

    `accuracy`, `loss`: on the test samples; for two classes also `auc`, the area under the ROC curve, and `roc`;
    `error I`, `cosine I`, `error II`, `cosine II`, after the rounds `estimated`, of a network with sketched layers: ‖Δ̂
    - Δ‖/‖Δ‖, and the absolute cosine of the angle between Δ̂ and Δ. Δ is the last round's change of these layers'
    weights, and Δ̂ a client's estimate by option I or II (zhang2021 §6.3);
    `error plain`, `cosine plain`: the same for a network without sketched layers, whose weights a client sees in full.

    A training never counts as diverged: a network with overflown weights is evaluated, too.
    """

    kernels: Kernels  # backend of the sketches; the network is trained on its device
    seed: int  # root of all randomness of this training
    data: Dataset  # the samples
    partition: MakeParts  # deals the training samples out to the clients
    model: MakeModel  # makes the network; a config of conf/model
    family: Family | None  # of the sketches of the layers; None for a plain network
    procedure: FedAvgProcedure  # of the training
    rate: Positive  # the learning rate
    estimated: Sequence[Natural] = ()  # the rounds, from 1 on, after which a client's estimates are measured

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data.classes == 2 and len(present := np.unique(self.data.test.labels)) < 2:
            raise ValueError(
                f"{self.data.label}: all test images have label {present[0]}, and the area under a ROC curve "
                "needs both classes; use more test images"
            )

    def run(self) -> Curve:
        with precision_context(self.procedure.precision, device_of(self.kernels)):
            return super().run()

    @property
    def make(self) -> Callable[[], nn.Module]:
        return partial(self.model, shape=self.data.shape, classes=self.data.classes, family=self.family)

    @property
    def algorithm(self) -> FedAvg:
        how = self.procedure
        local = (how.local_step, how.momentum, how.optimiser)
        return FedAvg(self.rate, how.epochs, how.batch, how.participation, *local)

    @cached_property
    def _test(self) -> Samples:
        return self._samples(self.data.test)

    @cached_property
    def twin(self) -> nn.Module:
        """A client's network, into which broadcasts are loaded."""
        return make_blind(initialise(self.make, 0, self.data.shape)).to(device_of(self.kernels))

    def _identity(self) -> tuple[Any, ...]:
        network = (self.make, self.procedure.precision, self.kernels.NAME)
        return (self.algorithm, self.seed, self.data.digest, self.partition, *network, tuple(self.estimated))

    def _samples(self, split: Split) -> Samples:
        device = device_of(self.kernels)
        images = torch.tensor(split.images, device=device).float() / self.data.white
        images = images.contiguous(memory_format=torch.channels_last)  # faster convolutions
        return Samples(images, torch.tensor(split.labels, device=device))

    @cached_property
    def parts(self) -> Parts:
        """The indices of each client's training samples."""
        return deal(self.partition, self.data.train.labels, self.seed, self.data.users)

    def rounds_from(self, state: FedAvgState | None = None) -> Rounds:
        """The rounds of the training, from its start or a state on (`FedAvg.run`)."""
        model = initialise(self.make, seeds.key(self.seed, what="weights"), self.data.shape).to(device_of(self.kernels))
        train = self._samples(self.data.train)
        return self.algorithm.run(
            model, self.twin, train, self.parts, self.seed, rounds=self.rounds, kernels=self.kernels, state=state
        )

    def _states(self, packed: Any | None) -> Iterator[Successive]:
        rounds = self.rounds_from(FedAvgState(*packed) if packed else None)
        for before, now in itertools.pairwise(itertools.chain([None], rounds)):
            assert now is not None
            yield Successive(now.t, before, now)

    def _pack(self, at: Successive) -> Any:
        return tuple(at.now.state)

    def evaluate(self, at: Successive, curve: Curve) -> None:
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
        """Errors and cosines of a client's estimates, over all sketched layers, or all layers of a plain network."""
        messages = (before.broadcast, now.broadcast)
        names = [f"{name}.weight" for name, _ in sketched.layers(now.model)]
        estimates: dict[str, list[Weights]] = {
            option: [estimated_weights(self.twin, message, option, self.kernels) for message in messages]
            for option in OPTIONS
            if names
        }
        if not names:
            names = list(now.state.weights)
            estimates = {PLAIN: [{name: message.weights[name] for name in names} for message in messages]}
        truth = _join({name: before.state.weights[name] - now.state.weights[name] for name in names})
        values = {}
        for option, (old, new) in estimates.items():
            estimate = _join(old) - _join(new)
            values[f"error {option}"] = float((estimate - truth).norm() / truth.norm())
            values[f"cosine {option}"] = float(abs(estimate @ truth) / (estimate.norm() * truth.norm()))
        return values


def _join(weights: Weights) -> Tensor:
    return torch.cat([value.flatten() for value in weights.values()]).double()

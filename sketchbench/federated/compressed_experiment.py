"""Training of a network from compressed gradients."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sketchbench.base import seeds
from sketchbench.base.parameters import Checked, Count, Positive, Share
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, Feedback, Momentum, Sent, ServerState
from sketchbench.federated.compressors import CompressionArm, check_case, compressor_of
from sketchbench.federated.curve import Curve
from sketchbench.federated.experiment import Experiment
from sketchbench.federated.tuning import Procedure
from sketchbench.kernels import Array, Kernels
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model import classification
from sketchbench.learning.model.classification import Samples
from sketchbench.learning.model.networks import MakeModel
from sketchbench.learning.model.precision import Precision
from sketchbench.learning.objective.network import Inputs, Network
from sketchbench.sketch.operator import Sketch

LOST = 10.0  # factor over the loss at the start beyond which a training has diverged


@dataclass(frozen=True)
class Compression(Checked):
    """The compression of gradients. `feedback`, `momentum`: as for `CompressedSensingSGD`."""

    arms: dict[str, list[Positive]]  # the compressions d/b by case; the cases are `fiht` and `count_sketch`
    k: Count  # the number of entries of a step
    feedback: Feedback
    momentum: Momentum

    def __post_init__(self) -> None:
        super().__post_init__()
        for case in self.arms:
            check_case(case)


@dataclass(frozen=True)
class CompressedProcedure(Procedure):
    """The training of a network from compressed gradients, for any learning rate.

    Arguments:
        batch, participation, inputs, precision: as for `Network`.
        augmented: whether every training image is flipped and turned once, before clients get it.
    """

    batch: Count
    participation: Share
    inputs: Inputs
    augmented: bool
    precision: Precision


@dataclass(frozen=True, kw_only=True)
class CompressedExperiment(Experiment[ServerState]):
    """SGD of one network from compressed gradients, in one trial.

    Its curve has the bytes that a client sends and receives if it takes part in every round, and the quantities

    `loss`, `train_accuracy`: on training samples;
    `accuracy`: on test samples;
    `memory`, from round 1 on: ‖ε‖/(η‖z̄‖), the norm of the server's memory over the rate times the mean message's norm.

    A training has diverged, and ends, when a gradient or loss is not finite, or the loss is ten times the first loss:
    the memory of error feedback only grows from there.

    `procedure`, `compression`, `arm`: the training, and its compression of gradients.
    """

    kernels: Kernels  # backend of the sketches
    seed: int  # root of all randomness of this training
    data: Dataset  # the samples; training samples are augmented already
    judged: tuple[Split, Split]  # the training and test samples for loss and accuracies
    images: Count | None  # the most samples of either, the same in all rounds; None for all
    partition: MakeParts  # deals the training samples out to the clients
    model: MakeModel  # makes the network; a config of conf/model
    procedure: CompressedProcedure
    compression: Compression
    arm: CompressionArm
    rate: Positive  # the learning rate η

    @cached_property
    def network(self) -> Network:
        return Network(
            self.kernels,
            self.seed,
            data=self.data,
            model=self.model,
            partition=self.partition,
            batch=self.procedure.batch,
            participation=self.procedure.participation,
            inputs=self.procedure.inputs,
            precision=self.procedure.precision,
        )

    @cached_property
    def _samples(self) -> tuple[Samples, Samples]:
        train, test = (self.network.samples(*self._subset(split)) for split in self.judged)
        return train, test

    def _subset(self, split: Split) -> Split:
        count = len(split.labels)
        if self.images is None or self.images >= count:
            return split
        random = seeds.generator(self.seed, data="judged", of=count)
        places = np.sort(random.choice(count, self.images, replace=False))
        return Split(split.images[places], split.labels[places])

    def _identity(self) -> tuple[Any, ...]:
        settings = (self.procedure, self.compression, self.arm, self.rate, self.images)
        return (*settings, self.seed, self.data.digest, self.partition, self.model, self.kernels.NAME)

    def compressor(self, arm: CompressionArm) -> tuple[CompressedSensingSGD, Sketch]:
        """The algorithm of an arm, and the operator of all rounds."""
        how = self.compression
        recovery, family = compressor_of(arm, self.network.d, how.k)
        algorithm = CompressedSensingSGD(
            recovery, self.rate, feedback=how.feedback, momentum=how.momentum, clients="mean"
        )
        return algorithm, family.draw(seeds.key(self.seed, family=repr(family)), kernels=self.kernels)

    def _states(self, packed: Any | None) -> Iterator[ServerState]:
        algorithm, sketch = self.compressor(self.arm)
        after = _unpack(packed, self.kernels) if packed else None
        return algorithm.run(self.network, sketch, self.seed, trials=1, rounds=self.rounds, after=after)

    def evaluate(self, at: ServerState, curve: Curve) -> None:
        train, test = self._samples
        scores = self.network.scores(at.w[0], torch.cat([train.images, test.images]))
        train_scores, test_scores = torch.split(scores, [len(train.labels), len(test.labels)])
        loss = float(classification.loss(train_scores, train.labels))
        first = next(iter(curve.values["loss"].values())) if curve.values else loss
        if not loss <= LOST * first:  # also for a loss that is not a number
            raise FloatingPointError(f"the loss is {loss}")
        values = {
            "loss": loss,
            "train_accuracy": classification.accuracy(train_scores, train.labels),
            "accuracy": classification.accuracy(test_scores, test.labels),
        }
        if at.sent is not None:
            values["memory"] = _norm(at.error, self.kernels) / (self.rate * _norm(at.received, self.kernels))
        curve.parameters = self.network.d
        curve.add(at.t, values, at.bytes_up, at.bytes_down)

    def _pack(self, at: ServerState) -> Any:
        sent = None if at.sent is None else _tensors(at.sent, self.kernels)
        vectors = _tensors((at.w, at.error, at.received), self.kernels)
        return [at.t, *vectors, sent, at.bytes_up, at.bytes_down]


def _norm(vectors: Array, kernels: Kernels) -> float:
    return float(np.linalg.norm(kernels.to_numpy(vectors[0])))


def _tensors(arrays: Sequence[Array], kernels: Kernels) -> list[Tensor]:
    return [torch.tensor(kernels.to_numpy(array)) for array in arrays]


def _unpack(packed: list[Any], kernels: Kernels) -> ServerState:
    """Undo `CompressedExperiment._pack`."""
    t, *vectors, sent, up, down = packed
    w, error, received = (kernels.asarray(part.numpy()) for part in vectors)
    exchanged = None if sent is None else Sent(*(kernels.asarray(part.numpy()) for part in sent))
    return ServerState(t, w, error, received, exchanged, up, down)

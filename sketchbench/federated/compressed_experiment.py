"""One training of a network from compressed gradients, with what is kept of it, going on from its checkpoint."""

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sketchbench.federated import checkpoint
from sketchbench.federated.checkpoint import SECONDS_BETWEEN
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, Sent, Step
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.divergence import diverged
from sketchbench.model import classification
from sketchbench.model.classification import Samples
from sketchbench.objective.network import Network
from sketchbench.sketch.operator import Sketch

log = logging.getLogger(__name__)


class Judged(NamedTuple):
    """What a network is judged on: some of the training images, and test images."""

    train: Samples
    test: Samples


@dataclass
class History:
    """Of a network with d weights: lists with an entry for each round that is shown, until the last one or until
    the training diverged, which shows after round `diverged`: a gradient or loss is not finite then, or the loss has
    grown a million times.

    loss, train_accuracy: on training images; accuracy: on test images. bytes_up, bytes_down: sent and received by
    a client so far that takes part in every round.
    """

    d: int
    round: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    bytes_up: list[int] = field(default_factory=list)
    bytes_down: list[int] = field(default_factory=list)
    diverged: int | None = None

    def add(self, at: Step, network: Network, judged: Judged) -> None:
        """Evaluate the server's weights, of the first trial. Raises FloatingPointError where it has diverged."""
        images = torch.cat([judged.train.images, judged.test.images])
        scores = network.scores(at.w[0], images)
        train, test = torch.split(scores, [len(part.labels) for part in judged])
        loss = float(classification.loss(train, judged.train.labels))
        if diverged(np.array(loss), self.loss[0] if self.loss else loss):
            raise FloatingPointError(f"the loss is {loss}: the training has diverged")
        self.round.append(at.t)
        self.loss.append(loss)
        self.train_accuracy.append(classification.accuracy(train, judged.train.labels))
        self.accuracy.append(classification.accuracy(test, judged.test.labels))
        self.bytes_up.append(at.bytes_up)
        self.bytes_down.append(at.bytes_down)


def train(
    algorithm: CompressedSensingSGD,
    network: Network,
    sketch: Sketch,
    judged: Judged,
    seed: int,
    *,
    rounds: int,
    shown: Sequence[int],
    path: Path | None,
    name: str,
) -> History:
    """Rounds 0 to `rounds`, evaluated in those `shown`, or until it diverges.

    The same arguments give the same training, stopped or not. path: of the checkpoint, or None; name: in the log.
    """
    saved = checkpoint.load(path) if path else None
    history = History(**saved["history"]) if saved else History(network.d)
    if history.diverged is not None:
        return history
    after = _arrays(saved["step"], network.kernels) if saved else None
    going = algorithm.run(network, sketch, seed, trials=1, rounds=rounds, after=after)
    written = time.monotonic()
    try:
        for at in going:
            if at.t in shown and at.t not in history.round:
                history.add(at, network, judged)
                log.info(
                    "%s: round %d of %d, loss %.4f, accuracy %.4f",
                    *(name, at.t, rounds, history.loss[-1], history.accuracy[-1]),
                )
            now = time.monotonic()
            if path and (now - written > SECONDS_BETWEEN or at.t == rounds):
                step = _tensors(at, network.kernels)
                checkpoint.save(path, {"history": asdict(history), "step": step})
                written = now
    except FloatingPointError:
        history.diverged = at.t
        log.info("%s: diverged after round %d", name, history.diverged)
        if path:
            checkpoint.save(path, {"history": asdict(history), "step": None})
    return history


def _tensors(at: Step, kernels: Kernels) -> list[Any]:
    """A state as what a checkpoint can hold: arrays become tensors."""

    def tensors(arrays: Sequence[Array]) -> list[Tensor]:
        return [torch.tensor(kernels.to_numpy(array)) for array in arrays]

    sent = None if at.sent is None else tensors(at.sent)
    return [at.t, *tensors((at.w, at.error, at.received)), sent, at.bytes_up, at.bytes_down]


def _arrays(saved: list[Any], kernels: Kernels) -> Step:
    """The state again."""
    t, *vectors, sent, up, down = saved
    w, error, received = (kernels.asarray(part.numpy()) for part in vectors)
    exchanged = None if sent is None else Sent(*(kernels.asarray(part.numpy()) for part in sent))
    return Step(t, w, error, received, exchanged, up, down)

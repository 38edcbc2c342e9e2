"""One training from start to end, with what is kept of it, going on from its checkpoint."""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sketchbench import seeds
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated import checkpoint
from sketchbench.federated.checkpoint import SECONDS_BETWEEN, described, place
from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import Option, Weights, estimated_weights
from sketchbench.federated.fedavg import FedAvg, Round, State
from sketchbench.kernels import Kernels
from sketchbench.model import sketched
from sketchbench.model.blind import blinded
from sketchbench.model.classification import Samples
from sketchbench.model.networks import MakeModel, initialised
from sketchbench.model.precision import Precision, computing_in

log = logging.getLogger(__name__)
OPTIONS: tuple[Option, ...] = ("I", "II")


class Trained(NamedTuple):
    """A training: its curve, and for each round that was asked for, and then each option of a client's
    estimate, the relative error and the absolute cosine (see `task.training`)."""

    curve: Curve
    estimates: list[list[float]]


@dataclass(frozen=True)
class Experiment:
    """What all trainings of a network have in common.

    model: as a config of conf/model gives it, with shape, classes and family filled in. checkpoints: the folder
    for what a stopped training goes on from, or None; name: what tells this experiment from others there beside
    what is given here, such as its data and the code behind it.
    precision: see `model.precision`.
    """

    model: MakeModel
    partition: MakeParts
    classes: int
    kernels: Kernels
    checkpoints: str | None
    name: str
    precision: Precision = "float32"

    def train(
        self,
        algorithm: FedAvg,
        train: Samples,
        test: Samples,
        seed: int,
        *,
        rounds: int,
        shown: Sequence[int] = (),
        target: float | None = None,
    ) -> Trained:
        """Rounds 0 to `rounds`, or to the first from 1 on whose accuracy reaches `target`, evaluated on `test`,
        with a client's estimates in the rounds `shown` (from 1 on) where layers are sketched. The same seed
        gives the same training, stopped or not."""
        given = (algorithm, train, test, seed, rounds, shown, target)
        with computing_in(self.precision, train.labels.device):
            return self._train(*given)

    def _train(
        self,
        algorithm: FedAvg,
        train: Samples,
        test: Samples,
        seed: int,
        rounds: int,
        shown: Sequence[int],
        target: float | None,
    ) -> Trained:
        device = train.labels.device
        model = initialised(self.model, seeds.key(seed, what="weights")).to(device)
        twin = blinded(initialised(self.model, 0)).to(device)
        blind = any(True for _ in sketched.layers(model))
        parts = self.partition(labels=train.labels.cpu().numpy(), seed=seed)
        path = self._checkpoint(algorithm, seed, rounds, shown, target)
        saved = checkpoint.load(path) if path else None
        curve = Curve(**saved["curve"]) if saved else Curve()
        estimates: list[list[float]] = saved["estimates"] if saved else []
        state = State(*saved["state"]) if saved else None
        going = algorithm.run(model, twin, train, parts, seed, rounds=rounds, state=state, kernels=self.kernels)
        before: Round | None = None
        written = time.monotonic()
        for at in going:
            if at.t >= len(curve.accuracy):  # else it is where the checkpoint was written
                curve.add(at, test, self.classes)
                if before and blind and at.t in shown:
                    estimates.append(list(self._estimates(twin, before, at)))
            before = at
            now = time.monotonic()
            last = at.t == rounds or (target is not None and at.t > 0 and curve.accuracy[-1] >= target)
            if path and (now - written > SECONDS_BETWEEN or last):
                content = {"curve": asdict(curve), "estimates": estimates, "state": tuple(at.state)}
                checkpoint.save(path, content)
                log.info("round %d of %d, accuracy %.4f", at.t, rounds, curve.accuracy[-1])
                written = now
            if last:
                break
        return Trained(curve, estimates)

    def _checkpoint(
        self, algorithm: FedAvg, seed: int, rounds: int, shown: Sequence[int], target: float | None
    ) -> Path | None:
        """A file of its own for every training."""
        if self.checkpoints is None:
            return None
        parts = (self.name, described(self.model), described(self.partition), algorithm, seed)
        settings = (rounds, tuple(shown), target, self.precision, self.kernels.NAME)
        return place(self.checkpoints, *parts, *settings)

    def _estimates(self, twin: nn.Module, before: Round, at: Round) -> Iterator[float]:
        """For each option, the error and the cosine of all sketched layers together."""
        names = [f"{name}.weight" for name, _ in sketched.layers(at.model)]
        truth = _joined({n: before.state.weights[n] - at.state.weights[n] for n in names})
        for option in OPTIONS:
            old, new = (
                _joined(estimated_weights(twin, message, option, self.kernels))
                for message in (before.broadcast, at.broadcast)
            )
            estimate = old - new
            yield float((estimate - truth).norm() / truth.norm())
            yield float(abs(estimate @ truth) / (estimate.norm() * truth.norm()))


def _joined(weights: Weights) -> Tensor:
    return torch.cat([value.flatten() for value in weights.values()]).double()

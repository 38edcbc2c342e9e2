"""Stacked trainings of small networks from compressed gradients: all trials and arms, round by round."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.federated.compressed_experiment import CompressedExperiment
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, Sent, ServerState, sparse_nbytes
from sketchbench.federated.compressors import CompressionArm
from sketchbench.federated.curve import Curve
from sketchbench.learning.objective.stacked import Batches
from sketchbench.sketch.operator import Sketch

log = logging.getLogger(__name__)
LARGEST = 2**14  # most weights of a network whose rounds take longer to call than to compute


def can_stack(experiment: CompressedExperiment) -> bool:
    """Return whether `train_stack` takes such experiments: perceptrons of at most LARGEST weights."""
    return experiment.network.stacks and experiment.network.d <= LARGEST


def train_stack(trials: Sequence[CompressedExperiment], arms: Sequence[CompressionArm]) -> list[list[Curve]]:
    """Run experiments side by side, without checkpoints; return each arm's curves, equal to `Experiment.run` bit for
    bit. The `trials` are experiments that differ in seed and name only; each of the `arms` replaces theirs."""
    stacks = [_Stack(trials, arm) for arm in arms]
    for t in range(trials[0].rounds):
        live = sorted({trial for stack in stacks for trial in stack.live})
        if not live:
            break
        randoms = (seeds.generator(trials[trial].seed, noise="gradients", round=t) for trial in live)
        drawn = [trials[trial].network.draw(random) for trial, random in zip(live, randoms, strict=True)]
        batches = trials[0].network.stack(drawn)
        for stack in stacks:
            if stack.live:
                stack.advance(batches, np.isin(live, stack.live))
    return [stack.curves for stack in stacks]


@dataclass
class _Stack:
    """The trainings of one arm, of which `live` have not diverged."""

    trials: Sequence[CompressedExperiment]
    arm: CompressionArm
    curves: list[Curve] = field(init=False)
    live: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.curves = [Curve() for _ in self.trials]
        self.live = list(range(len(self.trials)))
        algorithms, operators = zip(*(trial.compressor(self.arm) for trial in self.trials), strict=True)
        self._algorithm: CompressedSensingSGD = algorithms[0]
        self._sketch: Sketch = operators[0].join(operators[1:])
        xp = self._sketch.kernels.xp
        w = xp.stack([self._sketch.kernels.asarray(trial.network.start) for trial in self.trials])
        nothing = xp.zeros((len(w), self._sketch.b))
        self._at = ServerState(0, w, nothing, nothing, None, 0, 0)
        self._down = [0] * len(w)
        self._evaluate()

    def advance(self, batches: Sequence[Batches], mine: NDArray[np.bool_]) -> None:
        """Run a round with the batches of all live trainings; `mine` marks this arm's."""
        network, kernels = self.trials[0].network, self._sketch.kernels
        if not mine.all():
            batches = [Batches(*(part[mine] for part in pool)) for pool in batches]
        gradient = network.slopes(self._at.w, batches)
        finite = kernels.to_numpy(kernels.xp.isfinite(gradient).all(axis=1))
        if not finite.all():
            self._end(~finite)
            gradient = gradient[finite]
        if not self.live:
            return
        message = self._sketch.sketch(gradient, check_finite=False)
        silence = kernels.xp.zeros_like(message)
        self._at = self._algorithm.serve(self._sketch, self._at, gradient, message, silence, message[0].nbytes)
        assert self._at.sent is not None
        for place, step in enumerate(self._at.sent.step):
            self._down[place] += sparse_nbytes(step)
        self._evaluate()

    def _evaluate(self) -> None:
        """Evaluate the trainings if this is due; end diverged trainings."""
        if self._at.t not in (self.trials[0].evaluated or [self._at.t]):
            return
        ended = np.zeros(len(self.live), dtype=bool)
        for place, trial in enumerate(self.live):
            one = np.arange(len(self.live)) == place
            try:
                self.trials[trial].evaluate(_rows(self._at, one, self._down[place]), self.curves[trial])
            except FloatingPointError:
                ended[place] = True
        log.info("%s: round %d of %d", self.arm, self._at.t, self.trials[0].rounds)
        if ended.any():
            self._end(ended)

    def _end(self, ended: NDArray[np.bool_]) -> None:
        for trial in np.array(self.live)[ended]:
            self.curves[trial].diverged = self._at.t
        self.live = np.array(self.live)[~ended].tolist()
        self._down = np.array(self._down)[~ended].tolist()
        self._at, self._sketch = _rows(self._at, ~ended, self._at.bytes_down), self._sketch.select(~ended)


def _rows(at: ServerState, mask: NDArray[np.bool_], down: int) -> ServerState:
    """The state of some trials; each has received `down` bytes."""
    w, error, received = (part[mask] for part in (at.w, at.error, at.received))
    sent = at.sent and Sent(*(part[mask] for part in at.sent))
    return ServerState(at.t, w, error, received, sent, at.bytes_up, down)

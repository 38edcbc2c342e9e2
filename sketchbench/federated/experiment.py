"""One training from start to end, evaluated on the way, and resumed from its checkpoint if it was stopped."""

import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from sketchbench.base.course import WHOLE, Course, Unfinished
from sketchbench.base.parameters import Checked, Count, Natural
from sketchbench.federated import checkpoint
from sketchbench.federated.curve import Curve

log = logging.getLogger(__name__)
SECONDS_BETWEEN = 60.0  # between two checkpoints of a training
SECONDS_BETWEEN_LINES = 2.0


class HasRound(Protocol):
    """A state of a training, with the number t of the rounds before it."""

    @property
    def t(self) -> int: ...


State = TypeVar("State", bound=HasRound)


@dataclass(frozen=True, kw_only=True)
class Experiment(Checked, ABC, Generic[State]):
    """A training, and the rounds in which it is evaluated. A resumed training has the same curve as an unstopped one. A
    new kind of training implements `_identity`, `_states`, `evaluate` and `_pack`.

    Arguments:
        rounds: the most rounds of the training.
        evaluated: the rounds, from 0 on, after which the network is evaluated; None for all.
        target: a test accuracy; the training ends after the first evaluated round t >= 1 that reaches it. None for
            none.
        name: of the training in the log.
        course: the time limit, and the folder of checkpoints from which a stopped training resumes.
    """

    rounds: Count
    evaluated: Sequence[Natural] | None = None
    target: float | None = None
    name: str = "training"
    course: Course = WHOLE

    @abstractmethod
    def _identity(self) -> tuple[Any, ...]:
        """The parts, beside the fields of `Experiment`, that identify this training's checkpoint (see `path_of`)."""

    @abstractmethod
    def _states(self, packed: Any | None) -> Iterator[State]:
        """Yield states after rounds 0, 1, ..., `rounds`, or after a packed state; FloatingPointError on divergence."""

    @abstractmethod
    def evaluate(self, at: State, curve: Curve) -> None:
        """Evaluate a state, and add the results to the curve. Raises FloatingPointError on divergence."""

    @abstractmethod
    def _pack(self, at: State) -> Any:
        """Pack a state into numbers, strings, lists, dictionaries and tensors."""

    def run(self) -> Curve:
        """Train to the last round, the target or divergence, and return the curve. Raises Unfinished when the time
        limit of the course has passed; at least one round is made by then."""
        path = self._path
        if path is None:
            return self._run(None)
        with checkpoint.lock_folder(path.parent, self.course):
            return self._run(path)

    def _run(self, path: Path | None) -> Curve:
        saved = checkpoint.load(path) if path else None
        curve = Curve(**saved["curve"]) if saved else Curve()
        if curve.diverged is not None:
            return curve
        t, first = 0, None
        written = logged = time.monotonic()
        try:
            for at in self._states(saved["state"] if saved else None):
                t = at.t
                first = t if first is None else first
                if self._is_evaluated(t) and t not in curve.bytes_up:  # else the checkpoint was written here
                    self.evaluate(at, curve)
                now, ended = time.monotonic(), self._has_ended(t, curve)
                if ended or now - logged > SECONDS_BETWEEN_LINES:
                    self._log(t, curve)
                    logged = now
                over = not ended and t > first and self.course.over
                if ended or over or now - written > SECONDS_BETWEEN:
                    if path:
                        checkpoint.save(path, {"t": t, "curve": asdict(curve), "state": self._pack(at)})
                    written = now
                if over:
                    raise Unfinished(f"{self.name}: round {t} of {self.rounds} is done")
                if ended:
                    break
        except FloatingPointError as error:
            curve.diverged = t
            if path:
                checkpoint.save(path, {"t": t, "curve": asdict(curve), "state": None})
            log.info("%s: diverged after round %d: %s", self.name, t, error)
        return curve

    @property
    def _path(self) -> Path | None:
        """The path of this training's checkpoint; None without a folder of checkpoints."""
        if self.course.checkpoints is None:
            return None
        followed = (self.name, self.rounds, self.evaluated, self.target)
        return checkpoint.path_of(self.course.checkpoints, self.course.code, *followed, *self._identity())

    def _is_evaluated(self, t: int) -> bool:
        return self.evaluated is None or t in self.evaluated

    def _has_ended(self, t: int, curve: Curve) -> bool:
        if t == self.rounds:
            return True
        return self.target is not None and t > 0 and curve.latest.get("accuracy", -math.inf) >= self.target

    def _log(self, t: int, curve: Curve) -> None:
        values = ", ".join(f"{quantity} {value:.4g}" for quantity, value in curve.latest.items())
        log.info("%s: round %d of %d; last evaluated: %s", self.name, t, self.rounds, values)

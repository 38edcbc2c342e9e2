"""The curve of a training: measured quantities by round, and the sizes of messages."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass
class Curve:
    """Measurements of one training by round, which `federated.experiment` adds during the training.

    Arguments:
        parameters: number of weights of the network.
        values: the measured number by quantity (such as `accuracy`) and round.
        bytes_up, bytes_down: bytes sent and received until each round; the experiment says by which clients.
        roc: for two classes, the true positive rates after the last round, at the rates `FALSE_POSITIVES`.
        broadcasts, replies: bytes of every message in order, if the experiment counts them.
        diverged: the last round before the training diverged; None if it has not.
    """

    parameters: int = 0
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    bytes_up: dict[int, int] = field(default_factory=dict)
    bytes_down: dict[int, int] = field(default_factory=dict)
    roc: list[float] = field(default_factory=list)
    broadcasts: list[int] = field(default_factory=list)
    replies: list[int] = field(default_factory=list)
    diverged: int | None = None

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Curve":
        """Undo `to_dict`."""
        series = {name: dict(pairs) for name, pairs in content["values"].items()}
        sent = {name: dict(content[name]) for name in ("bytes_up", "bytes_down")}
        return cls(**{**content, "values": series, **sent})

    def to_dict(self) -> dict[str, Any]:
        """The curve as a dictionary that JSON can hold: series by round become lists of pairs (round, value)."""
        series = {name: [[t, value] for t, value in by_round.items()] for name, by_round in self.values.items()}
        sent = {name: [[t, value] for t, value in getattr(self, name).items()] for name in ("bytes_up", "bytes_down")}
        return {**asdict(self), "values": series, **sent}

    def add(self, t: int, values: dict[str, float], bytes_up: int, bytes_down: int) -> None:
        """Add the measurements after round t: values by quantity, and the bytes so far."""
        for quantity, value in values.items():
            self.values.setdefault(quantity, {})[t] = value
        self.bytes_up[t], self.bytes_down[t] = bytes_up, bytes_down

    @property
    def rounds(self) -> list[int]:
        """The rounds that were evaluated, in ascending order."""
        return list(self.bytes_up)

    @property
    def latest(self) -> dict[str, float]:
        """The values of the last evaluated round, by quantity."""
        last = self.rounds[-1] if self.rounds else None
        return {quantity: series[last] for quantity, series in self.values.items() if last in series}

    def round_reaching(self, target: float) -> int | None:
        """The first evaluated round with an accuracy of at least the target; None if no round reaches it."""
        return next((t for t, accuracy in self.values["accuracy"].items() if accuracy >= target), None)

    def mean_from(self, quantity: str, first: float) -> float:
        """The mean of a quantity over the evaluated rounds t >= first."""
        return float(np.mean([value for t, value in self.values[quantity].items() if t >= first]))

"""How the comparisons of a run share its error rate, by weights that conf/error_rate.yaml states before the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sketchbench.base.parameters import choose
from sketchbench.run.config import schema

FILE = "error_rate.yaml"  # in conf


class SharedLevel(NamedTuple):
    """The comparisons of some studies.

    Attributes:
        comparisons: how many share the rate, of the largest family (see `ErrorRate.levels`).
        level: the error rate of each.
    """

    comparisons: int
    level: float


@dataclass(frozen=True)
class ErrorLevels:
    """The error rate of each comparison of a run: of the studies with few trials, and of all others."""

    total: float
    few_trials: SharedLevel
    others: SharedLevel
    studies: frozenset[str]  # with few trials

    def of(self, study: str) -> float:
        """The error rate of a comparison of this study."""
        return (self.few_trials if study in self.studies else self.others).level

    @property
    def comparisons(self) -> int:
        """How many share the rate."""
        return self.few_trials.comparisons + self.others.comparisons


@dataclass(frozen=True)
class ErrorRate:
    """The error rate of a run, and how it is shared.

    Attributes:
        total: the probability that any verdict is wrong, at most.
        weight: the part of it for the comparisons of `studies`, in which a trial is a training or an attack.
    """

    total: float = 1e-3
    weight: float = 0.0
    studies: frozenset[str] = frozenset()

    def levels(self, families: Iterable[Mapping[str, int]]) -> ErrorLevels:
        """The error rates of comparisons, given how many there are of each study, in each family.

        Claims, negative controls and near misses are three families. Each has the total for itself, and all have the
        level of the largest, so that a claim and its controls are judged alike.
        """
        counts = [
            (
                sum(count for study, count in family.items() if study in self.studies),
                sum(count for study, count in family.items() if study not in self.studies),
            )
            for family in families
        ]
        few, others = (max(column, default=0) for column in zip(*counts, strict=True)) if counts else (0, 0)
        return ErrorLevels(
            self.total,
            SharedLevel(few, self.total * self.weight / max(few, 1)),
            SharedLevel(others, self.total * (1 - self.weight) / max(others, 1)),
            self.studies,
        )


def read(conf: Path) -> ErrorRate:
    """The error rate that a folder of configs states.

    Raises SchemaError, in one line, for a file that does not fit, ValueError for a task that does not exist.
    """
    path = conf / FILE
    content = schema.read(path, "error_rate")
    known = sorted(one.stem for one in (conf / "task").glob("*.yaml"))
    few = {choose(f"{path}: task", task, known) for task in content["few_trials"]["tasks"]}
    studies = frozenset(name for name, task in _tasks(conf).items() if task in few)
    return ErrorRate(content["total"], content["few_trials"]["weight"], studies)


def _tasks(conf: Path) -> dict[str, str]:
    """The task of each study, of the study that it is like where it names none. The plan checks these files."""
    texts = {path.stem: schema.load(path) for path in sorted((conf / "study").glob("*.yaml"))}
    return {name: text.get("task") or texts.get(text.get("like"), {}).get("task", "") for name, text in texts.items()}

"""The share of each comparison in a run's error rate, by weights that conf/error_rate.yaml states before the run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sketchbench.base.parameters import choose
from sketchbench.run.config import schema
from sketchbench.run.config.chapters import named

FILE = "error_rate.yaml"  # in conf


class SharedLevel(NamedTuple):
    """The comparisons of some studies, and their error rate."""

    comparisons: int  # that share the rate, in the largest family (see `ErrorRate.levels`)
    level: float  # the error rate of each comparison


@dataclass(frozen=True)
class ErrorLevels:
    """The error rate of each comparison of a run, in the studies with few trials and in all others."""

    total: float
    few_trials: SharedLevel
    others: SharedLevel
    studies: frozenset[str]  # with few trials

    def of(self, study: str) -> float:
        """The error rate of a comparison of this study."""
        return (self.few_trials if study in self.studies else self.others).level

    @property
    def comparisons(self) -> int:
        """The number of comparisons that share the rate."""
        return self.few_trials.comparisons + self.others.comparisons


@dataclass(frozen=True)
class ErrorRate:
    """The error rate of a run, and its shares."""

    total: float = 1e-3  # the largest probability that any verdict is wrong
    weight: float = 0.0  # the part of it for the comparisons of `studies`
    studies: frozenset[str] = frozenset()  # with few trials: a trial is a training or an attack

    def levels(self, families: Iterable[Mapping[str, int]]) -> ErrorLevels:
        """The error rates of comparisons, given their number in each study, for each family.

        Claims, negative controls and near misses are three families. Each family has the total error rate for itself.
        All have the level of the largest family, so that a claim and its controls are judged alike.
        """
        few = others = 0
        for family in families:
            small = sum(count for study, count in family.items() if study in self.studies)
            few, others = max(few, small), max(others, sum(family.values()) - small)
        small_level = SharedLevel(few, self.total * self.weight / max(few, 1))
        other_level = SharedLevel(others, self.total * (1 - self.weight) / max(others, 1))
        return ErrorLevels(self.total, small_level, other_level, self.studies)


def read(conf: Path) -> ErrorRate:
    """Read the error rate from a directory of configs.

    Raises SchemaError, in one line, for an invalid file, and ValueError for an unknown task.
    """
    path = conf / FILE
    content = schema.read(path, "error_rate")
    known = sorted(one.stem for one in (conf / "task").glob("*.yaml"))
    few = {choose(f"{path}: task", task, known) for task in content["few_trials"]["tasks"]}
    studies = frozenset(name for name, task in _tasks(conf).items() if task in few)
    return ErrorRate(content["total"], content["few_trials"]["weight"], studies)


def _tasks(conf: Path) -> dict[str, str]:
    """The task of each study, or else of the study that it is like. The plan checks these files."""
    texts = {name: schema.load(path) for name, path in named(conf, "study").items()}
    return {name: text.get("task") or texts.get(text.get("like"), {}).get("task", "") for name, text in texts.items()}

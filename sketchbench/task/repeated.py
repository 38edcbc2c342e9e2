"""Tasks of independent trials, each of which may be a separate run."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sketchbench.base.course import Course, Unfinished
from sketchbench.federated import checkpoint
from sketchbench.measure.row import Row

Values = dict[str, Any]  # the values of a trial by name, of JSON's types


class Repeated(ABC):
    """A base class of tasks in two steps: trials, and rows from the values of all trials. The random numbers of a trial
    depend on its own number alone, so that one run can make all trials, or each trial can be a separate run. A subclass
    is a dataclass with the fields `trials`, the number of trials, and `course`."""

    trials: int
    course: Course

    @abstractmethod
    def trial(self, number: int) -> Values:
        """Make the trial with this number, from 0 on, and return its values. Raises Unfinished when the time limit of
        `course` has passed; the trial can resume from its checkpoint."""

    @abstractmethod
    def rows(self, values: Sequence[Values]) -> list[Row]:
        """The rows from the values of one trial or more, in the order of their numbers, without data or training."""

    def run(self) -> list[Row]:
        """Make all trials, and return their rows. A folder of checkpoints keeps the values of finished trials. Raises
        Unfinished when the time limit of `course` has passed; at least a part of a trial is made by then."""
        values: list[Values] = []
        worked = False
        for number in range(self.trials):
            one = self._load(number)
            if one is None:
                if worked and self.course.over:
                    raise Unfinished(f"{number} of {self.trials} trials are done")
                one, worked = self.trial(number), True
                self._save(number, one)
            values.append(one)
        return self.rows(values)

    def _load(self, number: int) -> Values | None:
        path = self._path(number)
        saved = checkpoint.load(path) if path else None
        return saved["values"] if saved else None

    def _save(self, number: int, values: Values) -> None:
        if path := self._path(number):
            checkpoint.save(path, {"values": values})

    def _path(self, number: int) -> Path | None:
        """The checkpoint of a finished trial's values; None without a folder, or a config that identifies the task."""
        course = self.course.within(f"trial{number}")
        if not (course.checkpoints and course.config):
            return None
        return checkpoint.path_of(course.checkpoints, course.code, course.config, "values", number)

"""Tasks of independent trials, each of which may be a run of its own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sketchbench.federated import checkpoint
from sketchbench.measure.row import Row
from sketchbench.run.course import Course, Unfinished

Values = dict[str, Any]  # by name, of numbers, texts, None, lists of these and dictionaries by text: what JSON can say


class Repeated(ABC):
    """A task in two steps: trials, whose streams of random numbers depend on their own number alone, and rows that are
    made of what they gave. So trials may be made in one run or in as many runs as there are: the rows are the same.

    A class of it has the fields `trials`, their number, and `course`.
    """

    trials: int
    course: Course

    @abstractmethod
    def trial(self, number: int) -> Values:
        """Make one trial, with the numbers from 0 on.

        Raises:
            Unfinished: where it has reached the time limit of `course` and can go on from a checkpoint in its folder.
        """

    @abstractmethod
    def rows(self, values: Sequence[Values]) -> list[Row]:
        """The rows of what one trial or more have given, in the order of their numbers. Needs nothing else: no data,
        no training."""

    def run(self) -> list[Row]:
        """All trials, and their rows. With a folder of checkpoints, those that are done are kept there.

        Raises:
            Unfinished: where the time limit of `course` is reached; at least a part of a trial has been made by then.
        """
        values: list[Values] = []
        worked = False
        for number in range(self.trials):
            found = self._kept(number)
            if found is None:
                if worked and self.course.over:
                    raise Unfinished(f"{number} of {self.trials} trials are done")
                found, worked = self.trial(number), True
                self._keep(number, found)
            values.append(found)
        return self.rows(values)

    def _kept(self, number: int) -> Values | None:
        place = self._place(number)
        saved = checkpoint.load(place) if place else None
        return saved["values"] if saved else None

    def _keep(self, number: int, values: Values) -> None:
        if place := self._place(number):
            checkpoint.save(place, {"values": values})

    def _place(self, number: int) -> Path | None:
        """Of the values of a trial that is done; None where they can't be told from those of another config."""
        course = self.course.within(f"trial{number}")
        if not (course.checkpoints and course.config):
            return None
        return checkpoint.path_of(course.checkpoints, course.code, course.config, "values", number)

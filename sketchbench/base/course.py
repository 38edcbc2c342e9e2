"""The course of a run: its time limit in one process, and its checkpoints. Neither is in the run's signature."""

import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sketchbench.base.parameters import Checked, Positive, check

SETTINGS = ("minutes", "checkpoints")  # keys of a task's config


class Unfinished(Exception):  # noqa: N818 (not an error)
    """A run has reached its time limit; its checkpoints hold its state. Rerun the same command to resume."""


@dataclass(frozen=True)
class Course(Checked):
    """The time limit and the checkpoints of a run, which resumes only from checkpoints with the same digest `code` of
    its code. `config` is the digest of `outcome_config`, equal for all trials of a run; if it is "" (unknown),
    trainings resume from their checkpoints, but whole trials are not kept. `checkpoints` is their folder; None: the run
    writes none. At `until`, a time of `time.monotonic`, the run writes a checkpoint and stops; None: never."""

    code: str = ""
    config: str = ""
    checkpoints: str | None = None
    until: float | None = None

    @property
    def over(self) -> bool:
        """Return whether the time limit has been reached."""
        return self.until is not None and time.monotonic() >= self.until

    def within(self, name: str) -> "Course":
        """The course with its checkpoints in a subfolder of this name."""
        return replace(self, checkpoints=self.checkpoints and str(Path(self.checkpoints, name)))


WHOLE = Course()  # in one process, without checkpoints


@dataclass(frozen=True)
class _Settings(Checked):
    minutes: Positive | None
    checkpoints: str | None


def can_resume(config: dict[str, Any]) -> bool:
    """Return whether the task of a resolved config can stop at a time limit and resume from checkpoints."""
    task = config.get("task")
    return isinstance(task, dict) and all(name in task for name in SETTINGS)


def with_time_limit(
    config: dict[str, Any], minutes: float | None = None, checkpoints: str | None = None
) -> dict[str, Any]:
    """The config with a time limit (minutes) and a folder of checkpoints, if its task can resume; else unchanged."""
    if not can_resume(config):
        return config
    return {**config, "task": {**config["task"], "minutes": minutes, "checkpoints": checkpoints}}


def outcome_config(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a resolved config that decides the outcome: no time limit, checkpoints, or a trial's `trials`."""
    without = {*SETTINGS, *(["trials"] if "trial" in config else [])}
    return {**config, "task": {key: value for key, value in config["task"].items() if key not in without}}


def course_of(config: dict[str, Any], code: str) -> Course:
    """The course, starting now, of a resolved config with the digest `code` of its code. It reads `task.minutes` (0 or
    None: no limit) and `task.checkpoints` (a folder or None), if the task has them. Raises ValueError for a time limit
    below 0 or without a folder of checkpoints, TypeError for other types."""
    minutes, checkpoints = (config["task"].get(name) for name in SETTINGS)
    if minutes == 0 and not isinstance(minutes, bool):
        minutes = None
    check(_Settings(minutes, checkpoints))
    if minutes is not None and checkpoints is None:
        raise ValueError(f"minutes={minutes} needs task.checkpoints=FOLDER, from which the run resumes")
    until = None if minutes is None else time.monotonic() + 60 * minutes
    any_trial = outcome_config({**config, "trial": None})
    text = json.dumps(any_trial, sort_keys=True)
    return Course(code, hashlib.sha256(text.encode()).hexdigest()[:16], checkpoints, until)

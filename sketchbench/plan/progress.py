"""How far a run of the workflow is: one line that moves on a terminal, and a line a minute in a log.

Snakemake tells its logger what happens; a handler beside its own counts that, and estimates the time left from what
the runs are known to cost (`sketchbench.plan.cost`), at the pace of those that have finished.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from sketchbench.plan.cost import told

START = 2.0  # seconds that a job takes to start Python, on top of what its runs cost
OTHER = 3.0  # seconds of a job that is no run, until one of its kind has finished
SNAKEMAKES = "DefaultStreamHandler"  # what it calls its own handler; beside a logger plugin there is none
SELECTING = "Select jobs to execute..."  # what it says whenever a job has ended
PRIOR = 60.0  # seconds of runs that weigh as much as the recorded pace does
NAMED = 2  # jobs under way that are named, at most

Key = tuple[str, str]  # of a batch of runs: its study and number


@dataclass
class Job:
    """One that has begun: its rule, what the line calls it, its batch if it has runs, and when it began."""

    rule: str
    name: str
    batch: Key | None
    begun: float


@dataclass
class State:
    """What is done, what is under way, and what is left.

    Attributes:
        expected: of each batch of runs that is still to be done, how many seconds it is known to take; None: unknown.
        slots: how many jobs there are side by side.
        clock: seconds, for tests.
    """

    expected: Mapping[Key, float | None]
    slots: int = 1
    clock: Callable[[], float] = time.monotonic
    total: int = 0
    done: int = 0
    failed: set[int] = field(default_factory=set)
    jobs: dict[int, Job] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    began: set[Key] = field(default_factory=set)  # batches that are not waiting
    others: dict[str, int] = field(default_factory=dict)  # jobs without runs that are left, by rule
    took: dict[str, list[float]] = field(default_factory=dict)  # by rule, seconds of jobs without runs
    measured: float = 0.0  # seconds of batches that have finished, and what was expected of them
    recorded: float = 0.0

    def plan(self, stats: Mapping[str, int]) -> None:
        """Take the number of jobs of each rule."""
        self.total = stats.get("total", 0)
        self.others = {rule: count for rule, count in stats.items() if rule not in ("total", "run", "all")}

    def begin(self, number: int, rule: str, wildcards: Mapping[str, str], message: str) -> None:
        """A job starts."""
        batch = (wildcards["study"], wildcards["batch"]) if rule == "run" else None
        if batch:
            self.began.add(batch)
        self.jobs[number] = Job(rule, " ".join(batch) if batch else message or rule, batch, self.clock())
        self.running.add(number)
        self.failed.discard(number)

    def end(self, number: int) -> None:
        """A job has finished."""
        self.done += 1
        if (job := self._stop(number)) is None:
            return
        seconds = self.clock() - job.begun
        if job.batch is None:
            self.others[job.rule] = max(self.others.get(job.rule, 1) - 1, 0)
            self.took.setdefault(job.rule, []).append(seconds)
        elif (expected := self.expected.get(job.batch)) is not None:
            self.measured += seconds
            self.recorded += expected + START

    def fail(self, number: int) -> None:
        """A job has failed; it may be begun again."""
        self._stop(number)
        self.failed.add(number)

    def _stop(self, number: int) -> Job | None:
        self.running.discard(number)
        return self.jobs.get(number)

    @property
    def pace(self) -> float:
        """Seconds that pass for one that was recorded."""
        return (self.measured + PRIOR) / (self.recorded + PRIOR)

    @property
    def left(self) -> float | None:
        """Seconds until all is done, roughly; None where something left was never measured."""
        waiting = [self.expected[batch] for batch in self.expected if batch not in self.began]
        under_way = [self.jobs[number] for number in self.running]
        expected = [(self.expected.get(job.batch), self.clock() - job.begun) for job in under_way if job.batch]
        seconds = [None if one is None else max((one + START) * self.pace - since, 0) for one, since in expected]
        seconds += [None if one is None else (one + START) * self.pace for one in waiting]
        known = [one for one in seconds if one is not None]
        if len(known) < len(seconds):
            return None
        known += [self._typical(rule) for rule, count in self.others.items() for _ in range(count)]
        return max(sum(known) / max(self.slots, 1), *known, 0.0) if known else 0.0

    def _typical(self, rule: str) -> float:
        took = self.took.get(rule)
        return sum(took) / len(took) if took else OTHER

    @property
    def line(self) -> str:
        """All of it in one line."""
        names = [self.jobs[number].name for number in sorted(self.running)]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        parts = [f"{self.done} of {self.total} steps done"]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.done < self.total:
            parts.append("time left unknown" if self.left is None else f"about {told(self.left)} left")
        if names:
            parts.append(f"now {', '.join(names[:NAMED])}{more}")
        return "; ".join(parts)


class Progress(logging.Handler):
    """Follows the events of Snakemake's logger, and shows the line.

    Arguments:
        state: at its beginning.
        inner: Snakemake's own handler of the terminal, which goes on showing all but the course of jobs.
        slots: how many jobs there are side by side, asked when jobs are known; 0 where none is begun.
        console: where the line is shown.
        every: seconds between lines where that is no terminal.
    """

    SHOWN_HERE = frozenset({"job_info", "job_started", "job_finished", "progress", "run_info", "group_info"})

    def __init__(
        self,
        state: State,
        inner: logging.StreamHandler[Any],
        console: Console,
        *,
        every: float = 60,
        slots: Callable[[], int],
    ) -> None:
        super().__init__()
        self._state, self._inner, self._console, self._every = state, inner, console, every
        self._slots = slots
        self._bar: Bar | None = None
        self._over = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        event = _event(record)
        about: Any = record  # whose attributes depend on the event
        if event == "run_info" and (slots := self._slots()):
            self._state.slots = slots
            self._state.plan({**about.stats})
            self._begin()
        elif event == "job_info":
            self._state.begin(about.jobid, about.rule_name, about.wildcards or {}, about.rule_msg or "")
        elif event == "job_finished":
            self._state.end(about.job_id)
            if self._state.done >= self._state.total:
                self._finish()
        elif event == "job_error":
            self._state.fail(about.jobid)

    def _begin(self) -> None:
        self._inner.addFilter(lambda record: _event(record) not in self.SHOWN_HERE and record.msg != SELECTING)
        if self._console.is_terminal:
            text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1))
            columns = (BarColumn(bar_width=12), text)
            self._bar = Bar(*columns, console=self._console, expand=True, redirect_stdout=False, transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
            self._inner.setStream(sys.stderr)  # which the bar has replaced by one that writes above it
        else:
            self._show()
        if not self._ticking.is_alive():
            self._ticking.start()

    def _tick(self) -> None:
        while not self._over.wait(1 if self._bar else self._every):
            self._show()

    def _show(self) -> None:
        state = self._state
        if self._bar:
            self._bar.update(self._bar.task_ids[0], total=state.total, completed=state.done, description=state.line)
        else:
            self._console.print(
                f"[{time.strftime('%H:%M')}] {state.line}", markup=False, highlight=False, soft_wrap=True
            )

    def _finish(self) -> None:
        """Leave the terminal to others."""
        self._over.set()
        if self._bar:
            self._bar.stop()
            self._inner.setStream(sys.stderr)

    def close(self) -> None:
        self._finish()
        super().close()


def _event(record: logging.LogRecord) -> str:
    """The name of what happened, of Snakemake's `LogEvent`; empty for a plain message."""
    return str(getattr(record, "event", None) or "")


def follow(logger: logging.Logger, expected: Mapping[Key, float | None], slots: Callable[[], int]) -> None:
    """Show the progress of the run that begins, where Snakemake writes to the terminal itself.

    Arguments:
        logger: Snakemake's.
        expected: as of `State`.
        slots: as of `Progress`.
    """
    shown = [one for one in logger.handlers if isinstance(one, logging.StreamHandler) and one.name == SNAKEMAKES]
    for inner in shown:
        logger.addHandler(Progress(State(expected), inner, Console(stderr=True), slots=slots))

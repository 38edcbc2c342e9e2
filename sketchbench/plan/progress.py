"""The progress of a run of the workflow: one line that moves on a terminal, and a line a minute in a log.

A handler of Snakemake's logger counts jobs as they begin and end, and estimates the time left from the costs of runs
(`sketchbench.plan.cost`), at the pace of the jobs that have finished. A logger plugin would not do: Snakemake finds one
only as a package of its own on the module path, and goes on writing lines of its own for every job beside it.
"""

import atexit
import logging
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column

from sketchbench.plan.cost import format_duration

START = 2.0  # seconds that a job takes to start Python, on top of the cost of its runs
OTHER = 3.0  # seconds of a job that is no run, until one of its rule has finished
SNAKEMAKES = "DefaultStreamHandler"  # the name of Snakemake's own handler; beside a logger plugin there is none
SELECTING = "Select jobs to execute..."  # Snakemake's message whenever a job has ended
COURSE = frozenset({"job_info", "job_started", "job_finished", "progress", "run_info", "group_info"})  # events
PRIOR = 60.0  # seconds of runs that weigh as much as the recorded pace does
NAMED = 2  # jobs under way that are named, at most

Handler = logging.StreamHandler[Any]
Key = tuple[str, str]  # of a batch of runs: its study and number


@dataclass
class Job:
    """A job under way: its rule, its name in the line, its batch if it has runs, and its start in seconds."""

    rule: str
    name: str
    batch: Key | None
    begun: float


@dataclass
class State:
    """The jobs that are done, under way, and left."""

    expected: Mapping[Key, float | None]  # seconds of each batch to be done; None for one that was never measured
    news: Mapping[str, str] = field(default_factory=dict)  # by rule: what stands once its job has finished
    slots: int = 1  # jobs side by side
    clock: Callable[[], float] = time.monotonic  # seconds
    total: int = 0
    done: int = 0
    failed: set[int] = field(default_factory=set)
    running: dict[int, Job] = field(default_factory=dict)
    begun: set[Key | None] = field(default_factory=set)
    others: Counter[str] = field(default_factory=Counter)  # jobs without runs that are left, by rule
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # seconds of jobs without runs
    told: list[str] = field(default_factory=list)  # the news of jobs that have finished
    measured: float = PRIOR  # seconds of the batches that have finished
    recorded: float = PRIOR  # seconds that were expected of them

    def plan(self, stats: Mapping[str, int]) -> None:
        """Take the number of jobs of each rule."""
        self.total = stats.get("total", 0)
        self.others = Counter({rule: count for rule, count in stats.items() if rule not in ("total", "run", "all")})

    def begin(self, number: int, rule: str, wildcards: Mapping[str, str], message: str) -> None:
        """A job starts."""
        batch = (wildcards["study"], wildcards["batch"]) if rule == "run" else None
        self.begun.add(batch)
        self.running[number] = Job(rule, " ".join(batch) if batch else message or rule, batch, self.clock())
        self.failed.discard(number)

    def end(self, number: int) -> None:
        """A job has finished."""
        self.done += 1
        job = self.running.pop(number, None)
        if job and job.rule in self.news:
            self.told.append(self.news[job.rule])
        if job and not job.batch:
            self.others[job.rule] -= 1
            self.took[job.rule].append(self.clock() - job.begun)
        elif job and job.batch and (expected := self.expected.get(job.batch)) is not None:
            self.measured += self.clock() - job.begun
            self.recorded += expected + START

    def fail(self, number: int) -> None:
        """A job has failed; it may begin again."""
        self.running.pop(number, None)
        self.failed.add(number)

    @property
    def left(self) -> float | None:
        """Seconds until all is done, roughly; None if a batch that is left was never measured."""
        batches = [(seconds, 0.0) for batch, seconds in self.expected.items() if batch not in self.begun]
        now, pace = self.clock(), self.measured / self.recorded
        batches += [(self.expected.get(job.batch), now - job.begun) for job in self.running.values() if job.batch]
        left = [max((seconds + START) * pace - since, 0) for seconds, since in batches if seconds is not None]
        if len(left) < len(batches):
            return None
        for rule, count in self.others.items():
            left += [fmean(self.took[rule] or [OTHER])] * count
        return max(sum(left) / max(self.slots, 1), *left, 0.0)

    @property
    def line(self) -> str:
        """The whole state in one line."""
        names = [job.name for _, job in sorted(self.running.items())]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        parts = [f"{self.done} of {self.total} steps done", *self.told]
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if self.done < self.total:
            left = self.left
            parts.append("time left unknown" if left is None else f"about {format_duration(left)} left")
        if names:
            parts.append(f"now {', '.join(names[:NAMED])}{more}")
        return "; ".join(parts)


class Progress(logging.Handler):
    """Follows the events of Snakemake's logger, and shows the line.

    Arguments:
        state: before anything has begun.
        inner: Snakemake's own handler of the terminal, which goes on showing all but the course of jobs.
        console: where the line is shown.
        slots: the number of jobs side by side, which is known once jobs are; 0 in a dry run.
        every: seconds between lines, if the console is no terminal.
    """

    def __init__(
        self, state: State, inner: Handler, console: Console, *, slots: Callable[[], int], every: float = 60
    ) -> None:
        super().__init__()
        self._state, self._inner, self._console, self._slots, self._every = state, inner, console, slots, every
        self._bar: Bar | None = None
        self._over = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        event, about = _event(record), record.__dict__
        if event == "run_info" and (slots := self._slots()):
            self._state.slots = slots
            self._state.plan({**about["stats"]})
            self._begin()
        elif event == "job_info":
            wildcards, message = about["wildcards"] or {}, about["rule_msg"] or ""
            self._state.begin(about["jobid"], about["rule_name"], wildcards, message)
        elif event == "job_finished":
            self._state.end(about["job_id"])
            if self._state.done >= self._state.total:
                self.close()
        elif event == "job_error":
            self._state.fail(about["jobid"])

    def _begin(self) -> None:
        self._inner.addFilter(lambda record: _event(record) not in COURSE and record.msg != SELECTING)
        if self._console.is_terminal:
            text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1))
            columns = (BarColumn(bar_width=12), text)
            self._bar = Bar(*columns, console=self._console, expand=True, redirect_stdout=False, transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
            self._inner.setStream(sys.stderr)  # which the bar has replaced by one that writes above it
        else:
            self._show()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        while not self._over.wait(1 if self._bar else self._every):
            self._show()

    def _show(self) -> None:
        state = self._state
        if self._bar:
            self._bar.update(self._bar.task_ids[0], total=state.total, completed=state.done, description=state.line)
        else:
            line = f"[{time.strftime('%H:%M')}] {state.line}"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the terminal to others."""
        self._over.set()
        if self._bar:
            self._bar.stop()
            self._inner.setStream(sys.stderr)
        super().close()


def end_with(log: Path) -> None:
    """End what this process says with the last line of a log that a job writes while it runs: Snakemake's own last line
    comes after that of any handler."""
    since = time.time()

    def say() -> None:
        if log.is_file() and log.stat().st_mtime >= since:
            print(*log.read_text(encoding="utf-8").splitlines()[-1:], file=sys.stderr)

    atexit.register(say)


def _event(record: logging.LogRecord) -> str:
    """The name of an event, a `LogEvent` of Snakemake's; "" for a plain message."""
    return str(getattr(record, "event", None) or "")


def follow(
    logger: logging.Logger,
    expected: Mapping[Key, float | None],
    slots: Callable[[], int],
    news: Mapping[str, str],
) -> None:
    """Show the progress of the workflow by Snakemake's logger, unless a logger plugin writes to the terminal;
    `expected` and `news` as of `State`, `slots` as of `Progress`."""
    for inner in list(logger.handlers):
        if isinstance(inner, logging.StreamHandler) and inner.name == SNAKEMAKES:
            logger.addHandler(Progress(State(expected, news), inner, Console(stderr=True), slots=slots))

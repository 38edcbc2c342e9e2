"""A plan: which runs there are, in which jobs, with which records, logs and reports."""

import functools
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sketchbench.files import is_plain, write_text
from sketchbench.kernels.device import recorded_name
from sketchbench.measure.column import Column
from sketchbench.plan import cost, receipt
from sketchbench.plan.batch import Batch, Run, batches
from sketchbench.plan.selection import Places
from sketchbench.report import standing
from sketchbench.report.standing import Table
from sketchbench.run.course import knows

SHARED = "all"  # the place of a study in the receipts of what all studies share
PROCESSES = 2  # that they share: more would start Python and load kernels for longer than they compute


@dataclass(frozen=True)
class Skipped:
    """A combination that has no run, and why."""

    study: str
    name: str
    reason: str


@dataclass
class Plan:
    """All runs of the chosen studies, and the combinations left out.

    Attributes:
        places: the folders of its results, logs and reports.
        whole: whether all methods of its studies run, and not a user's own beside a few others.
        known: the names of all studies.
        together: of each study, how many runs share a process at most.
        shared: whether all studies share a few processes instead.
        kinds: of each study, what it compares: `sketch`, `recovery`, `compressor`, or "" for nothing.
        minutes: the time limit of a job of runs that know one; None for none.
        present: whether of trials that are runs only those that are there count, and none is made.
        standing: where only some studies were chosen, the tables of others, which are there and stay as they are.
        older: of these, what is not of this plan.
        besides: the studies that were not chosen, and could not have been, or are too long to be run unasked.
        takes: of each study that is not run, and has no table or one of other code, what it would take to run it.
    """

    scale: str
    kernels: str
    seed: int
    places: Places
    whole: bool = True
    known: list[str] = field(default_factory=list)
    together: dict[str, int] = field(default_factory=dict)
    shared: bool = False
    kinds: dict[str, str] = field(default_factory=dict)
    minutes: float | None = None
    present: bool = False
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    standing: dict[str, Table] = field(default_factory=dict)
    older: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    besides: list[Skipped] = field(default_factory=list)
    takes: dict[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[str]:
        """The studies whose tables are judged: those that it makes and those that stay as they are."""
        return sorted([*self.runs, *self.standing])

    @property
    def current(self) -> list[str]:
        """Those of them whose tables are wholly of this plan."""
        return [name for name in self.tables if name not in self.older]

    @property
    def settings(self) -> dict[str, str]:
        """What its records are made with, as seals of tables say it."""
        return {"seed": str(self.seed), "kernels": recorded_name(self.kernels)}

    def record(self, run: Run) -> str:
        """The path of a run's record, relative to the project where it is in it."""
        return f"{self.places.results}/{run.study}/{run.name}.parquet"

    @property
    def units(self) -> list[Run]:
        """What is run, study by study: runs, or in the place of one its trials, where these are runs of their own."""
        return [unit for runs in self.runs.values() for run in runs.values() for unit in run.parts or (run,)]

    @functools.cached_property
    def batches(self) -> dict[str, dict[str, Batch]]:
        """The batches of each study, by their numbers; where all studies share processes, those of `all`."""
        if self.shared:
            size = math.ceil(len(self.units) / PROCESSES)
            return {SHARED: self._batches(SHARED, list(self.runs), size)}
        return {study: self._batches(study, [study], self.together[study]) for study in self.runs}

    def _batches(self, name: str, studies: list[str], size: int) -> dict[str, Batch]:
        runs = {self.record(run): self._limited(run) for study in studies for run in self.runs[study].values()}
        found = list(batches(f"{self.places.results}/{name}", runs, size, self.record))
        if self.present and any(batch.needs for batch in found):
            found = [self._present(batch) for batch in found]
        return {Path(batch.receipt).stem: batch for batch in found if batch.runs}

    def _limited(self, run: Run) -> Run:
        """The run with its time limit, and a folder of checkpoints where it is long or has a limit."""
        if not knows(run.config) or not (run.parts or self.minutes):
            return run
        checkpoints = f"{self.places.results}/checkpoints/{checkpoints_of(run)}"
        parts = tuple(replace(part, minutes=self.minutes, checkpoints=checkpoints) for part in run.parts)
        return replace(run, parts=parts, minutes=None if parts else self.minutes, checkpoints=checkpoints)

    def _present(self, batch: Batch) -> Batch:
        """The batch without trials that are not made, of which others are made of those that are there."""
        return replace(batch, runs={p: run for p, run in batch.runs.items() if "trial" not in run.config}, needs=())

    def receipts(self, study: str) -> list[str]:
        """Of the batches that have runs of a study."""
        found = self.batches[SHARED if self.shared else study].values()
        return [batch.receipt for batch in found if any(run.study == study for run in batch.runs.values())]

    @property
    def all_receipts(self) -> list[str]:
        return [batch.receipt for found in self.batches.values() for batch in found.values()]

    def manifest(self, study: str) -> str:
        """What the table of a study needs to know of its runs, as JSON."""
        return json.dumps(self._entries(study))

    def _entries(self, study: str) -> list[dict[str, Any]]:
        return [
            {"record": self.record(run), "signature": run.signature, "columns": run.columns}
            | ({Column.PLANNED.value: len(run.parts)} if run.parts else {})
            for run in self.runs[study].values()
        ]

    def unfinished(self) -> list[str]:
        """What is to be gone on with, in a line or two, by the receipts that are there; nothing where all is done."""
        places = [Path(place) for place in self.all_receipts]
        texts = [place.read_text(encoding="utf-8") for place in places if place.is_file()]
        left = {path for text in texts for path in receipt.unfinished(text)}
        partly = left & {self.record(run) for runs in self.runs.values() for run in runs.values() if run.parts}
        lines = []
        if count := len(left - partly):
            lines.append(f"{count} runs have come to their time limit; the same command goes on with them")
        if partly:
            lines.append(f"{len(partly)} runs are made of those of their trials that are there, or have none yet")
        return lines

    @property
    def facts(self) -> str:
        """What the page of claims says of the run as a whole, as JSON."""
        told = [*self.skipped, *self.besides]
        left_out = [[s.study, s.name, s.reason] for s in sorted(told, key=lambda skipped: skipped.study)]
        facts = {"scale": self.scale, "kernels": recorded_name(self.kernels), "seed": self.seed}
        whole = self.whole and self.scale != "smoke"  # has all that the claims speak of
        kinds, older = (dict(sorted(found.items())) for found in (self.kinds, self.older))
        facts |= {"whole": whole, "skipped": left_out, "studies": self.known, "kinds": kinds, "older": older}
        facts["takes"] = dict(sorted(self.takes.items()))
        return json.dumps(facts)

    def describe(self) -> None:
        """Write what jobs are to do to the files that they read it from; what is there and the same is left alone.

        Raises FileError where one can't be written.
        """
        texts = {batch.description: batch.payload for found in self.batches.values() for batch in found.values()}
        if self.shared:
            texts[self.manifests] = json.dumps({study: self._entries(study) for study in self.runs})
        texts[f"{self.places.logs}/runs.csv"] = self._logs()
        texts[standing_file(self.places)] = standing.as_text(self.standing)
        for name, text in texts.items():
            path = Path(name)
            if not (is_plain(path) and path.read_text(encoding="utf-8", errors="replace") == text):
                write_text(path, text)

    def _logs(self) -> str:
        """Of every run, as CSV, the log and the record; a log has those of all runs of its job, in their order."""
        lines = [
            f"{run.study},{run.name},{self.places.logs}/{name}/{number}.log,{path}"
            for name, found in self.batches.items()
            for number, batch in found.items()
            for path, run in batch.runs.items()
        ]
        return "\n".join(["study,run,log,record", *sorted(lines)]) + "\n"

    @property
    def summary(self) -> str:
        """How many runs there are, in how many jobs, and how long they took when they were measured."""
        units = self.units
        known = [unit.seconds for unit in units if unit.seconds is not None]
        jobs = sum(map(len, self.batches.values()))
        unknown = f" (and {len(units) - len(known)} runs never measured)" if len(known) < len(units) else ""
        counted = f"{len(units)} runs in {jobs} jobs, {len(self.skipped)} skipped"
        return f"{counted}: {cost.told(sum(known))} of one processor core{unknown}"

    @property
    def manifests(self) -> str:
        """The file of the manifests of all tables, where one process makes them all."""
        return f"{self.places.results}/manifests.json"

    def left(self) -> dict[tuple[str, str], float | None]:
        """Of each batch that has no receipt, by study and number, the seconds that its missing records are known to
        take; None where one was never measured."""
        left = {}
        for name, found in self.batches.items():
            for number, batch in found.items():
                if not Path(batch.receipt).exists():
                    missing = {path: run for path, run in batch.runs.items() if not Path(path).exists()}
                    left[name, number] = Batch(batch.receipt, missing).seconds
        return left

    def check_records(self) -> list[str]:
        """Prepare for a run of what is missing: see `Batch.check`. Returns a line for each damaged record."""
        return [line for batches in self.batches.values() for batch in batches.values() for line in batch.check()]


def checkpoints_of(run: Run) -> str:
    """The name of a run's folder of checkpoints: its signature, or that of its first trial, which stays the same where
    there are more of them. Checkpoints of other code or another config are in another folder."""
    return (run.parts[0] if run.parts else run).signature


def standing_file(places: Places) -> str:
    """The file in which the jobs of a run read which tables were there when it began."""
    return f"{places.results}/standing.json"

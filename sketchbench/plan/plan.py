"""A plan: the runs to do, in batches, with the places of their records, logs and reports."""

import functools
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sketchbench.base.files import is_plain, write_text
from sketchbench.kernels.device import recorded_name
from sketchbench.measure.column import Column
from sketchbench.plan import cost
from sketchbench.plan.batch import Batch, Run, batches, packed, unfinished_records
from sketchbench.plan.selection import Places
from sketchbench.report import standing
from sketchbench.report.standing import RunTable

PROCESSES = 2  # of all studies: more would spend longer on starting Python than on computing
RUNS = 32  # maximum number of runs of a longer study in a process
SHORT = 100.0  # maximum seconds of a short study
PROCESS = 240.0  # maximum seconds of a process of short studies
UNMEASURED = 1e9  # the priority of an unmeasured batch, above the seconds of any
Sharing = Literal["all", "short", ""]  # which studies share processes; "" for none


class Skipped(NamedTuple):
    """A combination without a run, and the reason."""

    study: str
    name: str
    reason: str


@dataclass
class Plan:
    """All runs of the chosen studies, and the skipped combinations.

    Attributes:
        whole: whether all methods run; else only a user's methods with a few reference methods.
        all_studies: the names of all studies, chosen or not.
        sharing: the studies that share processes: all, or the short ones.
        reuse_trials_only: whether no trial is run, and records are joined from the existing trials.
        together: the largest number of runs in a process, by study.
        own: the names of the user's own methods by kind.
        kinds: the kind of the methods that a study compares, by study; "" for a study without methods.
        runs: by study and name.
        standing: the kept tables of studies that are not chosen.
        older: the methods whose rows in a kept table are outdated, by study and reason.
        besides: studies that are not chosen, and not for this scale or too long to run unasked.
        efforts: runs and hours of each study without an up-to-date table, in words.
    """

    scale: str
    kernels: str
    seed: int
    places: Places
    whole: bool = True
    own: dict[str, list[str]] = field(default_factory=dict)
    all_studies: list[str] = field(default_factory=list)
    sharing: Sharing = ""
    reuse_trials_only: bool = False
    together: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    standing: dict[str, RunTable] = field(default_factory=dict)
    older: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    besides: list[Skipped] = field(default_factory=list)
    efforts: dict[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[str]:
        """The studies whose tables are judged: those that the plan makes or keeps."""
        return sorted([*self.runs, *self.standing])

    @property
    def up_to_date_tables(self) -> list[str]:
        """The studies whose tables are up to date."""
        return [study for study in self.tables if study not in self.older]

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the records, in the form of the seals of tables."""
        return {"seed": str(self.seed), "kernels": recorded_name(self.kernels)}

    @property
    def all_runs(self) -> list[Run]:
        """The runs of all studies, without trials."""
        return [run for runs in self.runs.values() for run in runs.values()]

    @property
    def units(self) -> list[Run]:
        """The runs that compute: all runs, with its trials in place of a run that joins trials."""
        return [unit for run in self.all_runs for unit in run.trials or (run,)]

    @functools.cached_property
    def shared(self) -> list[str]:
        """The studies that share processes; a short study with a user's code, which may fail, does not share a
        process."""
        if self.sharing == "short":
            return [study for study, runs in self.runs.items() if _is_short(list(runs.values()))]
        return list(self.runs) if self.sharing else []

    @functools.cached_property
    def batches(self) -> dict[str, dict[str, Batch]]:
        """Batches by number, by study; by `sharing` for the studies that share them."""
        made: dict[str, dict[str, Batch]] = {}
        if self.sharing == "all":
            size = math.ceil(len(self.units) / PROCESSES)
            made["all"] = self._numbered(batches(self._folder("all"), self.all_runs, size))
        elif self.shared:
            short = [list(self.runs[study].values()) for study in self.shared]
            made["short"] = self._numbered(packed(self._folder("short"), short, PROCESS))
        for study in self.apart:
            runs, size = list(self.runs[study].values()), self.together[study]
            made[study] = self._numbered(batches(self._folder(study), runs, size))
        return made

    @property
    def apart(self) -> list[str]:
        """The studies with separate processes."""
        return [study for study in self.runs if study not in self.shared]

    def batches_of(self, study: str) -> dict[str, Batch]:
        """The batches, by number, that have runs of a study."""
        numbered = self.batches[self.sharing if study in self.shared else study]
        return {number: batch for number, batch in numbered.items() if any(run.study == study for run in batch.runs)}

    @property
    def first_batch(self) -> Batch | None:
        """The first batch that short studies share; it is judged before the others are done. None if there are no
        others."""
        numbered = self.batches.get("short", {})
        return numbered["1"] if len(numbered) > 1 else None

    @property
    def first(self) -> list[str]:
        """The studies of the first batch."""
        return list(dict.fromkeys(run.study for run in self.first_batch.runs)) if self.first_batch else []

    def priority(self, name: str, number: str) -> float:
        """The priority of a batch: highest for the first batch, then for unmeasured batches, then for the longest, so
        that no long batch runs alone at the end."""
        batch = self.batches[name][number]
        return 2 * UNMEASURED if batch is self.first_batch else batch.seconds or UNMEASURED

    def _folder(self, name: str) -> str:
        return f"{self.places.results}/{name}"

    def _numbered(self, made: list[Batch]) -> dict[str, Batch]:
        if self.reuse_trials_only:
            made = [replace(one, runs=[run for run in one.runs if "trial" not in run.config], needs=()) for one in made]
        return {Path(batch.receipt).stem: batch for batch in made if batch.runs}

    @property
    def all_batches(self) -> list[Batch]:
        return [batch for numbered in self.batches.values() for batch in numbered.values()]

    @property
    def all_receipts(self) -> list[str]:
        return [batch.receipt for batch in self.all_batches]

    def manifest(self, study: str) -> str:
        """The description, as JSON, of a study's runs for the job that makes its table."""
        return json.dumps(self._entries(study))

    def _entries(self, study: str) -> list[dict[str, Any]]:
        return [
            {"record": run.record, "signature": run.signature, "columns": run.columns}
            | ({Column.PLANNED.value: len(run.trials)} if run.trials else {})
            for run in self.runs[study].values()
        ]

    def unfinished(self) -> list[str]:
        """Lines on the runs that are unfinished by the receipts."""
        texts = [Path(place).read_text(encoding="utf-8") for place in self.all_receipts if Path(place).is_file()]
        left = {path for text in texts for path in unfinished_records(text)}
        joining = left & {run.record for run in self.all_runs if run.trials}
        lines = []
        if count := len(left - joining):
            lines.append(f"{count} runs reached their time limit; rerun the same command to resume")
        if joining:
            lines.append(f"{len(joining)} runs join only the finished ones of their trials")
        return lines

    @property
    def facts(self) -> str:
        """The facts about the plan, as JSON, for the page of claims."""
        facts = {
            **{"scale": self.scale, "kernels": recorded_name(self.kernels), "seed": self.seed},
            "whole": self.whole and self.scale != "smoke",  # the rows of all claims exist
            "skipped": sorted([*self.skipped, *self.besides], key=lambda skipped: skipped.study),
            "studies": self.all_studies,
            **{name: dict(sorted(getattr(self, name).items())) for name in ("kinds", "older")},
            "takes": dict(sorted(self.efforts.items())),
        }
        if self.own:
            facts |= {"own": self.own, "only_own": not self.whole}
        return json.dumps(facts)

    def describe(self) -> None:
        """Write the files that describe the work to jobs; unchanged files are kept. Raises FileError if a file can't be
        written."""
        texts = {batch.description: batch.payload for batch in self.all_batches}
        if self.shared:
            texts[self.manifests] = json.dumps({study: self._entries(study) for study in self.shared})
        if self.first:
            texts[self.first_manifests] = json.dumps({study: self._entries(study) for study in self.first})
        rows = [
            f"{run.study},{run.name},{self.places.logs}/{name}/{number}.log,{run.record}"
            for name, numbered in self.batches.items()
            for number, batch in numbered.items()
            for run in batch.runs
        ]
        texts[f"{self.places.logs}/runs.csv"] = "\n".join(["study,run,log,record", *sorted(rows), ""])
        texts[standing_file(self.places)] = standing.to_json(self.standing)
        for name, text in texts.items():
            path = Path(name)
            if not (is_plain(path) and path.read_text(encoding="utf-8", errors="replace") == text):
                write_text(path, text)

    @property
    def summary(self) -> str:
        """The numbers of runs and jobs, and the measured time of the runs, in one line."""
        units = self.units
        seconds = [unit.seconds for unit in units if unit.seconds is not None]
        unknown = f" (and {len(units) - len(seconds)} runs never measured)" if len(seconds) < len(units) else ""
        counted = f"{len(units)} runs in {len(self.all_batches)} jobs, {len(self.skipped)} skipped"
        return f"{counted}: {cost.format_duration(sum(seconds))} of one processor core{unknown}"

    @property
    def manifests(self) -> str:
        """The path of the manifests of tables made by one process."""
        return f"{self.places.results}/manifests.json"

    @property
    def first_manifests(self) -> str:
        """The path of the manifests of tables judged first."""
        return f"{self.places.results}/first.json"

    def check_records(self) -> list[str]:
        """A line for each damaged record and receipt of all batches: see `Batch.check`."""
        return [line for batch in self.all_batches for line in batch.check()]


def _is_short(runs: list[Run]) -> bool:
    """Return whether these are measured runs of the project's methods that take at most `SHORT` seconds."""
    if any(run.needs_folder or run.trials or run.seconds is None for run in runs):
        return False
    return sum(run.seconds or 0.0 for run in runs) <= SHORT


def standing_file(places: Places) -> str:
    """The path of the list of tables that existed when the workflow began."""
    return f"{places.results}/standing.json"

"""From studies to runs: which runs exist, their frozen configs, and what code each depends on.

`python -m sketchbench.plan` lists the runs. Everything that decides a run's outcome is in its
config and in its code digest; the two make its signature. Snakemake reruns a run when its
signature changes, and tables refuse a record that bears another one.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sketchbench import cost, kernels, receipt, seeds, standing, study
from sketchbench.batch import Batch, Run, batches
from sketchbench.blame import blamed
from sketchbench.command_line import Parser, program
from sketchbench.composition import CONF, METHODS, Composed, Composer, user_folder
from sketchbench.course import knows
from sketchbench.digest import CodeDigest
from sketchbench.execution import ConfigError, family_of
from sketchbench.files import is_plain, write_text
from sketchbench.inspection import files
from sketchbench.inspection.check import check_folder
from sketchbench.inspection.supervision import SECONDS
from sketchbench.measure.row import CONTROLS, Column
from sketchbench.parameters import choose
from sketchbench.reports import records_of
from sketchbench.schema import SCALES, load, validate
from sketchbench.selection import ALL, Own, Places, Selection, places_of, selection_of, unjudged
from sketchbench.signature import signature
from sketchbench.sketch.family import SizeError
from sketchbench.standing import Table
from sketchbench.study import NO_METHOD, TRIALS, Point, Study

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
        kinds: of each study, what it compares: `sketch`, `recovery`, or "" for nothing.
        minutes: the time limit of a job of runs that know one; None for none.
        present: whether of trials that are runs only those that are there count, and none is made.
        standing: where only some studies were chosen, the tables of others, which are there and stay as they are.
        older: of these, what is not of this plan.
        besides: the studies that were not chosen, and could not have been.
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
        return {"seed": str(self.seed), "kernels": self.kernels}

    def record(self, run: Run) -> str:
        """The path of a run's record, relative to the project where it is in it."""
        return f"{self.places.results}/{run.study}/{run.name}.parquet"

    @property
    def count(self) -> int:
        """How many runs there are, where trials that are runs of their own count as these."""
        return sum(len(run.parts) or 1 for runs in self.runs.values() for run in runs.values())

    @functools.cached_property
    def batches(self) -> dict[str, dict[str, Batch]]:
        """The batches of each study, by their numbers; where all studies share processes, those of `all`."""
        if self.shared:
            size = math.ceil(self.count / PROCESSES)
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
        facts = {"scale": self.scale, "kernels": self.kernels, "seed": self.seed}
        whole = self.whole and self.scale != "smoke"  # has all that the claims speak of
        kinds, older = (dict(sorted(found.items())) for found in (self.kinds, self.older))
        facts |= {"whole": whole, "skipped": left_out, "studies": self.known, "kinds": kinds, "older": older}
        return json.dumps(facts)

    def describe(self) -> None:
        """Write what jobs are to do to the files that they read it from; what is there and the same is left alone.

        Raises FileError where one can't be written.
        """
        texts = {batch.description: batch.payload for found in self.batches.values() for batch in found.values()}
        if self.shared:
            texts[self.manifests] = json.dumps({study: self._entries(study) for study in self.runs})
        texts[f"{self.places.logs}/runs.csv"] = self._logs()
        texts[_found(self.places)] = standing.as_text(self.standing)
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
        runs = [part for found in self.runs.values() for run in found.values() for part in run.parts or [run]]
        known = [run.seconds for run in runs if run.seconds is not None]
        jobs = sum(map(len, self.batches.values()))
        unknown = f" (and {len(runs) - len(known)} runs never measured)" if len(known) < len(runs) else ""
        counted = f"{len(runs)} runs in {jobs} jobs, {len(self.skipped)} skipped"
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


def _found(places: Places) -> str:
    """The file in which the jobs of a run read which tables were there when it began."""
    return f"{places.results}/standing.json"


def from_settings(settings: dict[str, Any], main: bool = True) -> Plan:
    """The plan of the workflow's settings (conf/workflow.yaml with what the user changed).

    Arguments:
        settings: as the schema of the workflow has them.
        main: whether this process decides what is made, and is not one of its jobs.

    Raises ConfigError for a setting that the schema does not know, RuntimeError where CuPy is asked for, the jobs run
    here, and there is no device, and FileError in a job that can't read what the main process wrote for it.
    """
    load(CONF / "workflow.yaml")  # Snakemake takes the last one of keys that are there twice
    validate(settings, "workflow", "settings")
    if settings["device"] == "here":
        kernels.usable(settings["kernels"])
    beside = settings["beside"] if settings["only"] else None
    if beside is not None and not settings["folder"]:
        raise ConfigError("only=mine needs folder=DIR as well, the folder of your own methods")
    there: dict[str, Table] = {}
    if settings["studies"] != ALL:
        places = places_of(settings["scale"], user_folder(settings["folder"]), apart=beside is not None)
        found = _found(places)
        there = standing.find(Path(places.reports), settings["scale"]) if main else standing.recalled(Path(found))
    plan = expand(
        *(settings[name] for name in ("scale", "kernels", "seed", "studies", "folder")),
        there=there,
        together=settings["together"][settings["scale"]],
        beside=beside,
        seconds=settings["check_seconds"],
    )
    plan.minutes, plan.present = settings["minutes"] or None, settings["trials"] == "there"
    return plan


def expand(
    scale: str = "quick",
    kernels_name: str = "auto",
    seed: int = 0,
    studies: str = "all",
    folder: str | Path = "",
    *,
    conf: Path = CONF,
    together: int | Literal["all"] = 1,
    beside: Mapping[str, Sequence[str]] | None = None,
    seconds: float = SECONDS,
    there: Mapping[str, Table] | None = None,
) -> Plan:
    """Expand studies into runs.

    Arguments:
        scale: a file of conf/scale.
        kernels_name: the backend; `auto` takes what is there.
        seed: the root of all randomness.
        studies: `all`, or names separated by commas.
        folder: a user's own, with `sketch/*.yaml` and perhaps modules; it is checked, and put on the module path.
        conf: the folder of all configs.
        together: how many runs of a study share a process at most, where the study does not say; `all`: all studies
            share a few processes.
        beside: by kind, the project's methods that a user's own are compared with, in the studies that take them up;
            None: all methods of all studies.
        seconds: how long the check of one of the user's methods may take.
        there: the tables that are there, by study. Those of studies that were not chosen stay as they are.

    Raises:
        ValueError: for an unknown study, in one line.
        ConfigError, SchemaError: for whatever is wrong in the configs, in one line; for a user's folder in a line for
            each mistake.
    """
    choose("scale", scale, SCALES)
    seeds.key(seed)  # refuses what is no seed
    user = user_folder(folder)
    if user:
        check_folder(user, conf, limit=seconds)
    places, known = places_of(scale, user, apart=beside is not None), study.names(conf)
    shared = together == "all"
    plan = Plan(scale, kernels.resolve(kernels_name), seed, places, beside is None, known, shared=shared)
    chosen = known if studies == ALL else [name.strip() for name in studies.split(",")]
    for name in chosen:
        choose("study", name, known)
    gpu = plan.kernels == "cupy"
    planned = [study.read(conf, name, scale, gpu=gpu) for name in chosen]
    others = [study.read(conf, name, scale, gpu=gpu) for name in known if name not in chosen]
    always = [one for one in others if one.always and scale in one.scales]
    there = {name: table for name, table in (there or {}).items() if name not in chosen}
    composer = Composer(conf, user)
    own = _own(composer, user) if user else {}
    selection = selection_of([*planned, *others], conf, own, beside)
    size = 1 if together == "all" else together
    expansion = Expansion(plan, user, composer, CodeDigest(), size, selection, cost.read())
    for one in planned:
        expansion.add(one)
    for one in others:
        expansion.keep(one, there.get(one.name))
    for one in always:
        expansion.add_always(one, there.get(one.name))
    for name, theory in own.get("sketch", {}).items():
        for measuring, key, reason in unjudged(conf, theory):
            plan.skipped.append(Skipped(measuring, f"{name}: theory.{key}", reason))
    composer.remember()
    return plan


def _own(composer: Composer, user: Path) -> Own:
    """The user's methods by kind, each with what its config claims."""
    found: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in METHODS}
    for kind, names in files.methods(user).items():
        for name in names:
            config = composer.resolved((f"{kind}={name}",), {}, "").config
            found[kind][name] = config[kind].get("theory") or {}
    return found


@dataclass(frozen=True)
class Expansion:
    """A plan in the making: studies are added, and become runs or reasons why there is none."""

    plan: Plan
    user: Path | None
    composer: Composer
    digest: CodeDigest
    together: int
    selection: Selection
    costs: Mapping[cost.Key, cost.Cost]

    def add(self, study: Study) -> None:
        """All runs of a study."""
        if not self._left_out(study, self.plan.skipped):
            self._add(study, self._all_runs(study))

    def keep(self, study: Study, table: Table | None) -> None:
        """A study that was not chosen: its table, if there is one, stays as it is, and is compared with what the plan
        would make of it. One for always is added later."""
        if self._left_out(study, self.plan.besides) or study.always or table is None:
            return
        runs = self._all_runs(study)
        self._keep(study, table, runs)
        for method in sorted({_method(run) for run in runs} - table.made_of.keys()):
            reason = "the table that is there was made without it; run the study again"
            self.plan.skipped.append(Skipped(study.name, method, reason))

    def add_always(self, study: Study, table: Table | None) -> None:
        """A study that was not chosen, but is one for always: its runs of the methods whose verdicts rest on it, and
        with them those of its controls. Its table stays as it is where it has all of that, as the plan would make it.

        They are the methods that are in the plan and in the tables that stay, and whatever its own table has.
        """
        runs = [] if self.selection.left_out(study) else self._all_runs(study)
        controls = {_method(run) for run in runs if _method(run).startswith(CONTROLS)}
        planned = self._planned(study.kind).intersection(map(_method, runs))
        kept = self._kept(study.kind).intersection(map(_method, runs))
        if table and runs:
            states = table.states(_made_of(runs), self.plan.settings)
            current = table.made_of.keys() - {method for found in states.values() for method in found}
            if kept <= table.made_of.keys() and (not planned or planned | controls <= current):
                self._keep(study, table, runs)
                return
        if wanted := planned | kept:
            wanted |= controls | (table.made_of.keys() if table else set())
            self._add(study, [run for run in runs if _method(run) in wanted])

    def _planned(self, kind: str) -> set[str]:
        """The methods of this kind that are in the plan."""
        found = [runs for name, runs in self.plan.runs.items() if self.plan.kinds[name] == kind]
        return {_method(run) for runs in found for run in runs.values()}

    def _kept(self, kind: str) -> set[str]:
        """The methods of this kind that are in tables which stay as they are."""
        found = [table for name, table in self.plan.standing.items() if self.plan.kinds[name] == kind]
        return {method for table in found for method in table.made_of}

    def _left_out(self, study: Study, told: list[Skipped]) -> bool:
        """Whether a study has no runs at all; why is added to what is told."""
        reason = f"it is for the scales {', '.join(study.scales)} only"
        left_out = reason if self.plan.scale not in study.scales else self.selection.left_out(study)
        if left_out:
            told.append(Skipped(study.name, "all runs", left_out))
        return bool(left_out)

    def _all_runs(self, study: Study) -> list[Run]:
        """The runs of all methods of a study, by their names."""
        runs = [run for method in self.selection.methods(study) for run in self._runs(study, method)]
        return sorted(runs, key=lambda run: run.name)

    def _add(self, study: Study, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        self.plan.together[study.name] = study.together or self.together
        self.plan.runs[study.name] = {run.name: run for run in runs}

    def _keep(self, study: Study, table: Table, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        self.plan.standing[study.name] = table
        if states := table.states(_made_of(runs), self.plan.settings):
            self.plan.older[study.name] = states

    def _runs(self, study: Study, method: str) -> list[Run]:
        """The runs of a study on one method."""
        runs = []
        for point in study.points():
            composed = self._composed(study, method, point)
            theory = composed.config.get(study.kind, {}).get("theory") or {}
            if not study.asks_for(theory):
                reason = f"its config claims no {' or '.join(study.needs)} under `theory`"
                self.plan.skipped.append(Skipped(study.name, method, reason))
                return []
            run = self._run(study, composed, point)
            try:
                if study.kind:
                    family_of(run.config)
            except SizeError as error:
                self.plan.skipped.append(Skipped(study.name, run.name, str(error)))
                continue
            except (Exception, SystemExit) as error:
                raise ConfigError(f"study {study.name}: {run.name}: {blamed(error, self.user) or error}") from None
            runs.append(run)
            if study.always:  # at the first size that the method takes
                break
        return runs

    def _composed(self, study: Study, method: str, point: Point) -> Composed:
        options = {"task": study.task, "scale": self.plan.scale, "kernels": self.plan.kernels, "seed": self.plan.seed}
        if study.kind:
            options[study.kind] = method
        options |= {f"{group}@task.{group}": name for group, name in point.parts.items()}
        overrides = tuple(f"{key}={value}" for key, value in options.items())
        return self.composer.resolved(overrides, point.values, f"conf/study/{study.name}.yaml")

    def _run(self, study: Study, composed: Composed, point: Point) -> Run:
        config, short = composed.config, dict(point.columns)
        method = label = NO_METHOD
        if study.kind:
            method, label = config[study.kind]["name"], composed.label
            short["b"] = config["b"]  # a sketch may have a size of its own
        name = f"{method}/" + "-".join(f"{key}{value}" for key, value in short.items())
        columns = {"method": method, "label": label, **short}
        known = self.costs.get(cost.Key(self.plan.scale, study.name))
        run = Run(study.name, name, config, self._signature(config), columns, known)
        return replace(run, parts=tuple(self._part(study, run, number) for number in range(study.trials or 0)))

    def _part(self, study: Study, run: Run, number: int) -> Run:
        """One trial of a run, as a run of its own."""
        if not knows(run.config):
            raise ConfigError(
                f"conf/study/{study.name}.yaml: trials: those of the task {study.task} can't be runs of their own;"
                f" say {TRIALS} under `set`"
            )
        config = {**run.config, "trial": number}
        return Run(run.study, f"{run.name}/trial{number}", config, self._signature(config), run.columns, run.cost)

    def _signature(self, config: dict[str, Any]) -> str:
        return signature(config, self.user, self.digest)


def _method(run: Run) -> str:
    """The method of a run, as in tables."""
    return str(run.columns[Column.METHOD])


def _made_of(runs: Sequence[Run]) -> dict[str, str]:
    """What a table of these runs would be made of."""
    return records_of([{"signature": run.signature, "columns": run.columns} for run in runs])


@program
def main(arguments: list[str] | None = None) -> None:
    parser = Parser(prog="python -m sketchbench.plan", description="List the runs that the studies expand to.")
    parser.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    parser.add_argument("--kernels", default="auto", help="auto, numpy, numba or cupy")
    parser.add_argument("--seed", type=int, default=0, help="root seed (default: 0)")
    parser.add_argument("--studies", default="all", help="names separated by commas")
    parser.add_argument("--folder", default="", help="your own folder of methods")
    parser.add_argument("--only", choices=["mine"], help="the methods of --folder, beside a few others")
    options = parser.parse_args(arguments)
    settings = load(CONF / "workflow.yaml")
    validate(settings, "workflow", "conf/workflow.yaml")
    chosen = {name: value for name, value in vars(options).items() if value is not None}
    plan = from_settings({**settings, **chosen, "device": "elsewhere"})
    for name, runs in plan.runs.items():
        for run in (part for whole in runs.values() for part in whole.parts or [whole]):
            seconds = f"{run.cost.seconds:.2g} s" if run.cost else "?"
            print(f"{name:24s} {run.name:56s} {run.signature} {seconds:>8s}")
    for skipped in plan.skipped:
        print(f"skipped: {skipped.study}: {skipped.name}: {skipped.reason}")
    print(plan.summary)


if __name__ == "__main__":
    main()

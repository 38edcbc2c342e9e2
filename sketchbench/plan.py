"""From studies to runs: which runs exist, their frozen configs, and what code each depends on.

`python -m sketchbench.plan` lists the runs. Everything that decides a run's outcome is in its
config and in its code digest; the two make its signature. Snakemake reruns a run when its
signature changes, and tables refuse a record that bears another one.
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sketchbench import cost, kernels, seeds, study
from sketchbench.batch import Batch, Run, batches
from sketchbench.blame import blamed
from sketchbench.command_line import Parser, program
from sketchbench.composition import CONF, METHODS, Composed, Composer, user_folder
from sketchbench.digest import CodeDigest
from sketchbench.execution import ConfigError, family_of
from sketchbench.files import is_plain, write_text
from sketchbench.inspection import files
from sketchbench.inspection.check import check_folder
from sketchbench.inspection.supervision import SECONDS
from sketchbench.measure.row import CONTROLS
from sketchbench.parameters import choose
from sketchbench.schema import SCALES, load, validate
from sketchbench.selection import Own, Places, Selection, places_of, selection_of, unjudged
from sketchbench.signature import signature
from sketchbench.sketch.family import SizeError
from sketchbench.study import NO_METHOD, Point, Study

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
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def record(self, run: Run) -> str:
        """The path of a run's record, relative to the project where it is in it."""
        return f"{self.places.results}/{run.study}/{run.name}.parquet"

    @functools.cached_property
    def batches(self) -> dict[str, dict[str, Batch]]:
        """The batches of each study, by their numbers; where all studies share processes, those of `all`."""
        if self.shared:
            size = math.ceil(sum(map(len, self.runs.values())) / PROCESSES)
            return {SHARED: self._batches(SHARED, list(self.runs), size)}
        return {study: self._batches(study, [study], self.together[study]) for study in self.runs}

    def _batches(self, name: str, studies: list[str], size: int) -> dict[str, Batch]:
        runs = {self.record(run): run for study in studies for run in self.runs[study].values()}
        found = batches(f"{self.places.results}/{name}", runs, size)
        return {str(number): batch for number, batch in enumerate(found, 1)}

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
            for run in self.runs[study].values()
        ]

    @property
    def facts(self) -> str:
        """What the page of claims says of the run as a whole, as JSON."""
        left_out = [[s.study, s.name, s.reason] for s in self.skipped]
        facts = {"scale": self.scale, "kernels": self.kernels, "seed": self.seed}
        whole = self.whole and self.scale != "smoke"  # has all that the claims speak of
        told = {"whole": whole, "skipped": left_out, "studies": self.known, "kinds": self.kinds}
        return json.dumps({**facts, **told})

    def describe(self) -> None:
        """Write what jobs are to do to the files that they read it from; what is there and the same is left alone.

        Raises FileError where one can't be written.
        """
        texts = {batch.description: batch.payload for found in self.batches.values() for batch in found.values()}
        if self.shared:
            texts[self.manifests] = json.dumps({study: self._entries(study) for study in self.runs})
        texts[f"{self.places.logs}/runs.csv"] = self._logs()
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
        runs = [run for found in self.runs.values() for run in found.values()]
        known = [run.cost.seconds for run in runs if run.cost]
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


def from_settings(settings: dict[str, Any]) -> Plan:
    """The plan of the workflow's settings (conf/workflow.yaml with what the user changed).

    Raises ConfigError for a setting that the schema does not know, and RuntimeError where CuPy is
    asked for, the jobs run here, and there is no device.
    """
    load(CONF / "workflow.yaml")  # Snakemake takes the last one of keys that are there twice
    validate(settings, "workflow", "settings")
    if settings["device"] == "here":
        kernels.usable(settings["kernels"])
    beside = settings["beside"] if settings["only"] else None
    if beside is not None and not settings["folder"]:
        raise ConfigError("only=mine needs folder=DIR as well, the folder of your own methods")
    return expand(
        *(settings[name] for name in ("scale", "kernels", "seed", "studies", "folder")),
        together=settings["together"][settings["scale"]],
        beside=beside,
        seconds=settings["check_seconds"],
    )


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
    chosen = known if studies == "all" else [name.strip() for name in studies.split(",")]
    for name in chosen:
        choose("study", name, known)
    planned = [study.read(conf, name, scale) for name in chosen]
    others = (study.read(conf, name, scale) for name in known if name not in chosen)
    always = [one for one in others if one.always and scale in one.scales]
    composer = Composer(conf, user)
    own = _own(composer, user) if user else {}
    selection = selection_of([*planned, *always], conf, own, beside)
    size = 1 if together == "all" else together
    expansion = Expansion(plan, user, composer, CodeDigest(), size, selection, cost.read())
    for one in planned:
        expansion.add(one)
    for one in always:
        expansion.add_always(one)
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
        if self.plan.scale not in study.scales:
            reason = f"it is for the scales {', '.join(study.scales)} only"
            self.plan.skipped.append(Skipped(study.name, "all runs", reason))
            return
        if left_out := self.selection.left_out(study):
            self.plan.skipped.append(Skipped(study.name, "all runs", left_out))
            return
        self._add(study, self.selection.methods(study))

    def add_always(self, study: Study) -> None:
        """A study that was not chosen, but is one for always: its runs of methods that are in the plan, and with them
        those of its controls."""
        planned = {
            run.columns["method"]
            for name, runs in self.plan.runs.items()
            for run in runs.values()
            if self.plan.kinds[name] == study.kind
        }
        methods = [] if self.selection.left_out(study) else self.selection.methods(study)
        if wanted := planned.intersection(methods):
            self._add(study, [method for method in methods if method in wanted or method.startswith(CONTROLS)])

    def _add(self, study: Study, methods: Sequence[str]) -> None:
        runs = [run for method in methods for run in self._runs(study, method)]
        self.plan.kinds[study.name] = study.kind
        self.plan.together[study.name] = study.together or self.together
        self.plan.runs[study.name] = {run.name: run for run in sorted(runs, key=lambda run: run.name)}

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
        return Run(study.name, name, config, signature(config, self.user, self.digest), columns, known)


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
        for run in runs.values():
            seconds = f"{run.cost.seconds:.2g} s" if run.cost else "?"
            print(f"{name:24s} {run.name:56s} {run.signature} {seconds:>8s}")
    for skipped in plan.skipped:
        print(f"skipped: {skipped.study}: {skipped.name}: {skipped.reason}")
    print(plan.summary)


if __name__ == "__main__":
    main()

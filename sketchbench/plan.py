"""From studies to runs: which runs exist, their frozen configs, and what code each depends on.

`python -m sketchbench.plan` lists the runs. Everything that decides a run's outcome is in its
config and in its code digest; the two make its signature. Snakemake reruns a run when its
signature changes, and tables refuse a record that bears another one.
"""

import argparse
import dataclasses
import functools
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sketchbench import kernels, study
from sketchbench.batch import Batch, Run, batches
from sketchbench.composition import CONF, Composed, Composer, user_folder
from sketchbench.digest import CodeDigest
from sketchbench.execution import ConfigError, family_of
from sketchbench.measure.row import CONTROLS
from sketchbench.parameters import choose
from sketchbench.schema import validate
from sketchbench.signature import signature
from sketchbench.sketch.family import SizeError
from sketchbench.study import NO_METHOD, Point, Study


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
        known: the names of all studies.
        together: of each study, how many runs share a process at most.
        kinds: of each study, what it compares: `sketch`, `recovery`, or "" for nothing.
    """

    scale: str
    kernels: str
    seed: int
    known: list[str] = field(default_factory=list)
    together: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def record(self, run: Run) -> str:
        """The path of a run's record, relative to the project."""
        return f"results/{self.scale}/{run.study}/{run.name}.parquet"

    @functools.cached_property
    def batches(self) -> dict[str, dict[str, Batch]]:
        """The batches of each study, by their numbers."""
        return {study: self._batches(study) for study in self.runs}

    def _batches(self, study: str) -> dict[str, Batch]:
        runs = {self.record(run): run for run in self.runs[study].values()}
        found = batches(f"results/{self.scale}/{study}", runs, self.together[study])
        return {str(number): batch for number, batch in enumerate(found, 1)}

    def receipts(self, study: str) -> list[str]:
        return [batch.receipt for batch in self.batches[study].values()]

    @property
    def all_receipts(self) -> list[str]:
        return [path for study in self.runs for path in self.receipts(study)]

    def manifest(self, study: str) -> str:
        """What the table of a study needs to know of its runs, as JSON."""
        entries = [
            {"record": self.record(run), "signature": run.signature, "columns": run.columns}
            for run in self.runs[study].values()
        ]
        return json.dumps(entries)

    @property
    def facts(self) -> str:
        """What the page of claims says of the run as a whole, as JSON."""
        left_out = [[s.study, s.name, s.reason] for s in self.skipped]
        facts = {"scale": self.scale, "kernels": self.kernels, "seed": self.seed}
        return json.dumps({**facts, "skipped": left_out, "studies": self.known, "kinds": self.kinds})

    def check_records(self) -> list[str]:
        """Prepare for a run of what is missing: see `Batch.check`. Returns a line for each damaged record."""
        return [line for batches in self.batches.values() for batch in batches.values() for line in batch.check()]


def from_settings(settings: dict[str, Any]) -> Plan:
    """The plan of the workflow's settings (conf/workflow.yaml with what the user changed).

    Raises ConfigError for a setting that the schema does not know, and RuntimeError where CuPy is
    asked for, the jobs run here, and there is no device.
    """
    validate(settings, "workflow", "settings")
    if settings["device"] == "here":
        kernels.usable(settings["kernels"])
    names = ("scale", "kernels", "seed", "studies", "folder")
    scale, kernels_name, seed, studies, folder = (settings[name] for name in names)
    return expand(scale, kernels_name, seed, studies, folder, together=settings["together"][scale])


def expand(
    scale: str = "quick",
    kernels_name: str = "auto",
    seed: int = 0,
    studies: str = "all",
    folder: str | Path = "",
    conf: Path = CONF,
    together: int = 1,
) -> Plan:
    """Expand studies into runs.

    Arguments:
        scale: a file of conf/scale.
        kernels_name: the backend; `auto` takes what is there.
        seed: the root of all randomness.
        studies: `all`, or names separated by commas.
        folder: a user's own, with `sketch/*.yaml` and perhaps modules; it is put on the module path.
        conf: the folder of all configs.
        together: how many runs of a study share a process at most, where the study does not say.

    Raises:
        ValueError: for an unknown study, in one line.
        ConfigError, SchemaError: in one line, for whatever is wrong in the configs.
    """
    user = user_folder(folder)
    plan = Plan(scale, kernels.resolve(kernels_name), seed, known=study.names(conf))
    chosen = plan.known if studies == "all" else [name.strip() for name in studies.split(",")]
    for name in chosen:
        choose("study", name, plan.known)
    expansion = Expansion(plan, conf, user, Composer(conf, user), CodeDigest(), together)
    for name in chosen:
        expansion.add(study.read(conf, name, scale))
    for name in plan.known:
        if name not in chosen:
            expansion.add_always(study.read(conf, name, scale))
    expansion.composer.remember()
    return plan


@dataclass(frozen=True)
class Expansion:
    """A plan in the making: studies are added, and become runs or reasons why there is none."""

    plan: Plan
    conf: Path
    user: Path | None
    composer: Composer
    digest: CodeDigest
    together: int

    def add(self, study: Study) -> None:
        """All runs of a study."""
        if self.plan.scale not in study.scales:
            reason = f"it is for the scales {', '.join(study.scales)} only"
            self.plan.skipped.append(Skipped(study.name, "all runs", reason))
            return
        runs = [run for method in self._methods(study) for run in self._runs(study, method)]
        self.plan.kinds[study.name] = study.kind
        self.plan.together[study.name] = study.together or self.together
        self.plan.runs[study.name] = {run.name: run for run in sorted(runs, key=lambda run: run.name)}

    def add_always(self, study: Study) -> None:
        """A study that was not chosen: where it is one for always, its runs of methods that are in the plan, and with
        them those of its controls."""
        if not study.always or self.plan.scale not in study.scales:
            return
        runs = [
            run
            for name in self.plan.runs
            if self.plan.kinds[name] == study.kind
            for run in self.plan.runs[name].values()
        ]
        planned = {run.columns["method"] for run in runs}
        methods = self._methods(study)
        if wanted := planned.intersection(methods):
            kept = [method for method in methods if method in wanted or method.startswith(CONTROLS)]
            self.add(dataclasses.replace(study, methods=kept))

    def _methods(self, study: Study) -> list[str]:
        """The methods of a study, by name."""
        named = [study.methods] if isinstance(study.methods, str) else study.methods
        return [method for name in named for method in (self._all(study.kind) if name == "all" else [name])]

    def _all(self, kind: str) -> list[str]:
        """What e.g. `sketch: all` means: the files in conf/sketch and in the user's folder."""
        folders = [self.conf / kind] + ([self.user / kind] if self.user else [])
        return sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})

    def _runs(self, study: Study, method: str) -> list[Run]:
        """The runs of a study on one method."""
        runs = []
        for point in study.points():
            composed = self._composed(study, method, point)
            theory = composed.config.get(study.kind, {}).get("theory") or {}
            if study.needs and all(theory.get(key) is None for key in study.needs):
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
            except (ValueError, TypeError) as error:
                raise ConfigError(f"study {study.name}: {run.name}: {error}") from None
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
        return Run(study.name, name, config, signature(config, self.user, self.digest), columns)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m sketchbench.plan", description="List the runs that the studies expand to."
    )
    parser.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    parser.add_argument("--kernels", default="auto", help="auto, numpy, numba or cupy")
    parser.add_argument("--seed", type=int, default=0, help="root seed (default: 0)")
    parser.add_argument("--studies", default="all", help="names separated by commas")
    parser.add_argument("--folder", default="", help="your own folder of sketches")
    options = parser.parse_args(arguments)
    try:
        plan = expand(options.scale, options.kernels, options.seed, options.studies, options.folder)
    except (ConfigError, ValueError, RuntimeError) as error:
        sys.exit(f"sketchbench: error: {error}")
    for name, runs in plan.runs.items():
        for run in runs.values():
            print(f"{name:24s} {run.name:56s} {run.signature}")
    for skipped in plan.skipped:
        print(f"skipped: {skipped.study}: {skipped.name}: {skipped.reason}")
    print(f"{sum(map(len, plan.runs.values()))} runs, {len(plan.skipped)} skipped")


if __name__ == "__main__":
    main()

"""Studies expanded into runs: each combination of methods, sizes and settings, with its config and signature."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sketchbench.base.course import can_resume
from sketchbench.base.errors import ConfigError, blame
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.plan import cost
from sketchbench.plan.batch import Run
from sketchbench.plan.plan import Plan, Skipped
from sketchbench.plan.selection import Selection
from sketchbench.report.inputs import records_inputs
from sketchbench.report.standing import RunTable
from sketchbench.run.config.composition import Composer
from sketchbench.run.config.study import NO_METHOD, TRIALS, Study, StudyPoint
from sketchbench.run.digest import CodeDigest
from sketchbench.run.execution import check_sizes
from sketchbench.run.signature import signature
from sketchbench.sketch.family import SizeError


@dataclass(frozen=True)
class Expansion:
    """Adds studies to a plan: their runs, or the reasons for having none."""

    plan: Plan
    user: Path | None  # the user's own folder
    composer: Composer
    digest: CodeDigest
    together: int  # the largest number of runs in a process, for a study without a number of its own
    selection: Selection
    costs: Mapping[cost.Key, cost.Cost]
    minutes: float | None = None  # the time limit of runs that can resume

    def add(self, study: Study) -> None:
        """Plan all runs of a chosen study."""
        if not self._is_left_out(study, self.plan.skipped):
            runs, skipped = self._expanded(study)
            self.plan.skipped += skipped
            self._make(study, runs)

    def keep(self, study: Study, table: RunTable | None) -> None:
        """Keep the table of a study that is not chosen, and compare it with the plan; without a table, note the effort.
        `add_always` handles a study that is `always`."""
        if self._is_left_out(study, self.plan.besides) or study.always:
            return
        runs, skipped = self._expanded(study)
        if table:
            self._stand(study, table, runs)
            reason = "the existing table was made without it; run the study again"
            new = sorted(_methods(runs) - table.made_of.keys())
            self.plan.skipped += [*skipped, *(Skipped(study.name, method, reason) for method in new)]
            return
        effort = self.plan.efforts[study.name] = self._effort(study, runs)
        if study.long:
            reason = f"{effort}; run it by --studies {study.name}"
            self.plan.besides.append(Skipped(study.name, "all runs", reason))

    def add_always(self, study: Study, table: RunTable | None) -> None:
        """Plan a study that is `always` and not chosen: on its controls, and on the methods of the plan, of the kept
        tables and of its own table. An up-to-date table with all of these methods is kept."""
        if self.selection.left_out(study):
            return
        runs, skipped = self._expanded(study)
        self.plan.skipped += skipped
        methods = _methods(runs)
        controls = {method for method in methods if method.startswith(CONTROLS)}
        planned = methods & _methods(run for run in self.plan.all_runs if self.plan.kinds[run.study] == study.kind)
        tables = [table for name, table in self.plan.standing.items() if self.plan.kinds[name] == study.kind]
        standing = methods & {method for other in tables for method in other.made_of}
        if table and runs:
            older = table.states(_made_of(runs), self._settings(study)).values()
            current = table.made_of.keys() - {method for listed in older for method in listed}
            if standing <= table.made_of.keys() and (not planned or planned | controls <= current):
                self._stand(study, table, runs)
                return
        if wanted := planned | standing:
            wanted |= controls | (table.made_of.keys() if table else set())
            self._make(study, [run for run in runs if run.columns[Column.METHOD] in wanted])

    def _is_left_out(self, study: Study, skipped: list[Skipped]) -> bool:
        """Return whether a study has no runs; if so, add the reason to `skipped`."""
        reason = self.selection.left_out(study)
        if self.plan.scale not in study.scales:
            reason = f"it is for the scales {', '.join(study.scales)} only"
        if reason:
            skipped.append(Skipped(study.name, "all runs", reason))
        return bool(reason)

    def _make(self, study: Study, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        self.plan.together[study.name] = study.together or (1 if study.trial_runs else self.together)  # they are long
        self.plan.runs[study.name] = {run.name: run for run in runs}

    def _settings(self, study: Study) -> dict[str, str]:
        """The settings of a study's records, in the form of the seal of its table."""
        return {**self.plan.settings, "seed": str(self.plan.seed + study.seed)}

    def _stand(self, study: Study, table: RunTable, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        self.plan.standing[study.name] = table
        if states := table.states(_made_of(runs), self._settings(study)):
            self.plan.older[study.name] = states
            self.plan.efforts[study.name] = self._effort(study, runs)

    def _effort(self, study: Study, runs: Sequence[Run]) -> str:
        """The number of runs and their time on one core, in words."""
        count = sum(len(run.trials) or 1 for run in runs)
        if study.long:
            return f"{count} runs, {study.long.hours:g} hours of one processor core ({study.long.measured}), or a GPU"
        if known := self.costs.get(cost.Key(self.plan.scale, study.name)):
            return f"{count} runs, {cost.format_duration(known.seconds * count)} of one processor core"
        return f"{count} runs, never measured"

    def _expanded(self, study: Study) -> tuple[list[Run], list[Skipped]]:
        """Return the runs of a study, sorted by name, and its combinations without a run. Points that differ only in a
        size that the method fixes are one run."""
        runs: dict[str, Run] = {}
        skipped: list[Skipped] = []
        for method in self.selection.methods(study):
            for point in study.points(method):
                run = self._run(study, method, point)
                if not study.takes(run.config.get(study.kind, {}).get("theory") or {}):
                    reason = f"its config claims no {' or '.join(study.needs)} under `theory`"
                    skipped.append(Skipped(study.name, method, reason))
                    break
                if reason := self._impossible(study, run):
                    skipped.append(Skipped(study.name, run.name, reason))
                    continue
                runs[run.name] = run
                if study.always:  # at the first size that the method takes
                    break
        return [runs[name] for name in sorted(runs)], skipped

    def _impossible(self, study: Study, run: Run) -> str:
        """The reason why a combination has no run; "" if it has one."""
        if run.config["task"].get("trials") == 0:
            return f"{study.name}.yaml sets no trials for it at this scale"
        try:
            check_sizes(run.config)
        except SizeError as error:
            return str(error)
        except (Exception, SystemExit) as error:
            raise ConfigError(f"study {study.name}: {run.name}: {blame(error, self.user) or error}") from None
        return ""

    def _run(self, study: Study, method: str, point: StudyPoint) -> Run:
        """Return a run with its trials, if these are runs, with its time limit, and, given either, with a folder of
        checkpoints."""
        chosen = [f"{study.kind}={method}"] if study.kind else []
        overrides = (f"task={study.task}", f"scale={self.plan.scale}", *chosen, *point.overrides)
        values = {"kernels": self.plan.kernels, "seed": self.plan.seed + study.seed, **point.values}
        config, label = self.composer.resolved(overrides, values, f"{study.name}.yaml")
        sizes = dict(point.columns)
        if study.kind and "b" in config:
            sizes["b"] = config["b"]  # a sketch may have a size of its own
        name = f"{method}/" + "-".join(f"{key}{value}" for key, value in sizes.items())
        columns = {"method": method, "label": label if study.kind else NO_METHOD, **sizes}
        folder = f"{self.plan.places.results}/{study.name}"
        known = self.costs.get(cost.Key(self.plan.scale, study.name))
        count = config["task"].get("trials") if study.trial_runs else 0
        if study.trial_runs and not (can_resume(config) and isinstance(count, int)):
            raise ConfigError(
                f"{study.name}.yaml: trials: the task {study.task} has no trials that can be separate runs;"
                f" leave it out, and set {TRIALS} under `set`"
            )
        configs = {name: config} | {f"{name}/trial{number}": {**config, "trial": number} for number in range(count)}
        run, *trials = (
            Run(study.name, key, one, signature(one, self.user, self.digest), columns, f"{folder}/{key}.parquet", known)
            for key, one in configs.items()
        )
        if not can_resume(config) or not (trials or self.minutes):
            return run
        checkpoints = f"{self.plan.places.results}/checkpoints/{(trials or [run])[0].signature}"
        limited = [replace(one, minutes=self.minutes, checkpoints=checkpoints) for one in trials or [run]]
        return replace(run, trials=tuple(limited), checkpoints=checkpoints) if trials else limited[0]


def _methods(runs: Iterable[Run]) -> set[str]:
    return {run.columns[Column.METHOD] for run in runs}


def _made_of(runs: Iterable[Run]) -> dict[str, str]:
    """The records of a table of these runs."""
    return records_inputs([{"signature": run.signature, "columns": run.columns} for run in runs])

"""Studies expanded into runs: each combination of methods, sizes and settings, with its config and signature."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from sketchbench.config.composition import Composed, Composer
from sketchbench.config.study import NO_METHOD, TRIALS, Point, Study
from sketchbench.errors import ConfigError, blame
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.plan import cost
from sketchbench.plan.batch import Run
from sketchbench.plan.plan import Plan, Skipped
from sketchbench.plan.selection import Selection
from sketchbench.report.standing import Table, table_inputs
from sketchbench.run.course import can_resume
from sketchbench.run.digest import CodeDigest
from sketchbench.run.execution import check_sizes
from sketchbench.run.signature import signature
from sketchbench.sketch.family import SizeError


class Expanded(NamedTuple):
    """The runs of a study in the order of their names, and its combinations without a run."""

    runs: list[Run]
    skipped: list[Skipped]


@dataclass(frozen=True)
class Expansion:
    """Adds studies to a plan: their runs, or the reasons why they have none.

    Attributes:
        user: the user's own folder; None for none.
        together: the largest number of runs in a process, for a study without a number of its own.
        costs: of runs, by scale and study.
        minutes: the time limit of runs that can stop and go on; None for none.
    """

    plan: Plan
    user: Path | None
    composer: Composer
    digest: CodeDigest
    together: int
    selection: Selection
    costs: Mapping[cost.Key, cost.Cost]
    minutes: float | None = None

    def add(self, study: Study) -> None:
        """A study that was chosen: all its runs."""
        if not self._is_left_out(study, self.plan.skipped):
            runs, skipped = self._expanded(study)
            self.plan.skipped += skipped
            self._make(study, runs)

    def keep(self, study: Study, table: Table | None) -> None:
        """A study that was not chosen: its table, where there is one, stays, and is compared with the plan. One that is
        `always` is left to `add_always`."""
        if self._is_left_out(study, self.plan.besides) or study.always:
            return
        runs, skipped = self._expanded(study)
        if table:
            self.plan.skipped += skipped
            self._stand(study, table, runs)
            for method in sorted(_methods(runs) - table.made_of.keys()):
                reason = "the table that is there was made without it; run the study again"
                self.plan.skipped.append(Skipped(study.name, method, reason))
            return
        effort = self.plan.efforts[study.name] = self._effort(study, runs)
        if study.long:
            self.plan.besides.append(
                Skipped(study.name, "all runs", f"{effort}; run it by its name: studies={study.name}")
            )

    def add_always(self, study: Study, table: Table | None) -> None:
        """A study that is `always` and was not chosen: its runs on the methods of the plan, of the tables that stay and
        of its own table, and on its controls. Where its table has all of that, as the plan would make it, it stays."""
        runs, skipped = Expanded([], []) if self.selection.left_out(study) else self._expanded(study)
        self.plan.skipped += skipped
        methods = _methods(runs)
        controls = {method for method in methods if method.startswith(CONTROLS)}
        planned = methods & _methods(run for run in self.plan.all_runs if self.plan.kinds[run.study] == study.kind)
        tables = [table for name, table in self.plan.standing.items() if self.plan.kinds[name] == study.kind]
        standing = methods & {method for other in tables for method in other.made_of}
        if table and runs:
            older = table.states(_made_of(runs), self.plan.settings).values()
            current = table.made_of.keys() - {method for listed in older for method in listed}
            if standing <= table.made_of.keys() and (not planned or planned | controls <= current):
                self._stand(study, table, runs)
                return
        if wanted := planned | standing:
            wanted |= controls | (table.made_of.keys() if table else set())
            self._make(study, [run for run in runs if _method(run) in wanted])

    def _is_left_out(self, study: Study, skipped: list[Skipped]) -> bool:
        """Whether a study has no runs at all; the reason is added to what is skipped."""
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

    def _stand(self, study: Study, table: Table, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        self.plan.standing[study.name] = table
        if states := table.states(_made_of(runs), self.plan.settings):
            self.plan.older[study.name] = states
            self.plan.efforts[study.name] = self._effort(study, runs)

    def _effort(self, study: Study, runs: Sequence[Run]) -> str:
        """The number of runs, and the time that they keep a processor core busy, in words."""
        count = sum(len(run.trials) or 1 for run in runs)
        if study.long:
            return f"{count} runs, {study.long.hours:g} hours of one processor core ({study.long.measured}), or a GPU"
        if known := self.costs.get(cost.Key(self.plan.scale, study.name)):
            return f"{count} runs, {cost.format_duration(known.seconds * count)} of one processor core"
        return f"{count} runs, never measured"

    def _expanded(self, study: Study) -> Expanded:
        """The runs of a study on all its methods; a run that a method with a size of its own has at several points
        counts once."""
        runs: dict[str, Run] = {}
        skipped: list[Skipped] = []
        for method in self.selection.methods(study):
            for point in study.points(method):
                composed = self._composed(study, method, point)
                if not study.takes(composed.config.get(study.kind, {}).get("theory") or {}):
                    reason = f"its config claims no {' or '.join(study.needs)} under `theory`"
                    skipped.append(Skipped(study.name, method, reason))
                    break
                run = self._run(study, composed, point)
                if reason := self._impossible(study, run):
                    skipped.append(Skipped(study.name, run.name, reason))
                    continue
                runs[run.name] = run
                if study.always:  # at the first size that the method takes
                    break
        return Expanded([runs[name] for name in sorted(runs)], skipped)

    def _impossible(self, study: Study, run: Run) -> str:
        """The reason why a combination has no run; "" where it has one."""
        if run.config["task"].get("trials") == 0:
            return f"conf/study/{study.name}.yaml wants no trials of it at this scale"
        try:
            check_sizes(run.config)
        except SizeError as error:
            return str(error)
        except (Exception, SystemExit) as error:
            raise ConfigError(f"study {study.name}: {run.name}: {blame(error, self.user) or error}") from None
        return ""

    def _composed(self, study: Study, method: str, point: Point) -> Composed:
        options = {"task": study.task, "scale": self.plan.scale, "kernels": self.plan.kernels, "seed": self.plan.seed}
        if study.kind:
            options[study.kind] = method
        options |= {f"{group}@task.{group}": name for group, name in point.groups.items()}
        overrides = tuple(f"{key}={value}" for key, value in options.items())
        return self.composer.resolved(overrides, point.values, f"conf/study/{study.name}.yaml")

    def _run(self, study: Study, composed: Composed, point: Point) -> Run:
        """A run with its trials, where these are runs, with its time limit, and with a folder of checkpoints where it
        has trials or a limit."""
        config, sizes = composed.config, dict(point.columns)
        method = label = NO_METHOD
        if study.kind:
            method, label = config[study.kind]["name"], composed.label
            if "b" in config:
                sizes["b"] = config["b"]  # a sketch may have a size of its own
        name = f"{method}/" + "-".join(f"{key}{value}" for key, value in sizes.items())
        columns = {"method": method, "label": label, **sizes}
        configs = [{**config, "trial": number} for number in range(self._trial_runs(study, config))]
        folder = f"{self.plan.places.results}/{study.name}/{name}"
        known = self.costs.get(cost.Key(self.plan.scale, study.name))
        run, *trials = (
            Run(study.name, name + end, one, self._signature(one), columns, f"{folder}{end}.parquet", known)
            for end, one in [("", config), *((f"/trial{one['trial']}", one) for one in configs)]
        )
        if not can_resume(config) or not (trials or self.minutes):
            return run
        checkpoints = f"{self.plan.places.results}/checkpoints/{(trials or [run])[0].signature}"
        if not trials:
            return replace(run, minutes=self.minutes, checkpoints=checkpoints)
        limited = tuple(replace(trial, minutes=self.minutes, checkpoints=checkpoints) for trial in trials)
        return replace(run, trials=limited, checkpoints=checkpoints)

    def _trial_runs(self, study: Study, config: Mapping[str, dict[str, object]]) -> int:
        """The number of trials that are runs."""
        if not study.trial_runs:
            return 0
        count = config["task"].get("trials")
        if not can_resume(dict(config)) or not isinstance(count, int):
            raise ConfigError(
                f"conf/study/{study.name}.yaml: trials: those of the task {study.task} can't be runs of their own;"
                f" leave it out, and say {TRIALS} under `set`"
            )
        return count

    def _signature(self, config: dict[str, object]) -> str:
        return signature(config, self.user, self.digest)


def _method(run: Run) -> str:
    return str(run.columns[Column.METHOD])


def _methods(runs: Iterable[Run]) -> set[str]:
    return {_method(run) for run in runs}


def _made_of(runs: Sequence[Run]) -> dict[str, str]:
    """What a table of these runs would be made of."""
    return table_inputs([{"signature": run.signature, "columns": run.columns} for run in runs])

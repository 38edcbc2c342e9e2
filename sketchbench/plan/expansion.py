"""Studies made into runs: each combination of methods, sizes and settings, with its frozen config and signature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sketchbench.config.composition import Composed, Composer
from sketchbench.config.study import NO_METHOD, TRIALS, Point, Study
from sketchbench.errors import ConfigError, blame
from sketchbench.measure.column import CONTROLS, Column
from sketchbench.plan import cost
from sketchbench.plan.batch import Run
from sketchbench.plan.plan import Plan, Skipped
from sketchbench.plan.selection import Selection
from sketchbench.report.standing import Table, table_inputs
from sketchbench.run.course import knows
from sketchbench.run.digest import CodeDigest
from sketchbench.run.execution import check_sizes
from sketchbench.run.signature import signature
from sketchbench.sketch.family import SizeError


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
        if self._left_out(study, self.plan.besides) or study.always:
            return
        if table is None:
            self._tell_absent(study)
            return
        runs = self._all_runs(study)
        self._keep(study, table, runs)
        for method in sorted({_method(run) for run in runs} - table.made_of.keys()):
            reason = "the table that is there was made without it; run the study again"
            self.plan.skipped.append(Skipped(study.name, method, reason))

    def _tell_absent(self, study: Study) -> None:
        """What it would take to run a study that has no table, and is not run now; one that is long is left out."""
        apart = replace(self, plan=replace(self.plan, skipped=[]))  # what it would leave out is not to be told
        takes = self.plan.takes[study.name] = self._takes(study, apart._all_runs(study))
        if study.long:
            self.plan.besides.append(
                Skipped(study.name, "all runs", f"{takes}; run it by its name: studies={study.name}")
            )

    def _takes(self, study: Study, runs: Sequence[Run]) -> str:
        """How many runs a study has, and how long they keep a core busy, in words."""
        count = sum(len(run.parts) or 1 for run in runs)
        if study.long:
            return f"{count} runs, {study.long.hours:g} hours of one processor core ({study.long.measured}), or a GPU"
        if known := self.costs.get(cost.Key(self.plan.scale, study.name)):
            return f"{count} runs, {cost.told(known.seconds * count)} of one processor core"
        return f"{count} runs, never measured"

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
        """The runs of all methods of a study, in the order of their names; once where a method with sizes of its own
        has the same run at several points."""
        runs = {run.name: run for method in self.selection.methods(study) for run in self._runs(study, method)}
        return [runs[name] for name in sorted(runs)]

    def _add(self, study: Study, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        # trials that are runs of their own are so because they are long
        self.plan.together[study.name] = study.together or (1 if study.trials else self.together)
        self.plan.runs[study.name] = {run.name: run for run in runs}

    def _keep(self, study: Study, table: Table, runs: Sequence[Run]) -> None:
        self.plan.kinds[study.name] = study.kind
        self.plan.standing[study.name] = table
        if states := table.states(_made_of(runs), self.plan.settings):
            self.plan.older[study.name] = states
            self.plan.takes[study.name] = self._takes(study, runs)

    def _runs(self, study: Study, method: str) -> list[Run]:
        """The runs of a study on one method."""
        runs = []
        for point in study.points(method):
            composed = self._composed(study, method, point)
            theory = composed.config.get(study.kind, {}).get("theory") or {}
            if not study.asks_for(theory):
                reason = f"its config claims no {' or '.join(study.needs)} under `theory`"
                self.plan.skipped.append(Skipped(study.name, method, reason))
                return []
            run = self._run(study, composed, point)
            if point.trials == 0:
                reason = f"conf/study/{study.name}.yaml wants no trials of it at this scale"
                self.plan.skipped.append(Skipped(study.name, run.name, reason))
                continue
            try:
                check_sizes(run.config)
            except SizeError as error:
                self.plan.skipped.append(Skipped(study.name, run.name, str(error)))
                continue
            except (Exception, SystemExit) as error:
                raise ConfigError(f"study {study.name}: {run.name}: {blame(error, self.user) or error}") from None
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
        values = {**point.values, TRIALS: point.trials} if point.trials else point.values
        return self.composer.resolved(overrides, values, f"conf/study/{study.name}.yaml")

    def _run(self, study: Study, composed: Composed, point: Point) -> Run:
        config, short = composed.config, dict(point.columns)
        method = label = NO_METHOD
        if study.kind:
            method, label = config[study.kind]["name"], composed.label
            if "b" in config:
                short["b"] = config["b"]  # a sketch may have a size of its own
        name = f"{method}/" + "-".join(f"{key}{value}" for key, value in short.items())
        columns = {"method": method, "label": label, **short}
        known = self.costs.get(cost.Key(self.plan.scale, study.name))
        run = Run(study.name, name, config, self._signature(config), columns, known)
        return replace(run, parts=tuple(self._part(study, run, number) for number in range(point.trials or 0)))

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
    return table_inputs([{"signature": run.signature, "columns": run.columns} for run in runs])

"""The factors that determine the number of rounds of a training, plain and sketched: a factorial experiment."""

import functools
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np
from torch import nn

from sketchbench.base import seeds
from sketchbench.base.course import Course
from sketchbench.base.parameters import Checked, Count, Probability, choose
from sketchbench.federated.fedavg import FedAvg
from sketchbench.federated.fedavg_experiment import FedAvgExperiment, FedAvgProcedure
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import MakeDataset
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model.initialisation import Weights, network_as_listing
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.factorial import design, effects
from sketchbench.measure.row import Row
from sketchbench.sketch.family import Family
from sketchbench.task.repeated import Repeated, Values

log = logging.getLogger(__name__)
CASES = ("plain", "sketched")
RATIO = "ratio"
SKETCHED_ONLY = ("local_step",)  # both levels of this factor are the same plain training
PROCEDURE = ("momentum", "local_step", "epochs", "batch", "optimiser")
FACTORS = ("rate", "momentum", "weights", "local_step", "epochs", "batch", "optimiser")
UNTUNED = 1.25  # so many times the rounds of the best rate are as good as those
SHARE_OF_ADAM = 0.01  # Adam's rate over SGD's: 1e-3, as in the published code of zhang2021's authors, over 0.1


@dataclass(frozen=True)
class RoundsFactors(Checked, Repeated):
    """FedAvg to a target of test accuracy, at two levels of each factor, plain and sketched from the same seeds.

    A trial is a replicate of the whole design (`measure.factorial.design`). Rows:

    `rounds_to_target`, by `case` with the levels of all factors: mean number of rounds. A training that misses the
    target counts as `rounds`, and the status is then `unfinished`.
    `rounds_ratio`, by `case` with the levels of all factors: mean ratio of rounds, sketched over plain; same status.
    `effect`, by `case` (`FACTOR on plain`, `FACTOR on sketched`, `FACTOR on ratio`): the natural logarithm of the
    factor by which the high level multiplies the rounds. `sd` and `trials` are chosen to give the estimate's standard
    error and degrees of freedom, with the variation that no factor explains as chance. Trainings that miss the target
    bias effects towards 0.
    `tuning`, by `case` with the levels of all other factors that vary, in designs with all combinations of levels: the
    rounds of the sketched training at the plain training's best rate, over those at its own best rate, and the number
    of trials in which that exceeds 5/4; bound: 5/4. The case `worse rate`, at the other rate, is a negative control.

    `factors`: the low and the high level of each factor: `rate`, the learning rate; `momentum`, which also multiplies
    the rate by 1 - momentum, so that steps keep their length; `weights`, the initial weights (`torch` or `listing`);
    `local_step`, `epochs`, `batch`, `optimiser`, as for `FedAvg`, with a hundredth of the rate for Adam.
    """

    family: Family
    kernels: Kernels
    seed: int
    course: Course
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    training: FedAvgProcedure  # the procedure apart from the factors
    factors: dict[str, list[Any]]
    target: Probability  # the test accuracy
    rounds: Count  # the most rounds of a training
    trials: Count  # replicates of the design

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, levels in self.factors.items():
            if name not in FACTORS or len(levels) != 2:
                raise ValueError(f"factors: {name}={levels} must be one of {', '.join(FACTORS)} with two levels")
        if "rate" not in self.factors:
            raise ValueError("factors must have a rate; give it twice the same to hold it fixed")
        design(len(self.factors))
        for run in self._runs:
            self._procedure(run)
            FedAvg(run["rate"])
            choose("factors: weights", run.get("weights", "torch"), get_args(Weights))

    def trial(self, number: int) -> Values:
        """Train all runs of the design; return their rounds by case, None if the target was missed."""
        done: dict[str, int | None] = {}
        values: Values = {case: [] for case in CASES}
        for levels in self._runs:
            for case in CASES:
                shown = {k: v for k, v in levels.items() if case == "sketched" or k not in SKETCHED_ONLY}
                name = ", ".join([case, *(f"{key}={value}" for key, value in shown.items())])
                if name not in done:
                    done[name] = self._rounds(case, levels, number, name)
                    log.info("trial %d, %s: %s rounds", number, name, done[name])
                values[case].append(done[name])
        return values

    def rows(self, values: Sequence[Values]) -> list[Row]:
        rows = []
        rounds, logs = {}, {}
        for case in CASES:
            reached = [[self.rounds if t is None else t for t in one[case]] for one in values]
            rounds[case] = np.array(reached, dtype=float)
            missed = [any(one[case][run] is None for one in values) for run in range(len(self._runs))]
            rows += list(self._rows("rounds_to_target", case, rounds[case], missed))
            logs[case] = np.log(rounds[case])
        logs[RATIO] = logs["sketched"] - logs["plain"]
        missed = [any(one[case][run] is None for one in values for case in CASES) for run in range(len(self._runs))]
        rows += list(self._rows("rounds_ratio", "sketched", np.exp(logs[RATIO]), missed))
        for response, measured in logs.items():
            for name, effect in effects(self._names, measured).items():
                trials = effect.freedom + 1
                row = Row("effect", case=f"{name} on {response}", trials=trials, mean=effect.mean)
                rows.append(row.replace(sd=effect.error * math.sqrt(trials), skewness=0.0))
        return rows + list(self._tuning(rounds["plain"], rounds["sketched"]))

    def _tuning(self, plain: np.ndarray, sketched: np.ndarray) -> Iterator[Row]:
        """The rows `tuning`, from rounds by replicate and run; none unless every run has one with the other rate."""
        at = {tuple(levels.values()): run for run, levels in enumerate(self._runs)}
        low, high = self.factors["rate"]
        for levels, run in at.items():
            other = at.get((high, *levels[1:]))
            if levels[0] != low or other is None or other == run:
                continue
            pair = [run, other]
            chosen = plain[:, pair].argmin(1)
            costs = sketched[:, pair] / sketched[:, pair].min(1, keepdims=True)
            others = zip(self._names[1:], levels[1:], strict=True)
            varied = ((name, value) for name, value in others if len(set(self.factors[name])) > 1)
            text = ", ".join(f"{name} {value}" for name, value in varied)
            for case, taken in (("plain's rate", chosen), ("worse rate", 1 - chosen)):
                cost = np.take_along_axis(costs, taken[:, None], 1)[:, 0]
                row = Row("tuning", case=": ".join(filter(None, [case, text])))
                yield row.exceedances(cost, UNTUNED).replace(mean=float(cost.mean()))

    def _rows(self, quantity: str, case: str, values: np.ndarray, missed: Sequence[bool]) -> Iterator[Row]:
        for levels, rounds, short in zip(self._runs, values.T, missed, strict=True):
            text = ", ".join(f"{name} {value}" for name, value in levels.items())
            row = Row(quantity, case=f"{case}: {text}", status="unfinished" if short else "finite")
            yield row.mean(rounds)

    @functools.cached_property
    def _names(self) -> list[str]:
        """The factors in a fixed order, for any order in the config, because the design depends on it."""
        return [name for name in FACTORS if name in self.factors]

    @functools.cached_property
    def _runs(self) -> list[dict[str, Any]]:
        """The level of each factor, for every run of the design."""
        return [
            {name: self.factors[name][(level + 1) // 2] for name, level in zip(self._names, run, strict=True)}
            for run in design(len(self._names))
        ]

    @functools.cached_property
    def _data(self) -> Any:
        data = self.dataset()
        data.check_disjoint()
        return data

    def _rounds(self, case: str, levels: Mapping[str, Any], number: int, name: str) -> int | None:
        """Train once; return the number of rounds to the target, or None if it was missed."""
        model: Callable[..., nn.Module] = self.model
        if levels.get("weights", "torch") == "listing":
            model = partial(network_as_listing, model=self.model)
        experiment = FedAvgExperiment(
            rounds=self.rounds,
            target=self.target,
            name=name,
            course=self.course.within(f"trial{number}"),
            kernels=self.kernels,
            seed=seeds.key(self.seed, task="rounds factors", trial=number),
            data=self._data,
            partition=self.partition,
            model=model,
            family=self.family if case == "sketched" else None,
            procedure=self._procedure(levels),
            rate=self._learning_rate(levels),
        )
        return experiment.run().round_reaching(self.target)

    def _procedure(self, levels: Mapping[str, Any]) -> FedAvgProcedure:
        """The procedure with these levels. Raises ValueError or TypeError for a level out of its range."""
        return replace(self.training, **{name: levels[name] for name in PROCEDURE if name in levels})

    def _learning_rate(self, levels: Mapping[str, Any]) -> float:
        """The learning rate for these levels, with which steps keep their length at any momentum."""
        rate: float = levels["rate"] * (1 - levels.get("momentum", 0))
        return rate * SHARE_OF_ADAM if levels.get("optimiser") == "adam" else rate

"""What decides how many rounds a training takes, plain and sketched: a factorial experiment."""

import functools
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from sketchbench import seeds
from sketchbench.dataset.dataset import MakeDataset
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.fedavg_experiment import FedAvgExperiment, FedAvgProcedure
from sketchbench.kernels import Kernels
from sketchbench.measure.factorial import design, effects
from sketchbench.measure.row import Row
from sketchbench.model.initialisation import network_as_listing
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Count, Positive, Probability
from sketchbench.run.course import Course
from sketchbench.sketch.family import Family
from sketchbench.task.repeated import Repeated, Values

log = logging.getLogger(__name__)
CASES = ("plain", "sketched")
RATIO = "ratio"
SKETCHED_ONLY = ("local_step",)  # a plain training is the same at both levels
FACTORS = ("rate", "momentum", "weights", "local_step", "epochs", "batch")


@dataclass(frozen=True)
class RoundsFactors(Checked, Repeated):
    """FedAvg to a test accuracy, at two levels of each of some factors (`measure.factorial.design`), plain and sketched
    from the same seeds. A trial is a replicate of the whole design. Rows:

    `rounds_to_target`: by `case`, with the levels of all factors: the mean number of rounds; one that does not reach
    the target counts as `rounds`, and its status is `unfinished`.
    `rounds_ratio`: sketched over plain, likewise.
    `effect`: in the case `FACTOR on plain`, `on sketched`, `on ratio`: by what the factor's high level multiplies the
    rounds, as a natural logarithm; `mean` with the standard deviation of as many trials as give its standard error and
    degrees of freedom: what no factor explains is taken for chance. Trainings that miss the target make it too small.

    Arguments:
        training: what is not a factor.
        factors: low and high level by name: `rate` of learning, `momentum` (with which the rate is multiplied by
            1 - momentum, so that steps stay as long), `weights` (initial ones, `torch` or `listing`), `local_step`,
            `epochs`, `batch`.
        target: the test accuracy.
        rounds: of a training, at most.
        trials: replicates.
    """

    family: Family
    kernels: Kernels
    seed: int
    course: Course
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    training: FedAvgProcedure
    factors: dict[str, list[Any]]
    target: Probability
    rounds: Count
    trials: Count

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, levels in self.factors.items():
            if name not in FACTORS or len(levels) != 2:
                raise ValueError(f"factors: {name}={levels} must be one of {', '.join(FACTORS)} with two levels")
        if "rate" not in self.factors:
            raise ValueError("factors must have a rate; give it twice the same to hold it fixed")
        design(len(self.factors))

    def trial(self, number: int) -> Values:
        """The rounds of each run of the design by case, None where the target was not reached."""
        done: dict[str, int | None] = {}
        values: Values = {case: [] for case in CASES}
        for levels in self._runs:
            for case in CASES:
                told = {k: v for k, v in levels.items() if case == "sketched" or k not in SKETCHED_ONLY}
                name = ", ".join([case, *(f"{key}={value}" for key, value in told.items())])
                if name not in done:
                    done[name] = self._rounds(case, levels, number, name)
                    log.info("trial %d, %s: %s rounds", number, name, done[name])
                values[case].append(done[name])
        return values

    def rows(self, values: Sequence[Values]) -> list[Row]:
        rows = []
        logs = {}
        for case in CASES:
            reached = [[self.rounds if t is None else t for t in one[case]] for one in values]
            missed = [any(one[case][run] is None for one in values) for run in range(len(self._runs))]
            rows += list(self._shown("rounds_to_target", case, np.array(reached, dtype=float), missed))
            logs[case] = np.log(np.array(reached, dtype=float))
        logs[RATIO] = logs["sketched"] - logs["plain"]
        missed = [any(one[case][run] is None for one in values for case in CASES) for run in range(len(self._runs))]
        rows += list(self._shown("rounds_ratio", "sketched", np.exp(logs[RATIO]), missed))
        for response, found in logs.items():
            for name, effect in effects(self._names, found).items():
                trials = effect.freedom + 1
                row = Row("effect", case=f"{name} on {response}", trials=trials, mean=effect.mean)
                rows.append(row.but(sd=effect.error * math.sqrt(trials), skewness=0.0))
        return rows

    def _shown(self, quantity: str, case: str, values: np.ndarray, missed: Sequence[bool]) -> Iterator[Row]:
        for levels, found, short in zip(self._runs, values.T, missed, strict=True):
            told = ", ".join(f"{name} {value}" for name, value in levels.items())
            row = Row(quantity, case=f"{case}: {told}", status="unfinished" if short else "finite")
            yield row.mean(found)

    @functools.cached_property
    def _names(self) -> list[str]:
        """The factors, in an order of their own and not in that of the config: another order is another design."""
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
        """The rounds of one training, or None."""
        given = {key: levels[key] for key in ("momentum", "local_step", "epochs", "batch") if key in levels}
        model: Callable[..., nn.Module] = self.model
        if levels.get("weights", "torch") == "listing":
            model = partial(network_as_listing, model=self.model)
        rate: Positive = levels["rate"] * (1 - levels.get("momentum", 0))
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
            procedure=replace(self.training, **given),
            rate=rate,
        )
        return experiment.run().reached(self.target)

"""Federated training of networks, plain and through sketches, side by side."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from sketchbench import seeds
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import KEY_BYTES, reply_bytes
from sketchbench.federated.fedavg_experiment import FALSE_POSITIVES, OPTIONS, FedAvgExperiment, FedAvgProcedure
from sketchbench.federated.tuning import Tuning
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row, Value, exceeding
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Count, NonNegative, Positive, Several
from sketchbench.sketch.family import Family
from sketchbench.task.trials import shown_rounds

log = logging.getLogger(__name__)
LAST = 10  # the last tenth of the rounds counts as the end of a training

Curves = dict[str, list[Curve]]  # by case, one for each trial


@dataclass(frozen=True)
class Judging(Checked):
    """What trainings are judged by.

    Arguments:
        points: about how many rounds are shown.
        target: the test accuracy to reach.
        stop: whether a training ends where it reaches the target.
        allowed_loss: of accuracy or area under the curve, plain less sketched.
        allowed_ratio: of rounds to the target, sketched over plain.
        allowed_inverse_error, allowed_cosine: of a client's estimates.
    """

    points: Count
    target: float
    stop: bool
    allowed_loss: float
    allowed_ratio: Positive
    allowed_inverse_error: NonNegative
    allowed_cosine: NonNegative


@dataclass(frozen=True)
class Training(Checked):
    """FedAvg of a network, `plain` and with its layers `sketched` (double-blind), in `trials` pairs that start from the
    same weights and have the same clients in every round. Rows:

    `accuracy`: on the test images, by `case`, at about `points` rounds that all trainings have seen, with the bytes
    that all clients together have sent and received by then; for two classes `auc` beside it.
    `accuracy_loss`, `auc_loss`: plain less sketched, each in the mean over the last tenth of its rounds, with the
    `count` of the pairs that lose more than `allowed_loss`. Where trainings `stop` at the target, two that have both
    reached it can hardly differ: a loss is then a training that has not reached it.
    `roc`: for two classes, the true positive rate at the end, by case and `false_positives`, the false positive rate.
    `rounds_to_target`: the first round whose test accuracy reaches `target`, by case; `rounds_ratio`: sketched over
    plain, with the count of the pairs where it is more than `allowed_ratio`, or not known. Where some training never
    reaches the target, the status is `unfinished`, and there is no mean.
    `bytes_down`, `bytes_up`: of one message, as it was sent, against out · s words for every sketched layer and all
    words of the other parameters.
    `error`, `inverse_error`, `cosine`: of a client's estimate of what the round before did to the sketched layers'
    weights (zhang2021 §6.3; see `FedAvgExperiment`), in the cases `option I` and `option II`: its relative error; one
    over that, and the absolute cosine, with how often they exceed what is allowed. Where some training's weights have
    overflown, the status is `diverged`, and there is no mean.

    The bound of counts of trainings is that of a probability, 1/2: they are about the median training.

    The learning rate is chosen for each case by `tuning`, on held-out training images: the one that reaches `target` in
    the fewest rounds; of those that don't, or that draw, the one with the highest accuracy.

    Arguments:
        code: a digest of the code behind the trainings; only checkpoints of the same code are resumed from.
        rounds: of a training, at most.
    """

    family: Family
    kernels: Kernels
    seed: int
    code: str
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    training: FedAvgProcedure
    tuning: Tuning
    judging: Judging
    rounds: Count
    trials: Several

    def run(self) -> list[Row]:
        data = self.dataset()
        data.check_disjoint()
        curves: Curves = {}
        rows: list[Row] = []
        for case, family in (("plain", None), ("sketched", self.family)):
            experiment = FedAvgExperiment(
                rounds=self.rounds,
                target=self.judging.target if self.judging.stop else None,
                checkpoints=self.training.checkpoints,
                code=self.code,
                kernels=self.kernels,
                seed=self.seed,
                data=data,
                partition=self.partition,
                model=self.model,
                family=family,
                procedure=self.training,
                rate=self.tuning.rates[0],
                estimated=shown_rounds(self.rounds, self.judging.points),
            )
            experiment = replace(experiment, rate=self._rate(experiment))
            log.info("%s: learning rate %g", case, experiment.rate)
            curves[case] = [self._run(experiment, f"trial {trial}") for trial in range(self.trials)]
            rows += _messages(case, experiment.make(), curves[case])
        return [*self._comparisons(curves), *rows, *self._estimates(curves["sketched"])]

    def _run(self, experiment: FedAvgExperiment, name: str) -> Curve:
        return replace(experiment, name=name, seed=seeds.key(self.seed, task="training", name=name)).run()

    def _rate(self, experiment: FedAvgExperiment) -> float:
        """The learning rate of a case."""
        target = self.judging.target
        procedure = self.training.restricted(self.tuning.participation)
        tried = replace(experiment, rounds=self.tuning.rounds, target=target, procedure=procedure, estimated=())

        def merit(data: Dataset, rate: float) -> tuple[float, float]:
            curve = self._run(replace(tried, data=data, rate=rate), "tuning")
            return -(curve.reached(target) or np.inf), max(curve.values["accuracy"].values())

        return self.tuning.best(experiment.data, self.seed, merit)

    def _comparisons(self, curves: Curves) -> Iterator[Row]:
        """The rows that compare the cases."""
        for quantity in ("accuracy", "auc"):
            if quantity in curves["plain"][0].values:
                yield from self._scores(quantity, curves)
        yield from _roc(curves)
        yield from self._targets(curves)

    def _scores(self, quantity: str, curves: Curves) -> Iterator[Row]:
        ends = {}
        for case, trained in curves.items():
            for t in self._shown(trained):
                sent = {"bytes_up": trained[0].bytes_up[t], "bytes_down": trained[0].bytes_down[t]}
                row = Row(quantity, case=case, round=t, status="finite", **sent)
                yield row.mean([curve.values[quantity][t] for curve in trained])
            ends[case] = np.array([_end(curve, quantity) for curve in trained])
        loss = ends["plain"] - ends["sketched"]
        row = Row(f"{quantity}_loss", status="finite", bound=MEDIAN)
        yield row.but(count=int((loss > self.judging.allowed_loss).sum())).mean(loss)

    def _shown(self, trained: list[Curve]) -> list[int]:
        """The rounds that are shown, of those that all of these trainings have seen."""
        last = min(curve.rounds[-1] for curve in trained)
        return [t for t in shown_rounds(self.rounds, self.judging.points) if t <= last]

    def _targets(self, curves: Curves) -> Iterator[Row]:
        reached = {case: [curve.reached(self.judging.target) for curve in trained] for case, trained in curves.items()}
        for case, rounds in reached.items():
            yield _finished(Row("rounds_to_target", case=case), rounds)
        pairs = zip(reached["plain"], reached["sketched"], strict=True)
        ratios = [b / a if a and b else None for a, b in pairs]
        longer = sum(ratio is None or ratio > self.judging.allowed_ratio for ratio in ratios)
        yield _finished(Row("rounds_ratio", count=longer, bound=MEDIAN), ratios)

    def _estimates(self, trained: list[Curve]) -> Iterator[Row]:
        """A client's estimates; no rows where nothing is sketched."""
        if f"error {OPTIONS[0]}" not in trained[0].values:
            return
        for option in OPTIONS:
            for t in self._shown(trained):
                error, cosine = (
                    np.array([curve.values[f"{quantity} {option}"][t] for curve in trained])
                    for quantity in ("error", "cosine")
                )
                where: dict[str, Value] = {"case": f"option {option}", "round": t}
                if not (np.isfinite(error) & np.isfinite(cosine)).all():
                    reason = "the weights of a training have overflown"
                    for quantity in ("error", "inverse_error", "cosine"):
                        yield Row(quantity, **where).lost("diverged", reason, self.trials)
                    continue
                yield Row("error", status="finite", **where).mean(error)
                for quantity, values, bound in (
                    ("inverse_error", 1 / error, self.judging.allowed_inverse_error),
                    ("cosine", cosine, self.judging.allowed_cosine),
                ):
                    row = Row(quantity, status="finite", bound=bound, count=exceeding(values, bound), **where)
                    yield row.mean(values)


def _end(curve: Curve, quantity: str) -> float:
    """The mean over the last tenth of a training's rounds."""
    last = curve.rounds[-1]
    return curve.mean_from(quantity, last + 1 - max(1, last // LAST))


def _roc(curves: Curves) -> Iterator[Row]:
    """The ROC curves at the end, for two classes."""
    for case, trained in curves.items():
        points = zip(*(curve.roc for curve in trained), strict=True)
        for rate, values in zip(FALSE_POSITIVES, points, strict=False):
            yield Row("roc", case=case, false_positives=rate, status="finite").mean(values)


def _finished(row: Row, values: Sequence[float | None]) -> Row:
    """The mean over all trials, where all of them have reached the target."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return row.lost("unfinished", f"{len(values) - len(known)} of the trials did not reach the target", len(values))
    return row.but(status="finite").mean(known)


def _messages(case: str, model: nn.Module, trained: list[Curve]) -> Iterator[Row]:
    """The bytes of messages, against those of the protocol."""
    down = [sent for curve in trained for sent in curve.broadcasts]
    up = [sent for curve in trained for sent in curve.replies]
    size = reply_bytes(model)
    yield Row("bytes_down", case=case, status="finite", exact=size + KEY_BYTES).mean(down)
    yield Row("bytes_up", case=case, status="finite", exact=size).mean(up)

"""Federated training of networks, plain and through sketches, side by side."""

import functools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.compressor.message import KEY
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import reply_bytes
from sketchbench.federated.fedavg_experiment import FALSE_POSITIVES, OPTIONS, PLAIN, FedAvgExperiment, FedAvgProcedure
from sketchbench.federated.tuning import Tuning
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row, Value, exceeding
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Count, Positive, Several
from sketchbench.run.course import Course
from sketchbench.sketch.family import Family
from sketchbench.task.repeated import Repeated, Values
from sketchbench.task.trials import shown_rounds

log = logging.getLogger(__name__)
LAST = 10  # the last tenth of the rounds counts as the end of a training
STANDING = "standing still"  # the case of a network that keeps its initial weights
HALF = 0.55  # what rounds to the printed 0.5
TINY = 1e-12  # an error that is none

Numbers = NDArray[np.float64]
Curves = dict[str, list[Curve]]  # by case, one for each trial


@dataclass(frozen=True)
class Judging(Checked):
    """What trainings are judged by.

    Arguments:
        points: about how many rounds are shown.
        target: the test accuracy to reach.
        stop: whether a training ends where it reaches the target.
        allowed_loss: of accuracy or area under the curve, plain less sketched.
        allowed_ratio: of rounds to the target, sketched over plain, where the paper printed none for such a training.
        printed: the rounds that the paper printed, plain and sketched, by the share of clients in a round, as text.
        allowed_factor: between the ratio of rounds and the printed one, either way; declared in advance: a single pair
            of trainings that is farther off refutes the printed ratio.
    """

    points: Count
    target: float
    stop: bool
    allowed_loss: float
    allowed_ratio: Positive
    printed: dict[str, list[Positive]]
    allowed_factor: Positive


@dataclass(frozen=True)
class Training(Checked, Repeated):
    """FedAvg of a network, `plain` and with its layers `sketched` (double-blind), in `trials` pairs that start from the
    same weights and have the same clients in every round. Rows:

    `accuracy`: on the test images, by `case`, at about `points` rounds that all trainings have seen, with the bytes
    that all clients together have sent and received by then; for two classes `auc` beside it.
    `loss`: on the test images, at the same rounds.
    `accuracy_loss`, `auc_loss`: plain less the case, in the means over the last tenth of the rounds, with the `count`
    of the pairs that lose more than `allowed_loss`, and as `positive_control` that of those whose plain training has
    reached the target, because trainings that are on their way differ by their pace. There is none where trainings
    `stop` at the target: two that have reached it can hardly differ.
    `accuracy_not_better`, `loss_not_better`: in how many pairs the case does not end with a higher accuracy, or a lower
    loss, than the plain training; means and `positive_control` as above. Where trainings `stop` at the target, the
    latter is 0, as none has been followed to its end.
    `missed`: in how many pairs the case has not reached the target.
    `roc`: for two classes, the true positive rate at the end, by case and `false_positives`, the false positive rate.
    `rounds_to_target`: the first round whose test accuracy reaches `target`, by case; `rounds_ratio`: sketched over
    plain. Where some training never reaches the target, the status is `unfinished`, and there is no mean.
    `ratio_excess`: of every pair the ratio of rounds over the printed one, or one over that, whichever is larger; where
    the paper printed none, the ratio over `allowed_ratio`. With the count of the pairs that exceed `allowed_factor`, or
    1 where none was printed; one that has not reached the target does.
    `bytes_down`, `bytes_up`: of one message, as it was sent, against out · s words for every sketched layer and all
    words of the other parameters.
    `message_ratio`: a reply's bytes, those of the case over those of the plain one.
    `error`, `inverse_error`, `cosine`: of a client's estimate of what the round before did to the sketched layers'
    weights (zhang2021 §6.3; see `FedAvgExperiment`), in the cases `option I` and `option II`: its relative error; one
    over that, and how often it exceeds 1, so that an estimate of zero is nearer; and the absolute cosine. Where some
    training's weights have overflown, the status is `diverged`, and there is no mean.
    `not_grown`: in how many trainings that error is not larger in the last round that is shown than in the first.

    Beside the case `sketched` there is `standing still`, which keeps the weights that it starts from, and beside the
    options `plain`, the update as a client of plain layers sees it: controls, which the checks must reject.

    The bound of counts of trainings is that of a probability, 1/2: they are about the median training.

    The learning rate is chosen for each case by `tuning`, on held-out training images: the one that reaches `target` in
    the fewest rounds; of those that don't, or that draw, the one with the highest accuracy.

    A trial stops within a training where the time limit of its course is reached, and goes on from there. It trains
    with every learning rate, unless another trial has done so in the same folder of checkpoints.

    Arguments:
        rounds: of a training, at most.
    """

    family: Family
    kernels: Kernels
    seed: int
    course: Course
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    training: FedAvgProcedure
    tuning: Tuning
    judging: Judging
    rounds: Count
    trials: Several

    def trial(self, number: int) -> Values:
        """The curves of a pair, and the bytes of a reply by the protocol, by case."""
        values = {}
        for case, experiment in self._experiments.items():
            curve = self._run(replace(experiment, course=self.course.within(f"trial{number}")), f"trial {number}")
            values[case] = {"curve": curve.to_dict(), "reply": reply_bytes(experiment.make())}
        return values

    def rows(self, values: Sequence[Values]) -> list[Row]:
        cases = list(values[0])
        curves: Curves = {case: [Curve.from_dict(one[case]["curve"]) for one in values] for case in cases}
        rows = [row for case in cases for row in _messages(case, values[0][case]["reply"], curves[case])]
        rows += _message_ratios(rows)
        return [*self._comparisons(curves), *rows, *self._estimates(curves)]

    @functools.cached_property
    def _experiments(self) -> dict[str, FedAvgExperiment]:
        """A training of each case, with its learning rate."""
        data = self.dataset()
        data.check_disjoint()
        experiments = {}
        for case, family in (("plain", None), ("sketched", self.family)):
            experiment = FedAvgExperiment(
                rounds=self.rounds,
                target=self.judging.target if self.judging.stop else None,
                course=self.course.within("tuning"),
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
            experiments[case] = experiment
        return experiments

    def _run(self, experiment: FedAvgExperiment, name: str) -> Curve:
        return replace(experiment, name=name, seed=seeds.key(self.seed, task="training", name=name)).run()

    def _rate(self, experiment: FedAvgExperiment) -> float:
        """The learning rate of a case."""
        target = self.judging.target
        procedure = self.training.limit_participation(self.tuning.participation)
        tried = replace(experiment, rounds=self.tuning.rounds, target=target, procedure=procedure, estimated=())

        def merit(data: Dataset, rate: float) -> tuple[float, float]:
            curve = self._run(replace(tried, data=data, rate=rate), "tuning")
            return -(curve.round_reaching(target) or np.inf), max(curve.values["accuracy"].values())

        return self.tuning.best(experiment.data, self.seed, merit)

    def _comparisons(self, curves: Curves) -> Iterator[Row]:
        """The rows that compare the cases."""
        yield from self._shown_means("loss", curves)
        for quantity in ("accuracy", "auc"):
            if quantity in curves["plain"][0].values:
                yield from self._shown_means(quantity, curves)
                if not self.judging.stop:
                    yield from self._losses(quantity, curves)
        yield from self._improvements(curves)
        yield from _roc(curves)
        yield from self._targets(curves)

    def _shown_means(self, quantity: str, curves: Curves) -> Iterator[Row]:
        for case, trained in curves.items():
            for t in self._shown(trained):
                sent = {"bytes_up": trained[0].bytes_up[t], "bytes_down": trained[0].bytes_down[t]}
                row = Row(quantity, case=case, round=t, **sent)
                values = np.array([curve.values[quantity][t] for curve in trained])
                if np.isfinite(values).all():
                    yield row.but(status="finite").mean(values)
                else:
                    yield row.lost("diverged", "the weights of a training have overflown", len(trained))

    def _losses(self, quantity: str, curves: Curves) -> Iterator[Row]:
        """What the cases lose against plain trainings."""
        for case, plain, ends in _ends(quantity, curves):
            loss = plain - ends
            row = Row(f"{quantity}_loss", case=case, status="finite", bound=MEDIAN)
            row = row.but(positive_control=self._converged(curves["plain"]))
            yield row.but(count=int((loss > self.judging.allowed_loss).sum())).mean(loss)

    def _improvements(self, curves: Curves) -> Iterator[Row]:
        """How often the cases do not end better than plain trainings; an end that is not a number is no better."""
        converged = 0 if self.judging.stop else self._converged(curves["plain"])
        for quantity, sign in (("accuracy", 1), ("loss", -1)):
            for case, plain, ends in _ends(quantity, curves):
                row = Row(f"{quantity}_not_better", case=case, bound=MEDIAN, positive_control=converged)
                yield row.counted(int((~(sign * ends > sign * plain)).sum()), len(ends))

    def _converged(self, trained: list[Curve]) -> int:
        """How many trainings have reached the target."""
        return sum(curve.round_reaching(self.judging.target) is not None for curve in trained)

    def _shown(self, trained: list[Curve]) -> list[int]:
        """The rounds that are shown, of those that all of these trainings have seen."""
        last = min(curve.rounds[-1] for curve in trained)
        return [t for t in shown_rounds(self.rounds, self.judging.points) if t <= last]

    def _targets(self, curves: Curves) -> Iterator[Row]:
        target = self.judging.target
        reached = {case: [curve.round_reaching(target) for curve in trained] for case, trained in curves.items()}
        for case, rounds in reached.items():
            yield _finished(Row("rounds_to_target", case=case), rounds)
        still = [0 if curve.values["accuracy"][0] >= target else None for curve in curves["plain"]]
        for case, rounds in (("sketched", reached["sketched"]), (STANDING, still)):
            ratios = [b / a if a and b is not None else None for a, b in zip(reached["plain"], rounds, strict=True)]
            if case == "sketched":
                yield _finished(Row("rounds_ratio", case=case), ratios)
            yield Row("missed", case=case).exceedances([float(t is None) for t in rounds], MEDIAN)
            yield self._excess(case, ratios)

    def _excess(self, case: str, ratios: Sequence[float | None]) -> Row:
        """How far ratios of rounds are off."""
        printed = self.judging.printed.get(f"{self.training.participation:g}")
        known = np.array([ratio for ratio in ratios if ratio is not None])
        bound = 1.0
        if printed:
            plain, sketched = printed
            bound, known = self.judging.allowed_factor, known * plain / sketched
            known = np.maximum(known, 1 / np.maximum(known, TINY))
        else:
            known = known / self.judging.allowed_ratio
        unknown = len(ratios) - len(known)
        largest = max([*known, *([bound] if unknown else [])])  # an unknown one exceeds the bound by no known amount
        row = Row("ratio_excess", case=case, bound=bound, maximum=float(largest))
        return row.counted(exceeding(known, bound) + unknown, len(ratios))

    def _estimates(self, curves: Curves) -> Iterator[Row]:
        """A client's estimates, and the updates that are seen of plain layers; no rows where nothing is sketched."""
        trained = curves["sketched"]
        if f"error {OPTIONS[0]}" not in trained[0].values:
            return
        sources = [(f"option {option}", option, trained) for option in OPTIONS]
        for case, option, several in [*sources, ("plain", PLAIN, curves["plain"])]:
            shown = self._shown(several)
            for t in shown:
                error, cosine = (
                    np.array([curve.values[f"{quantity} {option}"][t] for curve in several])
                    for quantity in ("error", "cosine")
                )
                where: dict[str, Value] = {"case": case, "round": t}
                if not (np.isfinite(error) & np.isfinite(cosine)).all():
                    reason = "the weights of a training have overflown"
                    for quantity in ("error", "inverse_error", "cosine"):
                        yield Row(quantity, **where).lost("diverged", reason, len(several))
                    continue
                yield Row("error", status="finite", **where).mean(error)
                inverse = 1 / np.maximum(error, TINY)
                row = Row("inverse_error", status="finite", bound=1.0, count=exceeding(inverse, 1.0), **where)
                yield row.mean(inverse)
                yield Row("cosine", status="finite", **where).mean(cosine)
            first, last = (
                np.array([curve.values[f"error {option}"][t] for curve in several]) for t in (shown[0], shown[-1])
            )
            if len(shown) > 1:
                yield Row("not_grown", case=case, bound=MEDIAN).counted(int((~(last > first)).sum()), len(several))


def _end(curve: Curve, quantity: str) -> float:
    """The mean over the last tenth of a training's rounds."""
    last = curve.rounds[-1]
    return curve.mean_from(quantity, last + 1 - max(1, last // LAST))


def _ends(quantity: str, curves: Curves) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Each case that is held against plain trainings, with their ends and its own, (trials,)."""
    plain = np.array([_end(curve, quantity) for curve in curves["plain"]])
    yield "sketched", plain, np.array([_end(curve, quantity) for curve in curves["sketched"]])
    yield STANDING, plain, np.array([curve.values[quantity][0] for curve in curves["plain"]])


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


def _messages(case: str, size: int, trained: list[Curve]) -> Iterator[Row]:
    """The bytes of messages, against those of the protocol, where a reply has this size."""
    down = [sent for curve in trained for sent in curve.broadcasts]
    up = [sent for curve in trained for sent in curve.replies]
    yield Row("bytes_down", case=case, status="finite", exact=size + KEY).mean(down)
    yield Row("bytes_up", case=case, status="finite", exact=size).mean(up)


def _message_ratios(messages: Sequence[Row]) -> Iterator[Row]:
    """A reply's bytes by case, over those of the plain case."""
    sizes = {str(row["case"]): np.double(row["mean"]) for row in messages if row["quantity"] == "bytes_up"}
    for case, size in sizes.items():
        yield Row("message_ratio", case=case, bound=HALF).number(size / sizes["plain"])

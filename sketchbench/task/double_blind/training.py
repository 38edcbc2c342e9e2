"""Federated training of networks, plain and with sketched layers, side by side."""

import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.base.course import Course
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Positive
from sketchbench.compressor.message import KEY
from sketchbench.federated.curve import Curve
from sketchbench.federated.double_blind import OPTIONS, reply_bytes
from sketchbench.federated.fedavg_experiment import FALSE_POSITIVES, PLAIN, FedAvgExperiment, FedAvgProcedure
from sketchbench.federated.fedavg_stack import can_stack, train_stack
from sketchbench.federated.tuning import Tuning
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value, exceeding
from sketchbench.sketch.family import Family
from sketchbench.task.repeated import Repeated, Values
from sketchbench.task.sketches.trials import shown_rounds

log = logging.getLogger(__name__)
LAST = 10  # the last of so many parts of the rounds counts as the end of a training
STANDING = "standing still"  # the case of a network that keeps its initial weights
HALF = 0.55  # ratios below it round to the printed 0.5
MUCH = 2.0  # times the bytes of a plain training are much more
TINY = 1e-12  # replaces a zero divisor

Numbers = NDArray[np.float64]
Curves = dict[str, list[Curve]]  # by case, a curve for each trial
Ratios = tuple[str, list[int | None], list[float | None]]  # a case, its rounds, and their ratios to the plain rounds


@dataclass(frozen=True)
class Judging(Checked):
    """The evaluation of trainings, and the losses and ratios that claims allow.

    Arguments:
        points: about how many rounds have rows.
        target: the test accuracy to reach.
        stop: whether a training ends when it reaches the target.
        allowed_loss: the allowed loss of accuracy, or of area under the curve: plain minus sketched.
        allowed_ratio: the allowed ratio of rounds to the target, sketched over plain, if the paper printed none.
        printed: the rounds that the paper printed, [plain, sketched], by the share of clients in a round, as a string.
        allowed_factor: the factor, in either direction, by which the ratio of rounds may differ from the printed ratio.
            It was declared in advance; a single pair of trainings beyond it refutes the printed ratio.
    """

    points: Count
    target: float
    stop: bool
    allowed_loss: float
    allowed_ratio: Positive
    printed: dict[str, list[Positive]]
    allowed_factor: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        for share, rounds in self.printed.items():
            if len(rounds) != 2:
                raise ValueError(f"printed: {share}={rounds} must be two numbers of rounds, [plain, sketched]")


@dataclass(frozen=True)
class Training(Checked, Repeated):
    """FedAvg of a network, `plain` and with `sketched` layers (double-blind), in `trials` pairs of trainings.

    A pair starts from the same weights and has the same clients in every round. The end of a training is the last tenth
    of its rounds. Rows by `case` (`plain`, `sketched`) at about `points` rounds that all trainings have reached, with
    the bytes that all clients together have sent and received so far:

    `accuracy`, `loss`: means on the test images; for two classes also `auc`, the area under the ROC curve. If the
    weights of a training have overflown, the status is `diverged`, and there is no mean.

    Rows that compare the case `sketched` with plain trainings; the case `standing still`, a network that keeps its
    initial weights, is a negative control:

    `accuracy_loss`, `auc_loss`: mean of the plain training minus the case, at the end, and the `count` of pairs that
    lose more than `allowed_loss`. `positive_control` has the number of pairs whose plain training has reached the
    target: on the way there, trainings also differ by their speed. Left out if trainings `stop` at the target, where
    they are alike.
    `accuracy_not_better`, `loss_not_better`: the number of pairs in which the case does not end with a higher accuracy,
    or a lower loss, than the plain training. `positive_control` as above, but 0 if trainings `stop` before their end.
    `missed`: the number of pairs in which the case has not reached the target.
    `ratio_excess`: the larger of the ratio of rounds over the printed ratio and its inverse, and the number of pairs in
    which it exceeds the bound `allowed_factor`; if the paper printed none, the ratio over `allowed_ratio`, and the
    bound 1. A pair that misses the target exceeds the bound.
    `bytes_excess`: the bytes that all clients together have sent and received until the target, over those of the plain
    training, and the number of pairs in which that exceeds 2; a pair that misses the target counts.

    Further rows by `case`:

    `roc`, for two classes: mean true positive rate at the end, at each false positive rate (`false_positives`).
    `rounds_to_target`: mean of the first round whose test accuracy reaches `target`; `rounds_ratio`: mean ratio,
    sketched over plain. If some training misses the target, the status is `unfinished`, and there is no mean.
    `bytes_down`, `bytes_up`: mean bytes of one message; exact: out · s words for every sketched layer, and one word for
    each entry of the other parameters.
    `message_ratio`: bytes of a reply over those of the plain case; bound: 0.55, which rounds to the printed 0.5.

    Rows on a client's estimates of the sketched layers' last update (zhang2021 §6.3; see `FedAvgExperiment`), by `case`
    (`option I`, `option II`, and `plain`, the update in the view of a client of plain layers, a negative control) and
    round:

    `error`: mean relative error.
    `inverse_error`: mean of 1/error, and the number of trials in which it exceeds 1, so that the estimate is nearer
    than zero.
    `cosine`: mean absolute cosine of the angle between estimate and update.
    `not_grown`: the number of trials in which the error is not larger in the last shown round than in the first.

    The bound of counts without another bound is 1/2, for a probability: they are about the median training.

    `tuning` chooses the learning rate of each case on held-out training images: the rate that reaches `target` in the
    fewest rounds; among equals, or if none does, the rate with the highest accuracy.

    When the time limit of its course has passed, a trial stops within a training, and resumes there later. Each trial
    tries every learning rate, unless another has done so in the same folder of checkpoints.

    Arguments:
        family: of the sketches of the layers.
        training: the procedure of both cases.
        rounds: the most rounds of a training.
        trials: pairs of trainings.
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
    trials: AtLeastTwo

    def trial(self, number: int) -> Values:
        """Train a pair; return, by case, the curve, and the bytes of a reply by the protocol."""
        values = {}
        for case, experiment in self._experiments.items():
            curve = self._run(replace(experiment, course=self.course.within(f"trial{number}")), f"trial {number}")
            values[case] = {"curve": curve.to_dict(), "reply": reply_bytes(experiment.make())}
        return values

    def run(self) -> list[Row]:
        """Run as `Repeated.run`; without checkpoints, stack the trials of a small perceptron, up to rounding."""
        if self.course.checkpoints is not None or not can_stack(self._experiments["plain"], self.trials):
            return super().run()
        values: list[Values] = [{} for _ in range(self.trials)]
        for case, experiment in self._experiments.items():
            curves = train_stack([self._named(experiment, f"trial {number}") for number in range(self.trials)])
            for value, curve in zip(values, curves, strict=True):
                value[case] = {"curve": curve.to_dict(), "reply": reply_bytes(experiment.make())}
        return self.rows(values)

    def rows(self, values: Sequence[Values]) -> list[Row]:
        cases = list(values[0])
        curves: Curves = {case: [Curve.from_dict(one[case]["curve"]) for one in values] for case in cases}
        rows = [row for case in cases for row in _messages(case, values[0][case]["reply"], curves[case])]
        rows += _message_ratios(rows)
        ratios = list(self._ratios(curves))
        rows += self._total_bytes(ratios, {case: values[0][case]["reply"] for case in cases})
        return [*self._comparisons(curves), *self._targets(curves, ratios), *rows, *self._estimates(curves)]

    @functools.cached_property
    def _experiments(self) -> dict[str, FedAvgExperiment]:
        """The training of each case, with its learning rate."""
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

    def _named(self, experiment: FedAvgExperiment, name: str) -> FedAvgExperiment:
        return replace(experiment, name=name, seed=seeds.key(self.seed, task="training", name=name))

    def _run(self, experiment: FedAvgExperiment, name: str) -> Curve:
        return self._named(experiment, name).run()

    def _rate(self, experiment: FedAvgExperiment) -> float:
        target = self.judging.target
        procedure = self.training.limit_participation(self.tuning.participation)
        tried = replace(experiment, rounds=self.tuning.rounds, target=target, procedure=procedure, estimated=())

        def merit(data: Dataset, rate: float) -> tuple[float, float]:
            curve = self._run(replace(tried, data=data, rate=rate), "tuning")
            return -(curve.round_reaching(target) or np.inf), max(curve.values["accuracy"].values())

        return self.tuning.best(experiment.data, self.seed, merit)

    def _comparisons(self, curves: Curves) -> Iterator[Row]:
        yield from self._shown_means("loss", curves)
        for quantity in ("accuracy", "auc"):
            if quantity in curves["plain"][0].values:
                yield from self._shown_means(quantity, curves)
                if not self.judging.stop:
                    yield from self._losses(quantity, curves)
        yield from self._improvements(curves)
        yield from _roc(curves)

    def _shown_means(self, quantity: str, curves: Curves) -> Iterator[Row]:
        for case, trained in curves.items():
            for t in self._shown_rounds(trained):
                sent = {"bytes_up": trained[0].bytes_up[t], "bytes_down": trained[0].bytes_down[t]}
                row = Row(quantity, case=case, round=t, **sent)
                values = np.array([curve.values[quantity][t] for curve in trained])
                if np.isfinite(values).all():
                    yield row.replace(status="finite").mean(values)
                else:
                    yield row.without_number("diverged", "the weights of a training have overflown", len(trained))

    def _losses(self, quantity: str, curves: Curves) -> Iterator[Row]:
        for case, plain, ends in _ends(quantity, curves):
            loss = plain - ends
            row = Row(f"{quantity}_loss", case=case, status="finite", bound=MEDIAN)
            row = row.replace(positive_control=self._count_reached(curves["plain"]))
            yield row.replace(count=int((loss > self.judging.allowed_loss).sum())).mean(loss)

    def _improvements(self, curves: Curves) -> Iterator[Row]:
        """The rows `accuracy_not_better` and `loss_not_better`; an end that is not a number is no better."""
        converged = 0 if self.judging.stop else self._count_reached(curves["plain"])
        for quantity, sign in (("accuracy", 1), ("loss", -1)):
            for case, plain, ends in _ends(quantity, curves):
                row = Row(f"{quantity}_not_better", case=case, bound=MEDIAN, positive_control=converged)
                yield row.counted(int((~(sign * ends > sign * plain)).sum()), len(ends))

    def _count_reached(self, trained: list[Curve]) -> int:
        return sum(curve.round_reaching(self.judging.target) is not None for curve in trained)

    def _shown_rounds(self, trained: list[Curve]) -> list[int]:
        """The rounds with rows: those among `shown_rounds` that all of these trainings have reached."""
        last = min(curve.rounds[-1] for curve in trained)
        return [t for t in shown_rounds(self.rounds, self.judging.points) if t <= last]

    def _targets(self, curves: Curves, ratios: Sequence[Ratios]) -> Iterator[Row]:
        reached = {case: [curve.round_reaching(self.judging.target) for curve in own] for case, own in curves.items()}
        for case, rounds in reached.items():
            yield _mean_if_reached(Row("rounds_to_target", case=case), rounds)
        for case, rounds, own in ratios:
            if case == "sketched":
                yield _mean_if_reached(Row("rounds_ratio", case=case), own)
            yield Row("missed", case=case).exceedances([float(t is None) for t in rounds], MEDIAN)
            yield self._excess(case, own)

    def _ratios(self, curves: Curves) -> Iterator[Ratios]:
        """Each compared case, with its trainings' rounds to the target, and over the plain rounds; None if missed."""
        target = self.judging.target
        plain, sketched = ([curve.round_reaching(target) for curve in curves[case]] for case in ("plain", "sketched"))
        still = [0 if curve.values["accuracy"][0] >= target else None for curve in curves["plain"]]
        for case, rounds in (("sketched", sketched), (STANDING, still)):
            yield case, rounds, [b / a if a and b is not None else None for a, b in zip(plain, rounds, strict=True)]

    def _total_bytes(self, every: Sequence[Ratios], replies: Mapping[str, int]) -> Iterator[Row]:
        """The rows `bytes_excess`, for the bytes of each case's reply; the broadcast has a KEY more."""
        for case, _, ratios in every:
            share = (2 * replies.get(case, replies["plain"]) + KEY) / (2 * replies["plain"] + KEY)
            sent = [share * ratio for ratio in ratios if ratio is not None]
            row = _exceeding(Row("bytes_excess", case=case, threshold=MUCH), sent, MUCH, len(ratios))
            yield row.replace(bound=MEDIAN)

    def _excess(self, case: str, ratios: Sequence[float | None]) -> Row:
        """The row `ratio_excess`, from the ratio of rounds of each pair, None if it missed the target."""
        printed = self.judging.printed.get(f"{self.training.participation:g}")
        excess = np.array([ratio for ratio in ratios if ratio is not None])
        bound = 1.0
        if printed:
            plain, sketched = printed
            bound, excess = self.judging.allowed_factor, excess * plain / sketched
            excess = np.maximum(excess, 1 / np.maximum(excess, TINY))
        else:
            excess = excess / self.judging.allowed_ratio
        return _exceeding(Row("ratio_excess", case=case), excess, bound, len(ratios))

    def _estimates(self, curves: Curves) -> Iterator[Row]:
        """The rows on a client's estimates; none if no layer is sketched."""
        trained = curves["sketched"]
        if f"error {OPTIONS[0]}" not in trained[0].values:
            return
        sources = [(f"option {option}", option, trained) for option in OPTIONS]
        for case, option, several in [*sources, ("plain", PLAIN, curves["plain"])]:
            shown = self._shown_rounds(several)
            for t in shown:
                error, cosine = (
                    np.array([curve.values[f"{quantity} {option}"][t] for curve in several])
                    for quantity in ("error", "cosine")
                )
                where: dict[str, Value] = {"case": case, "round": t}
                if not (np.isfinite(error) & np.isfinite(cosine)).all():
                    reason = "the weights of a training have overflown"
                    for quantity in ("error", "inverse_error", "cosine"):
                        yield Row(quantity, **where).without_number("diverged", reason, len(several))
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
    """The mean of a quantity over the last tenth of a training's rounds."""
    last = curve.rounds[-1]
    return curve.mean_from(quantity, last + 1 - max(1, last // LAST))


def _ends(quantity: str, curves: Curves) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Each case to compare with plain trainings, with the plain trainings' ends and its own, each (trials,)."""
    plain = np.array([_end(curve, quantity) for curve in curves["plain"]])
    yield "sketched", plain, np.array([_end(curve, quantity) for curve in curves["sketched"]])
    yield STANDING, plain, np.array([curve.values[quantity][0] for curve in curves["plain"]])


def _roc(curves: Curves) -> Iterator[Row]:
    for case, trained in curves.items():
        points = zip(*(curve.roc for curve in trained), strict=True)
        for rate, values in zip(FALSE_POSITIVES, points, strict=False):
            yield Row("roc", case=case, false_positives=rate, status="finite").mean(values)


def _exceeding(row: Row, values: Sequence[float] | Numbers, bound: float, trials: int) -> Row:
    """Complete a row with the number of values above a bound; pairs that missed the target exceed it."""
    missed = trials - len(values)
    largest = max([*values, *([bound] if missed else [])])
    row = row.replace(bound=bound, maximum=float(largest))
    return row.counted(exceeding(np.array(values), bound) + missed, trials)


def _mean_if_reached(row: Row, values: Sequence[float | None]) -> Row:
    """Complete a row with the mean over all trials; the status is `unfinished` if some missed the target (None)."""
    reached = [value for value in values if value is not None]
    if missed := len(values) - len(reached):
        return row.without_number("unfinished", f"{missed} of the trials did not reach the target", len(values))
    return row.replace(status="finite").mean(reached)


def _messages(case: str, size: int, trained: list[Curve]) -> Iterator[Row]:
    """The rows `bytes_down` and `bytes_up`, for a reply of `size` bytes by the protocol."""
    down = [sent for curve in trained for sent in curve.broadcasts]
    up = [sent for curve in trained for sent in curve.replies]
    yield Row("bytes_down", case=case, status="finite", exact=size + KEY).mean(down)
    yield Row("bytes_up", case=case, status="finite", exact=size).mean(up)


def _message_ratios(messages: Sequence[Row]) -> Iterator[Row]:
    sizes = {str(row["case"]): np.double(row["mean"]) for row in messages if row["quantity"] == "bytes_up"}
    for case, size in sizes.items():
        yield Row("message_ratio", case=case, bound=HALF).number(size / sizes["plain"])

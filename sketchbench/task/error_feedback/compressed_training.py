"""Training of networks from compressed gradients: FIHT and CountSketch beside no compression."""

import functools
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.course import Course
from sketchbench.base.parameters import Checked, Count, Positive
from sketchbench.federated.compressed_experiment import CompressedExperiment, CompressedProcedure, Compression
from sketchbench.federated.compressed_stack import can_stack, train_stack
from sketchbench.federated.compressors import UNCOMPRESSED, CompressionArm
from sketchbench.federated.curve import Curve
from sketchbench.federated.tuning import Tuning
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.augmentation import flip_and_rotate
from sketchbench.learning.dataset.dataset import Dataset, MakeDataset
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.task.repeated import Repeated, Values

log = logging.getLogger(__name__)
LATE = 0.8  # rounds beyond this share of all count as the end of a training

Curves = dict[CompressionArm, list[Curve]]  # a curve for each trial


@dataclass(frozen=True)
class CompressedJudging(Checked):
    """The evaluation of trainings, and the losses of accuracy that claims allow.

    Arguments:
        points: the number of evaluated rounds, evenly spread, beside the start.
        images: how many test images, and as many training images, the network is evaluated on, the same in all rounds;
            None for all.
        allowed_loss: the loss of test accuracy that compression may cause.
        refuting_loss: the loss of test accuracy with which a single training refutes the claim that compression loses
            none. It was declared in advance, and is several times the difference between trainings. A smaller loss in a
            single training does not confirm the claim.
    """

    points: Count
    images: Count | None
    allowed_loss: float
    refuting_loss: Positive


@dataclass(frozen=True)
class CompressedTraining(Checked, Repeated):
    """SGD of a network from compressed gradients (tang2021 §4.2; `CompressedSensingSGD`), in `trials` trainings of each
    arm.

    The arms are `uncompressed`, and `fiht` and `count_sketch`, both with feedback, at their compressions d/b. In each
    trial all arms have the same partition, initial weights and batches; an arm keeps one operator in all rounds. The
    end of a training is the last fifth of its rounds. Rows, by arm (`case` and `compression`):

    `loss`, `train_accuracy`, `accuracy`, `memory` (see `CompressedExperiment`), at the evaluated rounds: means, with
    the bytes of a client that takes part in all rounds; after a divergence the status `diverged`, and no mean.
    `accuracy_loss`: mean of the uncompressed training's final accuracy minus the arm's, which is 0 for a training that
    diverged, and the `count` of trials that lose more than `allowed_loss`.
    `great_loss`: the number of trials whose loss of accuracy exceeds the bound `refuting_loss`, and the largest loss.
    `survives`: the number of trials whose loss ends below the first loss, and below the loss of guessing, which is the
    logarithm of the number of classes.
    `not_behind`: the number of trials with a final accuracy not below FIHT's at its highest compression; for that arm
    itself, all trials.
    `lead`: mean of the arm's accuracy minus FIHT's at its highest compression, averaged over the evaluated rounds
    before either diverged. It tells arms apart even if most trainings diverge and end alike.
    `ahead`: the number of trials with a positive lead.

    The bound of counts without another bound is 1/2, for a probability: they are about the median training. A single
    trial has no standard deviation, and shows nothing about a probability.

    All arms have one learning rate: that of the uncompressed training with the lowest loss on held-out training images.

    When the time limit of its course has passed, a trial stops within a training, and resumes there later. Each trial
    tries every learning rate, unless another has done so in the same folder of checkpoints.
    """

    kernels: Kernels
    seed: int
    course: Course
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    compression: Compression
    training: CompressedProcedure
    tuning: Tuning
    judging: CompressedJudging
    rounds: Count
    trials: Count

    def trial(self, number: int) -> Values:
        """Train all arms; return their curves by arm, and the number of classes."""
        experiment = replace(self._experiment, course=self.course.within(f"trial{number}"))
        trained = {_name(arm): self._named(experiment, arm, f"trial {number}").run().to_dict() for arm in self._arms}
        return {**trained, "classes": experiment.data.classes}

    def run(self) -> list[Row]:
        """Run as `Repeated.run`; without checkpoints, stack all trials of a small network, with the same rows."""
        if self.course.checkpoints is not None or not can_stack(self._experiment):
            return super().run()
        trials = [self._named(self._experiment, UNCOMPRESSED, f"trial {number}") for number in range(self.trials)]
        curves = dict(zip(self._arms, train_stack(trials, self._arms), strict=True))
        return list(self._rows(curves, chance=math.log(self._experiment.data.classes)))

    def rows(self, values: Sequence[Values]) -> list[Row]:
        curves = {arm: [Curve.from_dict(one[_name(arm)]) for one in values] for arm in self._arms}
        return list(self._rows(curves, chance=math.log(values[0]["classes"])))

    @property
    def _arms(self) -> list[CompressionArm]:
        several = self.compression.arms.items()
        return [UNCOMPRESSED, *(CompressionArm(case, compression) for case, many in several for compression in many)]

    @functools.cached_property
    def _experiment(self) -> CompressedExperiment:
        """The uncompressed training, with the learning rate of all arms."""
        data = self.dataset()
        data.check_disjoint()
        if self.training.augmented:
            data = replace(data, train=flip_and_rotate(data.train, self.seed))
        experiment = CompressedExperiment(
            rounds=self.rounds,
            evaluated=self._shown_rounds,
            course=self.course.within("tuning"),
            kernels=self.kernels,
            seed=self.seed,
            data=data,
            judged=(data.train, data.test),
            images=self.judging.images,
            partition=self.partition,
            model=self.model,
            procedure=self.training,
            compression=self.compression,
            arm=UNCOMPRESSED,
            rate=self.tuning.rates[0],
        )
        experiment = replace(experiment, rate=self._rate(experiment))
        log.info("learning rate %g", experiment.rate)
        return experiment

    @property
    def _shown_rounds(self) -> list[int]:
        return np.unique(np.linspace(0, self.rounds, self.judging.points + 1).round().astype(int)).tolist()

    def _named(self, experiment: CompressedExperiment, arm: CompressionArm, name: str) -> CompressedExperiment:
        """The experiment with this arm, and the seed of its name."""
        seed = seeds.key(self.seed, task="compressed training", name=name)
        return replace(experiment, arm=arm, name=f"{name}, {arm.case}, compression {arm.compression:g}", seed=seed)

    def _rate(self, experiment: CompressedExperiment) -> float:
        rounds = self.tuning.rounds
        procedure = self.training.limit_participation(self.tuning.participation)
        evaluated = [*(t for t in self._shown_rounds if t < rounds), rounds]
        tried = replace(experiment, rounds=rounds, evaluated=evaluated, procedure=procedure)

        def merit(data: Dataset, rate: float) -> float:
            own = replace(tried, data=data, judged=(data.test, data.test), rate=rate)
            curve = self._named(own, UNCOMPRESSED, "tuning").run()
            return -curve.latest["loss"] if curve.diverged is None else -np.inf

        return self.tuning.best(experiment.data, self.seed, merit)

    def _rows(self, curves: Curves, chance: float) -> Iterator[Row]:
        plain = [self._end(curve) for curve in curves[UNCOMPRESSED]]
        strongest = max((arm for arm in curves if arm.case == "fiht"), default=None)
        for arm, trained in curves.items():
            where: dict[str, Value] = {"case": arm.case, "compression": arm.compression, "d": trained[0].parameters}
            for row in self._curves(trained):
                yield row.replace(**where)
            survivors = sum(self._survives(curve, chance) for curve in trained)
            yield Row("survives", bound=MEDIAN, **where).counted(survivors, len(trained))
            ends = [self._end(curve) for curve in trained]
            if arm != UNCOMPRESSED:
                lost = np.subtract(plain, ends)
                count = int((lost > self.judging.allowed_loss).sum())
                yield Row("accuracy_loss", bound=MEDIAN, count=count, **where).mean(lost)
                yield Row("great_loss", **where).exceedances(lost, self.judging.refuting_loss)
            if strongest:
                best = [self._end(curve) for curve in curves[strongest]]
                count = sum(end >= other for end, other in zip(ends, best, strict=True))
                yield Row("not_behind", bound=MEDIAN, **where).counted(count, len(trained))
                leads = [_lead(curve, other) for curve, other in zip(trained, curves[strongest], strict=True)]
                yield Row("lead", **where).mean(leads)
                yield Row("ahead", bound=MEDIAN, **where).counted(sum(lead > 0 for lead in leads), len(leads))

    def _curves(self, trained: Sequence[Curve]) -> Iterator[Row]:
        """The rows of the evaluated rounds, up to the first divergence."""
        for t in self._shown_rounds:
            reached = [curve for curve in trained if t in curve.bytes_up]
            for quantity in ("loss", "train_accuracy", "accuracy", *(["memory"] if t else [])):
                row = Row(quantity, round=t)
                if len(reached) < len(trained):
                    reason = f"{len(trained) - len(reached)} of the trainings have diverged"
                    yield row.without_number("diverged", reason, len(trained))
                    continue
                row = row.replace(status="finite", bytes_up=reached[0].bytes_up[t], bytes_down=reached[0].bytes_down[t])
                yield row.mean([curve.values[quantity][t] for curve in reached])
            if len(reached) < len(trained):
                return

    def _end(self, curve: Curve) -> float:
        """The accuracy at the end of a training; 0 if it diverged."""
        return 0.0 if curve.diverged is not None else curve.mean_from("accuracy", LATE * self.rounds)

    def _survives(self, curve: Curve, chance: float) -> bool:
        """Return whether the loss of a training ends below its first loss, and below the loss of guessing."""
        if curve.diverged is not None:
            return False
        return curve.mean_from("loss", LATE * self.rounds) < min(curve.values["loss"][0], chance)


def _name(arm: CompressionArm) -> str:
    return f"{arm.case} {arm.compression:g}"


def _lead(curve: Curve, other: Curve) -> float:
    """A training's accuracy minus another's, averaged over the evaluated rounds t >= 1 of both; 0 if there are none."""
    values, others = curve.values["accuracy"], other.values["accuracy"]
    common = [t for t in values if t in others and t > 0]
    return float(np.mean([values[t] - others[t] for t in common])) if common else 0.0

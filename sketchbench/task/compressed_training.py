"""Networks trained from compressed gradients: FIHT and CountSketch beside no compression."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sketchbench import seeds
from sketchbench.dataset.augmentation import turned
from sketchbench.dataset.dataset import Dataset, MakeDataset, Split
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.checkpoint import described, place
from sketchbench.federated.compressed_experiment import History, Judged, train
from sketchbench.federated.compressed_sensing import CompressedSensingSGD, Feedback
from sketchbench.kernels import Kernels
from sketchbench.measure.summary import summarize
from sketchbench.model.networks import MakeModel
from sketchbench.model.precision import Precision
from sketchbench.objective.network import Inputs, Network
from sketchbench.recovery.count_sketch import CountSketchMedian
from sketchbench.recovery.desketch import Desketch
from sketchbench.recovery.fiht import FIHT
from sketchbench.recovery.recovery import Recovery
from sketchbench.sketch.family import Family
from sketchbench.sketch.identity import Identity
from sketchbench.sketch.sparse import BlockSparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard

log = logging.getLogger(__name__)
MEDIAN = 0.5  # what happens in at most half of all trainings, happens beyond their median
LATE = 0.8  # the share of the rounds after which accuracies count as those of the end
HELD_OUT = 10  # one in so many training samples is held out to choose the learning rate
TABLE_ROWS = 5  # of a CountSketch (tang2021 Appendix C.2)

Row = dict[str, Any]


class Arm(NamedTuple):
    """A way to compress, and its d/b."""

    case: str
    compression: float


UNCOMPRESSED = Arm("uncompressed", 1.0)


@dataclass(frozen=True)
class CompressedTraining:
    """tang2021 §4.2: SGD of a network whose clients send compressed gradients (`CompressedSensingSGD`), in
    `trials` trainings of each arm. The arms are `uncompressed`, and `fiht` and `count_sketch`, both with feedback
    of `feedback` kind, at the `compressions` d/b given for them. Trial by trial, all arms have the same partition,
    the same initial weights and the same batches in each round; each has one operator in all rounds.

    augmented: flips and turns every training image once, before they are dealt out.

    Accuracies and losses are those of `judged` test images and as many training images (null: of all), the same
    in all rounds, at `points` rounds evenly spread, and at the start. Rows, by arm (`case` and `compression`):

    `loss`, `train_accuracy`, `accuracy`: at these rounds, with the bytes of a client that takes part in all of
    them; where a training has diverged by then, a row with the status `diverged` and no mean.
    `accuracy_loss`: accuracy uncompressed less that of the arm, in the mean over the rounds from four fifths on,
    with the `count` of the trials that lose more than `allowed_loss`; one that diverges has the accuracy 0 then.
    `survives`: in how many trials the loss at the end is below the one at the start.
    `not_behind`: of a CountSketch, in how many trials its accuracy at the end is not below that of FIHT at the highest of
    its compressions.
    The bound of these counts is that of a probability, 1/2: they are about the median training.

    The rate is the one of `rates` whose uncompressed training has the lowest loss on a tenth of the training images,
    held out for this, after `tuning_rounds`. All arms have it; test images play no part.

    A single trial has no standard deviation, and can't show anything of a probability.
    checkpoints: a folder for what a stopped training goes on from; null for none. code: a digest of the code behind
    the trainings; those of another are not gone on with.
    """

    kernels: Kernels
    seed: int
    code: str
    dataset: MakeDataset
    partition: MakeParts
    model: MakeModel
    compressions: dict[str, list[float]]
    k: int
    rates: list[float]
    tuning_rounds: int
    batch: int
    participation: float
    inputs: Inputs
    augmented: bool
    precision: Precision
    feedback: Feedback
    momentum: float
    rounds: int
    trials: int
    points: int
    judged: int | None
    allowed_loss: float
    checkpoints: str | None

    def run(self) -> list[Row]:
        if min(self.trials, self.rounds, self.points) < 1 or not self.rates:
            raise ValueError(
                f"trials={self.trials}, rounds={self.rounds} and points={self.points} must be >= 1, and "
                f"rates={self.rates} not empty"
            )
        data = self.dataset()
        data.check_disjoint()
        if self.augmented:
            data = replace(data, train=turned(data.train, self.seed))
        rate = self._rate(data)
        log.info("learning rate %g", rate)
        found: dict[Arm, list[History]] = {arm: [] for arm in self._arms()}
        for trial in range(self.trials):
            for arm, histories in found.items():
                name = f"trial {trial}"
                judged = (data.train, data.test)
                histories.append(self._trained(data, judged, arm, rate, self.rounds, name))
        return list(self._rows(found))

    def _arms(self) -> list[Arm]:
        unknown = self.compressions.keys() - ARMS.keys()
        if unknown:
            known = ", ".join(ARMS)
            raise ValueError(f"arm {min(unknown)} is unknown; choose from {known}")
        arms = [Arm(case, c) for case, several in self.compressions.items() for c in several]
        return [UNCOMPRESSED, *arms]

    @property
    def _shown(self) -> list[int]:
        """The rounds that are judged, with 0."""
        return np.unique(np.linspace(0, self.rounds, self.points + 1).round().astype(int)).tolist()

    def _rate(self, data: Dataset) -> float:
        """The learning rate, by the rule above."""
        if len(self.rates) == 1:
            return self.rates[0]
        order = seeds.generator(self.seed, data="held out").permutation(len(data.train.labels))
        held, kept = (
            Split(data.train.images[part], data.train.labels[part])
            for part in np.split(order, [len(order) // HELD_OUT])
        )
        own = Dataset(data.label, data.classes, data.white, kept, held)

        def held_out_loss(rate: float) -> float:
            name, rounds = "tuning", self.tuning_rounds
            history = self._trained(own, (held, held), UNCOMPRESSED, rate, rounds, name)
            return history.loss[-1] if history.diverged is None else np.inf

        return min(self.rates, key=held_out_loss)

    def _trained(
        self,
        data: Dataset,
        judged: Sequence[Split],
        arm: Arm,
        rate: float,
        rounds: int,
        name: str,
    ) -> History:
        """One training of one arm: a trial, or one to tune with."""
        seed = seeds.key(self.seed, task="compressed training", name=name)
        network = Network(
            self.kernels,
            seed,
            data=data,
            model=self.model,
            partition=self.partition,
            batch=self.batch,
            participation=self.participation,
            inputs=self.inputs,
            precision=self.precision,
        )
        recovery, family = _compression(arm, self.k, network.d)
        algorithm = CompressedSensingSGD(recovery, rate, feedback=self.feedback, momentum=self.momentum, clients="mean")
        key = seeds.key(seed, family=repr(family))
        parts = [network.samples(*self._some(split, seed)) for split in judged]
        shown = [t for t in self._shown if t < rounds] + [rounds]
        return train(
            algorithm,
            network,
            family.draw(key, kernels=self.kernels),
            Judged(*parts),
            seed,
            rounds=rounds,
            shown=shown,
            path=self._place(data, arm, algorithm, rounds, seed),
            name=f"{name}, {arm.case}, compression {arm.compression:g}",
        )

    def _some(self, split: Split, seed: int) -> Split:
        """The images that are judged."""
        if self.judged is None or self.judged >= len(split.labels):
            return split
        random = seeds.generator(seed, data="judged", of=len(split.labels))
        at = np.sort(random.choice(len(split.labels), self.judged, replace=False))
        return Split(split.images[at], split.labels[at])

    def _place(self, data: Dataset, arm: Arm, algorithm: CompressedSensingSGD, rounds: int, seed: int) -> Path | None:
        """A checkpoint of its own for every training."""
        if self.checkpoints is None:
            return None
        made = [self.code, data.digest, described(self.partition), described(self.model)]
        training = (self.batch, self.participation, self.inputs, self.precision, self.kernels.NAME)
        curve = (rounds, self.points, self.judged)
        return place(self.checkpoints, *made, *training, *curve, arm, algorithm, seed)

    def _rows(self, found: dict[Arm, list[History]]) -> Iterator[Row]:
        plain = [self._end(history) for history in found[UNCOMPRESSED]]
        strongest = max((arm for arm in found if arm.case == "fiht"), default=None)
        for arm, histories in found.items():
            told = {"case": arm.case, "compression": arm.compression, "d": histories[0].d}
            for row in self._curves(histories):
                yield told | row
            alive = [h.diverged is None and h.loss[-1] < h.loss[0] for h in histories]
            counted = {"bound": MEDIAN, "trials": self.trials, **told}
            yield {"quantity": "survives", "count": sum(alive), **counted}
            ends = [self._end(history) for history in histories]
            if arm != UNCOMPRESSED:
                lost = np.subtract(plain, ends)
                count = int((lost > self.allowed_loss).sum())
                yield {"quantity": "accuracy_loss", "count": count, **counted, **_moments(lost)}
            if arm.case == "count_sketch" and strongest:
                better = [self._end(history) for history in found[strongest]]
                count = sum(own >= other for own, other in zip(ends, better, strict=True))
                yield {"quantity": "not_behind", "count": count, **counted}

    def _curves(self, histories: Sequence[History]) -> Iterator[Row]:
        for at, t in enumerate(self._shown):
            reached = [history for history in histories if at < len(history.round)]
            for quantity in ("loss", "train_accuracy", "accuracy"):
                row = {"quantity": quantity, "round": t}
                if len(reached) < self.trials:
                    yield {**row, "status": "diverged", "trials": self.trials}
                    continue
                sent = {name: getattr(reached[0], name)[at] for name in ("bytes_up", "bytes_down")}
                values = [getattr(history, quantity)[at] for history in reached]
                yield {**row, "status": "finite", **sent, **_moments(values)}
            if len(reached) < self.trials:
                return

    def _end(self, history: History) -> float:
        """The accuracy at the end; 0 of a training that diverged."""
        if history.diverged is not None:
            return 0.0
        late = zip(history.round, history.accuracy, strict=True)
        return float(np.mean([value for t, value in late if t >= LATE * self.rounds]))


def _moments(values: Sequence[float] | np.ndarray) -> Row:
    """The columns of a quantity over its trials; of a single one, no spread."""
    if len(values) > 1:
        return dict(summarize(values))
    only = float(values[0])
    return {"trials": 1, "mean": only, "minimum": only, "maximum": only}


def _fiht(k: int, d: int, compression: float) -> tuple[Recovery, Family]:
    """As printed: tang2021 Appendices C and E."""
    family = SubsampledHadamard(d, round(d / compression), signs=False)
    return FIHT(k, stopping="paper", support="padded"), family


def _count_sketch(k: int, d: int, compression: float) -> tuple[Recovery, Family]:
    columns = max(1, round(d / (TABLE_ROWS * compression)))
    return CountSketchMedian(k), BlockSparseEmbedding(d, TABLE_ROWS * columns, s=TABLE_ROWS)


ARMS: dict[str, Callable[[int, int, float], tuple[Recovery, Family]]] = {
    "fiht": _fiht,
    "count_sketch": _count_sketch,
}


def _compression(arm: Arm, k: int, d: int) -> tuple[Recovery, Family]:
    """What an arm recovers with, and the family that its operator is drawn from."""
    if arm == UNCOMPRESSED:
        return Desketch(d), Identity(d, d)
    return ARMS[arm.case](k, d, arm.compression)

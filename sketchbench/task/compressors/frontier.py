"""The frontier: the accuracy of trainings with a compressor at a budget of bytes, with and without privacy."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sketchbench.base.course import Course
from sketchbench.base.parameters import AtLeastTwo, Checked, NonEmptyList, Positive
from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import Compressor, MakeCompressor
from sketchbench.compressor.traits import Modular
from sketchbench.federated.frontier import refusal
from sketchbench.federated.paired import Pair, PairedTrainings, Reached, RecordPrivacy, Rounds, Setting
from sketchbench.federated.rate_choice import RateChoice
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import MakeDataset
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model.networks import MakeModel
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.sketch.family import SizeError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrontierJudging(Checked):
    """Losses and gains of accuracy that claims allow, and the budgets of the study.

    Arguments:
        budgets: all compressions of the study; `at_budget` refuses messages that also fit a smaller budget.
        allowed_loss: the loss of accuracy by compression that is allowed in the mean.
        great_loss: the loss of accuracy that is allowed in a single training.
        least_gain: the gain of accuracy, from start to end, below which a training has failed.
    """

    budgets: NonEmptyList[Positive]
    allowed_loss: Positive
    great_loss: Positive
    least_gain: Positive


@dataclass(frozen=True)
class Frontier(Checked):
    """`trials` trainings with updates compressed to a budget of bytes, beside the same trainings without compression.

    In each trial both have the same partition, initial weights, batches and noise, which do not depend on the
    compressor. Settings are each of `training.cases` without privacy, and `privacy.case` with local noise at each ε of
    `privacy.epsilons`, and with distributed noise at each of `privacy.distributed`.

    Privacy protects single records from the server (see `federated.frontier`), by the named accountant and relation of
    neighbours. With local noise (`iid, private`) the server sees each message. With distributed noise (`iid, secure
    aggregation`) it sees only their sum. This takes a linear compressor, or a modular one, which adds noise to its
    integers, by Rényi divergences at integer orders (`privacy.secure_sum`). Batches are Poisson samples, and the noise
    is calibrated to all rounds of a training. The trainings that choose the learning rate are not in this ε: see
    `spent`.

    If only some clients take part in a round (`training.taking_part`), they keep no state, and a compressor with a
    memory at each client is refused. Each method has its own learning rate in each setting, and trainings without
    compression have theirs: the rate with the highest accuracy on a held-out tenth of the training images (see
    `federated.rate_choice`).

    Rows, by `case`, the partition (`iid, private` or `iid, secure aggregation` with privacy), and by `epsilon`:

    `accuracy`: on the test images, averaged over `training.judged` rounds up to the last round, 0 for a training that
    diverged, with a client's sent (at most) and received (mean) bytes in a round; or the status `refused`.
    `accuracy_loss`: mean of the accuracy without compression minus that with it; bound: `judging.allowed_loss`.
    `lost`, `kept`: the number of trainings in which that loss exceeds `judging.great_loss`, or does not; bound: 1/2,
    for a probability: they are about the median training.
    `gain`: mean of the final minus the first accuracy, and the `count` of trainings that gain less than
    `judging.least_gain`; the bound 1/2 is for the count.
    `over_noise`, with privacy: mean of the loss of accuracy by compression, minus the loss by privacy in trainings
    without compression; bound: 0.
    `costlier`, with privacy: the number of trainings in which that difference is above 0; bound: 1/2.
    `reached`: the number of trainings whose accuracy was seen to reach the target: the final accuracy of the same
    training without compression minus `judging.great_loss`; bound: 1/2.
    `rounds_to_target`: the rounds after which at least half of the trainings have reached it; `unfinished` if fewer do.
    `below_local`, with distributed noise: the number of trainings with an accuracy of at most that without compression
    and with local noise at the same ε; bound: 1/2.
    `diverged`: the number of trainings that diverged; bound: 1/2.
    `rate`: the learning rate; `rate_plain`: that without compression.
    `held_out`, `held_out_below`, `held_out_above`: the mean accuracy on held-out images at this rate and at its
    neighbours, over `tuning.trials` whole trainings; not for a single rate, and without a neighbour `unfinished`.
    `spent`, with privacy: an upper bound of ε including the trainings that chose the rate; held-out images count as
    public.

    If the compressor refuses the budget (see `compressor.budget`), there is a single row `accuracy` with the status
    `refused`.

    Arguments:
        compressor: makes the compressor from `layout` and `limit`.
        compression: bytes of the dense float32 update over bytes of the budget.
        partitions: by case.
        training: cases, batches and rounds.
        trials: trainings of each method.
    """

    compressor: MakeCompressor
    compression: Positive
    kernels: Kernels
    seed: int
    course: Course
    dataset: MakeDataset
    model: MakeModel
    partitions: dict[str, MakeParts]
    training: Rounds
    privacy: RecordPrivacy
    tuning: RateChoice
    judging: FrontierJudging
    trials: AtLeastTwo

    def run(self) -> list[Row]:
        """Train; return the rows of each setting.

        Raises:
            ValueError: as `stacked_network.stacked`, for clients with unequally many records, or a δ of at least 1 over
                the number of a client's records.
            Unfinished: when the time limit of `course` has passed.
        """
        trainings = self._trainings
        layout = trainings.clients(self.training.cases[0], [0]).layout
        about: dict[str, Value] = {"compression": float(self.compression), "d": layout.d}
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.judging.budgets)
        except SizeError as error:
            log.info("the budget is refused: %s", error)
            return [Row("accuracy", **about).without_number("refused", str(error))]
        rows: list[Row] = []
        pairs: dict[Setting, Pair] = {}
        for group in self._groups:
            if reason := self._refusal(trainings, group[0], compressor):
                rows += [self._row("accuracy", setting).without_number("refused", reason) for setting in group]
                continue
            pairs |= trainings.pairs(group, compressor)
            reference = pairs.get(Setting(self.privacy.case))
            for setting in group:
                own = {"accountant": "rdp"} if setting.distributed and isinstance(compressor, Modular) else {}
                found = self._rows(setting, pairs[setting], reference and reference.plain)
                rows += [row.replace(**own) for row in found]
                local = pairs.get(setting._replace(distributed=False))
                if setting.distributed and local:
                    below = int((pairs[setting].compressed.end <= local.plain.end).sum())
                    rows.append(self._row("below_local", setting, bound=MEDIAN).counted(below, self.trials))
        return [row.replace(**about) for row in rows]

    @property
    def _groups(self) -> list[Sequence[Setting]]:
        """The settings, in groups that differ in ε alone."""
        privacy = self.privacy
        ways = ((False, privacy.epsilons), (True, privacy.distributed))
        private = [[Setting(privacy.case, float(epsilon), way) for epsilon in epsilons] for way, epsilons in ways]
        return [group for group in (*([Setting(case)] for case in self.training.cases), *private) if group]

    def _refusal(self, trainings: PairedTrainings, setting: Setting, compressor: Compressor) -> str:
        """The reason why the compressor can't be used in a setting; "" if it can."""
        if setting.distributed and not (compressor.linear or isinstance(compressor, Modular)):
            return f"{type(compressor).__name__} is not linear: the sum of its messages is no function of the noisy sum"
        return refusal(compressor, trainings.clients(setting.case, [0]))

    @property
    def _trainings(self) -> PairedTrainings:
        data = self.dataset()
        data.check_disjoint()
        return PairedTrainings(
            kernels=self.kernels,
            seed=self.seed,
            data=data,
            model=self.model,
            partitions=self.partitions,
            training=self.training,
            privacy=self.privacy,
            tuning=self.tuning,
            trials=self.trials,
            course=self.course,
        )

    def _row(self, quantity: str, setting: Setting, **columns: Value) -> Row:
        about: dict[str, Value] = {"case": setting.name, "rounds": self.training.rounds}
        if setting.epsilon is not None:
            accountant = {"accountant": self.privacy.accountant, "neighbours": "add_remove"}
            about |= {"epsilon": float(setting.epsilon), "delta": self.privacy.delta, **accountant}
        return Row(quantity, **about, **columns)

    def _rows(self, setting: Setting, pair: Pair, reference: Reached | None) -> Iterator[Row]:
        """The rows of a setting; `reference` is the training with neither compression nor privacy."""
        plain, own, sigma, spent = pair
        log.info("%s: accuracy %.3f at rate %g", setting, own.end.mean(), own.rate.rate)
        about: dict[str, Value] = {} if setting.epsilon is None else {"sigma": sigma}

        def row(quantity: str, **columns: Value) -> Row:
            return self._row(quantity, setting, **about, **columns)

        loss, gain = plain.end - own.end, own.end - own.start
        yield row("accuracy", bytes_up=own.bytes_up, bytes_down=round(own.bytes_down)).mean(own.end)
        yield row("accuracy_loss", bound=self.judging.allowed_loss).mean(loss)
        yield row("lost", bound=MEDIAN).counted(int((loss > self.judging.great_loss).sum()), self.trials)
        yield row("kept", bound=MEDIAN).counted(int((loss <= self.judging.great_loss).sum()), self.trials)
        failed = int((gain < self.judging.least_gain).sum())
        yield row("gain", bound=MEDIAN, count=failed).mean(gain)
        if reference is not None and spent is not None:
            over = loss - (reference.end - plain.end)
            yield row("over_noise", bound=0.0).mean(over)
            yield row("costlier", bound=MEDIAN).counted(int((over > 0).sum()), self.trials)
            yield row("spent").number(spent)
        rounds = np.sort(own.rounds_to(plain.end - self.judging.great_loss, self.training.every))
        yield row("reached", bound=MEDIAN).counted(int(np.isfinite(rounds).sum()), self.trials)
        too_few = f"fewer than half of the {self.trials} trainings reach the target"
        yield _finite(row("rounds_to_target"), float(rounds[(self.trials - 1) // 2]), too_few)
        yield row("diverged", bound=MEDIAN).counted(own.diverged, self.trials)
        yield row("rate").number(own.rate.rate)
        yield row("rate_plain").number(plain.rate.rate)
        if len(self.tuning.rates) > 1:
            accuracies = {
                "held_out": own.rate.accuracy,
                "held_out_below": own.rate.below,
                "held_out_above": own.rate.above,
            }
            for name, accuracy in accuracies.items():
                yield _finite(row(name), accuracy, "the chosen rate is the last that may be tried")


def _finite(row: Row, value: float, reason: str) -> Row:
    """The row with a number; `unfinished`, for this reason, if the number is not finite."""
    return row.number(value) if np.isfinite(value) else row.without_number("unfinished", reason)

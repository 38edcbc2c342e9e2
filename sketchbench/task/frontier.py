"""The frontier: the accuracy that a compressor reaches at a budget of bytes, with and without privacy."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from sketchbench.compressor.budget import at_budget
from sketchbench.compressor.compressor import MakeCompressor
from sketchbench.dataset.dataset import MakeDataset
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.paired import Pair, PairedTrainings, RateChoice, Reached, RecordPrivacy, Rounds, Setting
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, NonEmptyList, Positive, Several
from sketchbench.sketch.family import SizeError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrontierJudging(Checked):
    """What trainings are judged by.

    Arguments:
        budgets: all compressions of the study: see `at_budget` for what is refused.
        allowed_loss: of accuracy, in the mean.
        great_loss: of accuracy, in a single training.
        least_gain: of accuracy, from the start to the end of a training.
    """

    budgets: NonEmptyList[Positive]
    allowed_loss: Positive
    great_loss: Positive
    least_gain: Positive


@dataclass(frozen=True)
class Frontier(Checked):
    """`trials` trainings with updates that are compressed to a budget of bytes, beside the same ones without
    compression: with the same partition, start, batches and noise, trial by trial, none of which depends on the
    compressor. They are made for each of `partitions`, and for `privacy.case` also at each ε.

    The privacy is that of single records, and local: each client protects its own against a server that sees every
    message (see `federated.frontier`). Its batches are Poisson samples, the noise is calibrated to all rounds, and
    what the choice of the learning rate reveals is not accounted for.

    The learning rate of either method is, for each setting by itself, the one of `tuning.rates` with the highest
    accuracy on a held-out tenth of the training images.

    Rows, by `case`, and by `epsilon` where there is privacy:

    `accuracy`: on the test images, in the mean over the last `training.judged` rounds, 0 where a training diverged,
    with the bytes of a client and round (received ones in the mean over the rounds, and rounded);
    `accuracy_loss`: the accuracy without compression less this one; bound: `judging.allowed_loss`;
    `lost`: in how many trainings that is more than `judging.great_loss`; bound: 1/2, as it is about the median one;
    `kept`: in how many it is not; bound: 1/2;
    `gain`: accuracy at the end less that at the start, with the `count` of the trainings that gain less than
    `judging.least_gain`; bound: 1/2, of that count;
    `over_noise`, with privacy: what compression takes away from the accuracy of private training, less what privacy
    takes away from that of training without compression; bound: 0; `costlier`: in how many trainings it is more than
    0; bound: 1/2;
    `diverged`: how many trainings did; bound: 1/2;
    `rate`: the learning rate.

    Where there is privacy, `case` says so: `iid, private`. A compressor that has no use for the budget (see
    `compressor.budget`) has a single row `accuracy` with the status `refused`.

    Arguments:
        compressor: called with `layout` and `limit`.
        compression: bytes of the dense float32 update over those of the budget.
        partitions: by case.
    """

    compressor: MakeCompressor
    compression: Positive
    kernels: Kernels
    seed: int
    dataset: MakeDataset
    model: MakeModel
    partitions: dict[str, MakeParts]
    training: Rounds
    privacy: RecordPrivacy
    tuning: RateChoice
    judging: FrontierJudging
    trials: Several

    def run(self) -> list[Row]:
        """Train; returns the rows of each setting.

        Raises:
            ValueError: for a model that is no perceptron, clients with unequally many records, or δ too large.
        """
        trainings = self._trainings
        layout = trainings.clients(self.privacy.case, [0]).layout
        about: dict[str, Value] = {"compression": float(self.compression), "d": layout.d}
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.judging.budgets)
        except SizeError as error:
            log.info("refused: %s", error)
            return [Row("accuracy", **about).lost("refused", str(error))]
        private = [Setting(self.privacy.case, float(epsilon)) for epsilon in self.privacy.epsilons]
        groups = [*([Setting(case)] for case in self.partitions), *([private] if private else [])]
        pairs = {setting: pair for group in groups for setting, pair in trainings.pairs(group, compressor).items()}
        reference = pairs[Setting(self.privacy.case)].plain
        return [row.but(**about) for setting, pair in pairs.items() for row in self._rows(setting, pair, reference)]

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
        )

    def _rows(self, setting: Setting, pair: Pair, reference: Reached) -> Iterator[Row]:
        """The rows of a setting; the reference has neither compression nor privacy."""
        plain, own, sigma = pair
        log.info("%s: accuracy %.3f at rate %g", setting, own.end.mean(), own.rate)
        about: dict[str, Value] = {"case": setting.case, "rounds": self.training.rounds}
        if setting.epsilon is not None:
            about |= {
                "case": f"{setting.case}, private",
                "epsilon": float(setting.epsilon),
                "delta": self.privacy.delta,
                "sigma": sigma,
            }
            about |= {"accountant": self.privacy.accountant}
        loss, gain = plain.end - own.end, own.end - own.start
        yield Row("accuracy", bytes_up=own.bytes_up, bytes_down=round(own.bytes_down), **about).mean(own.end)
        yield Row("accuracy_loss", bound=self.judging.allowed_loss, **about).mean(loss)
        yield Row("lost", bound=MEDIAN, **about).counted(int((loss > self.judging.great_loss).sum()), self.trials)
        yield Row("kept", bound=MEDIAN, **about).counted(int((loss <= self.judging.great_loss).sum()), self.trials)
        failed = int((gain < self.judging.least_gain).sum())
        yield Row("gain", bound=MEDIAN, count=failed, **about).mean(gain)
        if setting.epsilon is not None:
            over = loss - (reference.end - plain.end)
            yield Row("over_noise", bound=0.0, **about).mean(over)
            yield Row("costlier", bound=MEDIAN, **about).counted(int((over > 0).sum()), self.trials)
        yield Row("diverged", bound=MEDIAN, **about).counted(own.diverged, self.trials)
        yield Row("rate", **about).number(own.rate)

"""The frontier: the accuracy that trainings with a compressor reach at a budget of bytes, with and without privacy."""

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
    """Losses and gains of accuracy that claims allow, and the budgets of the study.

    Arguments:
        budgets: all compressions of the study; `at_budget` refuses messages that also fit a smaller budget.
        allowed_loss: the loss of accuracy by compression that is allowed in the mean.
        great_loss: the loss of accuracy that is allowed in a single training.
        least_gain: the gain of accuracy, from the start to the end, below which a training has failed.
    """

    budgets: NonEmptyList[Positive]
    allowed_loss: Positive
    great_loss: Positive
    least_gain: Positive


@dataclass(frozen=True)
class Frontier(Checked):
    """`trials` trainings with updates compressed to a budget of bytes, beside the same trainings without compression.

    In each trial both have the same partition, initial weights, batches and noise, none of which depends on the
    compressor. Settings are each of `partitions` without privacy, and `privacy.case` at each ε.

    Privacy is local, and protects single records: each client protects its own from a server that sees every message
    (see `federated.frontier`). Batches are Poisson samples, the noise is calibrated to all rounds, and the leakage by
    the choice of the learning rate is not accounted for.

    Each method has its own learning rate in each setting: the one of `tuning.rates` with the highest accuracy on a
    held-out tenth of the training images.

    Rows, by `case`, the partition (`iid, private` for one with privacy), and by `epsilon`:

    `accuracy`: on the test images, averaged over the last `training.judged` rounds, 0 for a training that diverged,
    with the bytes that a client sends (at most) and receives (in the mean) in a round.
    `accuracy_loss`: mean of the accuracy without compression less that with it; bound: `judging.allowed_loss`.
    `lost`, `kept`: in how many trainings that loss exceeds `judging.great_loss`, or does not; bound: 1/2, for a
    probability: they are about the median training.
    `gain`: mean of the accuracy at the end less that at the start, and the `count` of trainings that gain less than
    `judging.least_gain`; the bound 1/2 is for the count.
    `over_noise`, with privacy: mean of the loss of accuracy by compression, less the loss by privacy in trainings
    without compression; bound: 0.
    `costlier`, with privacy: in how many trainings that difference is above 0; bound: 1/2.
    `diverged`: the number of trainings that diverged; bound: 1/2.
    `rate`: the learning rate.

    If the compressor refuses the budget (see `compressor.budget`), there is a single row `accuracy` with the status
    `refused`.

    Arguments:
        compressor: makes the compressor from `layout` and `limit`.
        compression: bytes of the dense float32 update over bytes of the budget.
        partitions: by case.
        training: batches and rounds.
        trials: trainings of each method.
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
            ValueError: as `stacked_network.stacked`, for clients with unequally many records, or a δ of at least 1
                over the number of a client's records.
        """
        trainings = self._trainings
        layout = trainings.clients(self.privacy.case, [0]).layout
        about: dict[str, Value] = {"compression": float(self.compression), "d": layout.d}
        try:
            compressor = at_budget(self.compressor, layout, self.compression, self.judging.budgets)
        except SizeError as error:
            log.info("the budget is refused: %s", error)
            return [Row("accuracy", **about).without_number("refused", str(error))]
        private = [Setting(self.privacy.case, float(epsilon)) for epsilon in self.privacy.epsilons]
        groups = [*([Setting(case)] for case in self.partitions), *([private] if private else [])]
        pairs = {setting: pair for group in groups for setting, pair in trainings.pairs(group, compressor).items()}
        reference = pairs[Setting(self.privacy.case)].plain
        return [row.replace(**about) for setting, pair in pairs.items() for row in self._rows(setting, pair, reference)]

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
        """The rows of a setting; `reference` is the training with neither compression nor privacy."""
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

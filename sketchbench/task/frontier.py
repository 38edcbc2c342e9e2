"""The frontier: the accuracy that a compressor reaches at a budget of bytes, with and without privacy."""

import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.compressor.compressor import At, Compressor, MakeCompressor
from sketchbench.compressor.message import Layout, limit_of
from sketchbench.compressor.plain import Plain
from sketchbench.dataset.dataset import Dataset, MakeDataset
from sketchbench.dataset.partition import MakeParts
from sketchbench.federated.frontier import Arm, Federation, Gradients, Trained, federation, train
from sketchbench.federated.tuning import held_out
from sketchbench.kernels import Kernels
from sketchbench.measure.row import MEDIAN, Row, Value
from sketchbench.model.networks import MakeModel
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Probability, Several, choose
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_step, private_training
from sketchbench.privacy.sampling import Sampling
from sketchbench.sketch.family import SizeError

log = logging.getLogger(__name__)

Numbers = NDArray[np.float64]  # (trials,)


@dataclass(frozen=True)
class Rounds(Checked):
    """How all networks are trained.

    Arguments:
        batch: records of a client in a round; under privacy their expected number.
        rounds: of a training.
        stack: trials that are trained at once, as memory allows.
    """

    batch: Count
    rounds: Count
    stack: Count


@dataclass(frozen=True)
class RecordPrivacy(Checked):
    """Privacy of a client's records against the server.

    Arguments:
        case: the partition that is trained with privacy, too.
        epsilons: values of ε that the noise is calibrated to.
        delta: δ, below 1 over a client's records.
        clip: norm that the gradient of a record is clipped to.
        accountant: one that knows Poisson batches.
    """

    case: str
    epsilons: list[Positive]
    delta: Probability
    clip: Positive
    accountant: str


@dataclass(frozen=True)
class RateChoice(Checked):
    """How the learning rate of a compressor is chosen, for each setting by itself.

    Arguments:
        rates: to choose from.
        rounds: of a training that tries one.
        trials: trainings that try one; they are none of those that are judged.
    """

    rates: NonEmptyList[Positive]
    rounds: Count
    trials: Count


@dataclass(frozen=True)
class FrontierJudging(Checked):
    """What trainings are judged by.

    Arguments:
        compressions: the budgets of the study: what fits into a smaller one than its own is refused.
        allowed_loss: of accuracy, in the mean.
        great_loss: of accuracy, in a single training.
        least_gain: of accuracy, from the start to the end of a training.
    """

    compressions: NonEmptyList[Positive]
    allowed_loss: Positive
    great_loss: Positive
    least_gain: Positive


class Setting(NamedTuple):
    """What is trained.

    Arguments:
        case: the name of a partition.
        epsilon: ε; None without privacy.
    """

    case: str
    epsilon: float | None = None

    def __str__(self) -> str:
        return self.case if self.epsilon is None else f"{self.case}, epsilon {self.epsilon:g}"


class Reached(NamedTuple):
    """What `trials` trainings of one method reach.

    Arguments:
        start, end: accuracies, (trials,); at the end 0 where one has diverged.
        diverged: how many have.
        bytes_up, bytes_down: of a client in a round.
        rate: the learning rate.
    """

    start: Numbers
    end: Numbers
    diverged: int
    bytes_up: int
    bytes_down: int
    rate: float


class Pair(NamedTuple):
    """The compressor, and no compression, in the same trials."""

    plain: Reached
    compressed: Reached
    sigma: float


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

    `accuracy`: on the test images, 0 where a training diverged, with the bytes of a client and round (received ones in
    the mean over the rounds, and rounded);
    `accuracy_loss`: the accuracy without compression less this one; bound: `judging.allowed_loss`;
    `lost`: in how many trainings that is more than `judging.great_loss`; bound: 1/2, as it is about the median one;
    `gain`: accuracy at the end less that at the start, with the `count` of the trainings that gain less than
    `judging.least_gain`; bound: 1/2, of that count;
    `over_noise`, with privacy: what compression takes away from the accuracy of private training, less what privacy
    takes away from that of training without compression; bound: 0;
    `diverged`: how many trainings did; bound: 1/2;
    `rate`: the learning rate.

    A compressor whose message doesn't fit, or fits into the next smaller budget as well, has a single row `accuracy`
    with the status `refused`.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("privacy.case", self.privacy.case, self.partitions)

    def run(self) -> list[Row]:
        """Train; returns the rows of each setting.

        Raises:
            ValueError: for a model that is no perceptron, clients with unequally many records, or δ too large.
        """
        clients = self._clients(self._data, self.privacy.case, [0])
        layout = clients.layout
        about: dict[str, Value] = {"compression": float(self.compression), "d": layout.d}
        try:
            compressor = self.compressor(layout=layout, limit=limit_of(layout, self.compression))
            self._refuse_smaller(compressor, clients.clients)
        except SizeError as error:
            log.info("refused: %s", error)
            return [Row("accuracy", **about).lost("refused", str(error))]
        settings = [*map(Setting, self.partitions), *(Setting(self.privacy.case, e) for e in self.privacy.epsilons)]
        pairs = {setting: self._pair(setting, compressor) for setting in settings}
        reference = pairs[Setting(self.privacy.case)].plain
        return [row.but(**about) for setting, pair in pairs.items() for row in self._rows(setting, pair, reference)]

    @cached_property
    def _data(self) -> Dataset:
        data = self.dataset()
        data.check_disjoint()
        return data

    def _refuse_smaller(self, compressor: Compressor, clients: int) -> None:
        """Raise SizeError where the message of a round fits into the next smaller budget."""
        layout, kernels = compressor.layout, self.kernels
        smaller = [other for other in self.judging.compressions if other > self.compression]
        if not smaller:
            return
        seed = seeds.key(self.seed, task="frontier", part="size")
        normal = seeds.generator(seed).standard_normal((1, clients, layout.d), dtype=np.float32)
        memory = compressor.begin(1, clients, kernels)
        size = compressor.exchange(kernels.asarray(normal), memory, At(kernels, seed, 0, 1)).bytes_up
        if size <= limit_of(layout, min(smaller)):
            raise SizeError(
                f"{type(compressor).__name__} sends {size} bytes, which fit into 1/{min(smaller):g} of the dense "
                "update, too; see there"
            )

    def _clients(self, data: Dataset, case: str, trials: list[int], part: str = "training") -> Federation:
        """The federation of the trials with these numbers."""
        keys = [seeds.key(self.seed, task="frontier", part=part, case=case, trial=trial) for trial in trials]
        return federation(self.kernels, data, self.partitions[case], self.model, keys)

    def _gradients(self, clients: Federation, setting: Setting, sigma: float) -> Gradients:
        """How these clients take their gradients."""
        records = clients.records.shape[2]
        if setting.epsilon is None:
            return Gradients(Sampling("without_replacement", self.training.batch, records))
        return Gradients(Sampling("poisson", self.training.batch, records), self.privacy.clip, sigma)

    def _sigma(self, setting: Setting) -> float:
        """Standard deviation of the noise in a client's mean gradient; 0 without privacy."""
        if setting.epsilon is None:
            return 0.0
        clients, privacy = self._clients(self._data, setting.case, [0]), self.privacy
        records = clients.records.shape[2]
        if privacy.delta * records >= 1:
            raise ValueError(
                f"privacy.delta={privacy.delta:g} must be < {1 / records:.3g}, 1 over the {records} records of a "
                "client: a larger one allows to publish one of them"
            )
        sampling = Sampling("poisson", self.training.batch, records)
        step = mean_step(privacy.clip, 1.0, sampling, sampling.neighbours)
        rounds = self.training.rounds
        released = private_training(step, local_steps=1, rounds=rounds, records=clients.owners, sketch="compressed")
        return calibrated_sigma(privacy.accountant, released, setting.epsilon, privacy.delta)

    def _pair(self, setting: Setting, compressor: Compressor) -> Pair:
        """The trainings of a setting."""
        layout: Layout = compressor.layout
        methods: list[Compressor] = [Plain(layout=layout, limit=layout.nbytes), compressor]
        sigma = self._sigma(setting)
        rates = self._rates(setting, methods, sigma)
        starts, results = [], []
        for first in range(0, self.trials, self.training.stack):
            count = min(self.training.stack, self.trials - first)
            clients = self._clients(self._data, setting.case, list(range(first, first + count)))
            gradients = self._gradients(clients, setting, sigma)
            arms = [Arm(method, np.full(count, rate, np.float32)) for method, rate in zip(methods, rates, strict=True)]
            trained = train(clients, gradients, arms, self._seed(setting, first), rounds=self.training.rounds)
            starts.append(clients.accuracy(clients.start))
            results.append([(one, _accuracies(clients, one)) for one in trained])
        plain, compressed = (
            _reached(np.concatenate(starts), list(parts), rate)
            for parts, rate in zip(zip(*results, strict=True), rates, strict=True)
        )
        log.info(
            "%s: accuracy %.3f at rate %g, without compression %.3f at rate %g",
            setting,
            compressed.end.mean(),
            compressed.rate,
            plain.end.mean(),
            plain.rate,
        )
        return Pair(plain, compressed, sigma)

    def _seed(self, setting: Setting, first: int, part: str = "training") -> int:
        """Of batches, noise and operators: the same batches at every ε."""
        return seeds.key(self.seed, task="frontier", part=part, case=setting.case, first=first)

    def _rates(self, setting: Setting, methods: list[Compressor], sigma: float) -> list[float]:
        """The learning rate of each method: all are tried at once, in one stack."""
        rates, trials = self.tuning.rates, self.tuning.trials
        clients = self._clients(held_out(self._data, self.seed), setting.case, list(range(trials)), "tuning")
        tried = clients.repeated(len(rates))
        each = np.repeat(np.array(rates, np.float32), trials)
        arms = [Arm(method, each) for method in methods]
        gradients = self._gradients(tried, setting, sigma)
        trained = train(tried, gradients, arms, self._seed(setting, 0, "tuning"), rounds=self.tuning.rounds)
        merits = [_accuracies(tried, one).reshape(len(rates), trials).mean(axis=1) for one in trained]
        return [rates[int(merit.argmax())] for merit in merits]

    def _rows(self, setting: Setting, pair: Pair, reference: Reached) -> Iterator[Row]:
        """The rows of a setting; the reference has neither compression nor privacy."""
        plain, own, sigma = pair
        about: dict[str, Value] = {"case": setting.case, "rounds": self.training.rounds}
        if setting.epsilon is not None:
            about |= {"epsilon": float(setting.epsilon), "delta": self.privacy.delta, "sigma": sigma}
            about |= {"accountant": self.privacy.accountant}
        loss, gain = plain.end - own.end, own.end - own.start
        yield Row("accuracy", bytes_up=own.bytes_up, bytes_down=own.bytes_down, **about).mean(own.end)
        yield Row("accuracy_loss", bound=self.judging.allowed_loss, **about).mean(loss)
        yield Row("lost", bound=MEDIAN, **about).counted(int((loss > self.judging.great_loss).sum()), self.trials)
        failed = int((gain < self.judging.least_gain).sum())
        yield Row("gain", bound=MEDIAN, count=failed, **about).mean(gain)
        if setting.epsilon is not None:
            yield Row("over_noise", bound=0.0, **about).mean(loss - (reference.end - plain.end))
        yield Row("diverged", bound=MEDIAN, **about).counted(own.diverged, self.trials)
        yield Row("rate", **about).number(own.rate)


def _accuracies(clients: Federation, trained: Trained) -> Numbers:
    """At the end, 0 of what diverged."""
    return np.where(trained.diverged, 0.0, clients.accuracy(trained.w))


def _reached(start: Numbers, parts: list[tuple[Trained, Numbers]], rate: float) -> Reached:
    """Of all stacks together."""
    trained = [one for one, _ in parts]
    return Reached(
        start,
        np.concatenate([accuracies for _, accuracies in parts]),
        sum(int(one.diverged.sum()) for one in trained),
        max(one.bytes_up for one in trained),
        math.ceil(np.mean([one.bytes_down for one in trained])),
        rate,
    )

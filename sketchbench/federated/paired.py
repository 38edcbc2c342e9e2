"""Trainings with a compressor, paired with trainings without compression, each method at its best learning rate."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sketchbench.base import seeds
from sketchbench.base.course import WHOLE, Course
from sketchbench.base.kept import Kept
from sketchbench.base.parameters import Checked, Count, NonEmptyList, Positive, Probability, choose
from sketchbench.compressor.compressor import Compressor
from sketchbench.compressor.plain import Plain
from sketchbench.compressor.traits import Modular
from sketchbench.federated.frontier import Arm, Federation, Gradients, make_federation, train
from sketchbench.federated.rate_choice import ChosenRate, Merit, RateChoice
from sketchbench.federated.tuning import hold_out
from sketchbench.kernels import Kernels
from sketchbench.learning.dataset.dataset import Dataset, Split
from sketchbench.learning.dataset.partition import MakeParts
from sketchbench.learning.model.networks import MakeModel
from sketchbench.privacy.accountant import epsilon
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Mechanism, mean_sensitivity, mean_step, private_training
from sketchbench.privacy.sampling import Sampling
from sketchbench.privacy.secure_sum import Grid, SecureSum

Numbers = NDArray[np.float64]  # (trials,)
calibrate = functools.cache(calibrated_sigma)  # a process calibrates the same noise for all compressors
account = functools.cache(epsilon)
MORE = 1e-6  # probability of larger batches, all clients' together, than integers allow


@dataclass(frozen=True)
class Rounds(Checked):
    """The settings of all trainings.

    `taking_part`: by case, the number of clients in a round, drawn anew for each; all clients for other cases.
    `judged`: the number of rounds over which accuracies are averaged, because batches make single rounds noisy: the
    last round, and others before it.
    """

    cases: NonEmptyList[str]  # names of the trained partitions
    taking_part: dict[str, Count]
    batch: Count  # records in a client's batch; with privacy the expected number
    rounds: Count  # of a training
    judged: Count
    apart: Count  # rounds from one judged round to the next
    every: Count  # rounds from one check of the target accuracy to the next
    images: Count  # the number of random test images for accuracies; all if there are fewer
    stack: Count  # the number of trials trained at once, as memory allows

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.judged - 1) * self.apart >= self.rounds:
            raise ValueError(
                f"judged={self.judged} rounds, apart={self.apart}, must be among the {self.rounds} of a training"
            )


@dataclass(frozen=True)
class RecordPrivacy(Checked):
    """Privacy of a client's records against the server."""

    case: str  # the partition whose trainings are repeated with privacy
    epsilons: list[Positive]  # values of ε to which the local noise of a training is calibrated
    distributed: list[Positive]  # values of ε to which distributed noise is calibrated
    delta: Probability  # δ, below 1 over the number of a client's records
    clip: Positive  # the norm to which the gradient of a record is clipped
    accountant: str  # the name of an accountant for Poisson batches

    @property
    def used(self) -> bool:
        """Return whether anything is trained with privacy."""
        return bool(self.epsilons or self.distributed)


class Setting(NamedTuple):
    """A partition, with or without privacy."""

    case: str  # the name of the partition
    epsilon: float | None = None  # None without privacy
    distributed: bool = False  # whether clients share the noise, as the server sees only sums

    @property
    def name(self) -> str:
        """The name of the partition, and of its protection."""
        how = "" if self.epsilon is None else ", secure aggregation" if self.distributed else ", private"
        return self.case + how

    def __str__(self) -> str:
        return self.name if self.epsilon is None else f"{self.name}, epsilon {self.epsilon:g}"


class Reached(NamedTuple):
    """The accuracy that the trainings of one method reach, and its cost. Accuracies are 0 after divergence."""

    start: Numbers  # accuracies before the training, (trials,)
    end: Numbers  # accuracies after the training, (trials,)
    course: NDArray[np.float64]  # accuracies after every so many rounds, (points, trials)
    diverged: int  # the number of trainings that diverged
    bytes_up: int  # the most bytes that a client sends in a round
    bytes_down: float  # the mean number of bytes that a client receives in a round
    rate: ChosenRate

    def rounds_to(self, target: Numbers, every: int) -> Numbers:
        """The rounds after which a training was first seen at its target or above, (trials,); infinity for never.
        `target` has accuracies, (trials,); `every` is the number of rounds from a point of `course` to the next."""
        rounds = every * (1 + np.arange(len(self.course))[:, None])
        return np.where(self.course >= target, rounds, np.inf).min(axis=0, initial=np.inf)


class Pair(NamedTuple):
    """The trainings without compression and with the compressor, in the same trials.

    `sigma` is the standard deviation of the noise that protects a client's mean gradient, in both; 0 without privacy;
    that of the `grid` if the compressor has one. `spent` is an upper bound of ε including the trainings that chose the
    method's rate; None without privacy. Held-out images, on which rates are judged, count as public.
    """

    plain: Reached
    compressed: Reached
    sigma: float
    spent: float | None = None


class PairedMethod(NamedTuple):
    """A compressor, and the standard deviation sigma of the noise that each client adds before it."""

    compressor: Compressor
    sigma: float

    def arm(self, rates: NDArray[Any]) -> Arm:
        """The arm with the learning rate of each trial, (T,)."""
        return Arm(self.compressor, rates.astype(np.float32), self.sigma)


_PLAIN = Kept[tuple[Any, ...], list[Reached]](32)  # groups of trainings without compression


@dataclass(frozen=True)
class PairedTrainings(Checked):
    """Trainings of the same networks by several methods, in trials with common partition, weights, batches and noise.
    None of these depends on the compressor."""

    kernels: Kernels  # backend of all arrays
    seed: int  # root of all randomness
    data: Dataset  # the data set: training images are the clients', test images give accuracies
    model: MakeModel  # makes the network; with sketched layers a perceptron
    partitions: dict[str, MakeParts]  # by case
    training: Rounds  # cases, batches and rounds
    privacy: RecordPrivacy  # of a client's records
    tuning: RateChoice  # the choice of learning rates
    trials: Count  # the number of trainings of each method
    course: Course = WHOLE  # the time limit, and the folder of checkpoints from which a stopped training resumes

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, cases in (("cases", self.training.cases), ("taking_part", self.training.taking_part)):
            for case in cases:
                choose(f"training.{name}", case, self.partitions)
        if self.privacy.used:
            choose("privacy.case", self.privacy.case, self.training.cases)
            if self.privacy.case in self.training.taking_part:
                raise ValueError(
                    f"privacy.case={self.privacy.case} must be one in which all clients take part: what a draw of "
                    "clients adds to privacy is not accounted for"
                )

    def clients(self, case: str, trials: Sequence[int]) -> Federation:
        """The federation of the trials with these numbers."""
        return self._federation(self._judged, "training", case, trials)

    @functools.cached_property
    def _judged(self) -> Dataset:
        """The data set with the test images that give accuracies."""
        return replace(self.data, test=self._some(self.data.test, "test"))

    def _some(self, split: Split, which: str) -> Split:
        """At most `training.images` random images of a split; all in their order if there are no more."""
        if len(split.labels) <= self.training.images:
            return split
        drawn = seeds.generator(self.seed, data="judged", split=which).permutation(len(split.labels))
        chosen = np.sort(drawn[: self.training.images])
        return Split(split.images[chosen], split.labels[chosen])

    def pairs(self, settings: Sequence[Setting], compressor: Compressor) -> dict[Setting, Pair]:
        """Train each setting without compression and with the compressor. The settings may differ in ε alone: their
        trainings share batches, and noise up to its standard deviation.

        Raises:
            ValueError: for a δ of at least 1 over the number of a client's records, or a compressor that is neither
                linear nor modular with distributed noise.
            Unfinished: when the time limit of the course has passed.
        """
        layout = compressor.layout
        if settings[0].distributed and not (compressor.linear or isinstance(compressor, Modular)):
            raise ValueError(
                f"{type(compressor).__name__} is not linear, so that the sum of its messages is no function of the sum "
                "of updates, which distributed noise protects; choose a linear compressor, or local noise"
            )
        sigmas = [self._sigma(setting) for setting in settings]
        shares = [self._share(setting) for setting in settings]
        plain = Plain(layout=layout, limit=layout.nbytes)
        # Trainings without compression, a quarter of the time, are the same for all compressors of a process.
        key = (repr(self._settings), self.data.digest, self.kernels.NAME, tuple(settings))
        own = [sigma * share for sigma, share in zip(sigmas, shares, strict=True)]
        alone = _PLAIN.of(key, lambda: self._train(settings[0], [PairedMethod(plain, sigma) for sigma in own]))
        if settings[0].distributed and isinstance(compressor, Modular):
            noisy = [compressor.protect(self._sums(setting)) for setting in settings]
            compressed = self._train(settings[0], [PairedMethod(one, 0.0) for one in noisy])
            grids = [one.grid for one in noisy if one.grid is not None]
            sigmas = [grid.sigma for grid in grids]
            used = zip(settings, grids, strict=True)
            spent: list[float | None] = [self._spent_in_integers(setting, grid) for setting, grid in used]
        else:
            compressed = self._train(settings[0], [PairedMethod(compressor, sigma) for sigma in own])
            spent = [self._spent(setting, sigma) for setting, sigma in zip(settings, sigmas, strict=True)]
        return dict(zip(settings, map(Pair, alone, compressed, sigmas, spent), strict=True))

    @property
    def _settings(self) -> tuple[Any, ...]:
        """The fields that determine the trainings, beside the data and the kernels."""
        return (self.seed, self.model, self.partitions, self.training, self.privacy, self.tuning, self.trials)

    def _train(self, setting: Setting, methods: Sequence[PairedMethod]) -> list[Reached]:
        """Train each method at its best rate, in stacks of trials."""
        rates = [self._rate(setting, method) for method in methods]
        stacks = [self._stack(setting, first, methods, rates) for first in range(0, self.trials, self.training.stack)]
        return [_join(parts, rate) for parts, rate in zip(zip(*stacks, strict=True), rates, strict=True)]

    def _stack(
        self, setting: Setting, first: int, methods: Sequence[PairedMethod], rates: Sequence[ChosenRate]
    ) -> list[Reached]:
        """Train each method at its rate, in one stack of trials, from number `first` on."""
        count = min(self.training.stack, self.trials - first)
        clients = self.clients(setting.case, range(first, first + count))
        arms = [method.arm(np.full(count, chosen.rate)) for method, chosen in zip(methods, rates, strict=True)]
        seed = self._seed(setting, "training", first)
        how = self.training
        rounds = {"rounds": how.rounds, "judged": how.judged, "apart": how.apart, "every": how.every}
        trained = train(clients, self._gradients(clients, setting), arms, seed, **rounds, course=self.course)
        start = clients.accuracy(clients.start)
        return [
            Reached(start, one.accuracy, one.course, int(one.diverged.sum()), one.bytes_up, one.bytes_down, rate)
            for one, rate in zip(trained, rates, strict=True)
        ]

    def _seed(self, setting: Setting, part: str, first: int = 0) -> int:
        private = str(setting.epsilon is not None)
        return seeds.key(self.seed, task="frontier", part=part, case=setting.case, private=private, first=first)

    def _rate(self, setting: Setting, method: PairedMethod) -> ChosenRate:
        """The best learning rate of a method; one stack has all trainings of an attempt."""
        tuning, how = self.tuning, self.training
        seed = self._seed(setting, "tuning")

        def attempt(rates: Sequence[float], rounds: int) -> list[Merit]:
            clients = self._federation(self._held_out, "tuning", setting.case, range(tuning.trials)).repeat(len(rates))
            arm = method.arm(np.repeat(rates, tuning.trials))
            # As many rounds are judged as in a training, as long as they are among these rounds.
            judged = {"judged": min(how.judged, 1 + (rounds - 1) // how.apart), "apart": how.apart}
            gradients = self._gradients(clients, setting)
            (tried,) = train(clients, gradients, [arm], seed, rounds=rounds, **judged, course=self.course)
            of_rates = zip(tried.diverged.reshape(len(rates), -1), tried.accuracy.reshape(len(rates), -1), strict=True)
            return [Merit(not diverged.any(), float(accuracy.mean())) for diverged, accuracy in of_rates]

        return tuning.choose(how.rounds, attempt)

    @functools.cached_property
    def _held_out(self) -> Dataset:
        """The data set on which rates are chosen."""
        held_out = hold_out(self.data, self.seed)
        return replace(held_out, test=self._some(held_out.test, "held out"))

    def _federation(self, data: Dataset, part: str, case: str, trials: Sequence[int]) -> Federation:
        keys = [seeds.key(self.seed, task="frontier", part=part, case=case, trial=trial) for trial in trials]
        partition, taking_part = self.partitions[case], self.training.taking_part.get(case)
        return make_federation(self.kernels, data, partition, self.model, keys, taking_part)

    def _gradients(self, clients: Federation, setting: Setting) -> Gradients:
        """Clipped gradients of Poisson batches with privacy, else unclipped gradients of batches drawn otherwise."""
        records = clients.records.shape[2]
        if setting.epsilon is None:
            return Gradients(Sampling("without_replacement", self.training.batch, records))
        return Gradients(Sampling("poisson", self.training.batch, records), self.privacy.clip)

    def _share(self, setting: Setting) -> float:
        """The share of the noise that each client adds: all of it, or 1/√C of distributed noise."""
        return self.clients(setting.case, [0]).taking_part ** -0.5 if setting.distributed else 1.0

    def _sigma(self, setting: Setting) -> float:
        """The standard deviation of the noise on a client's mean gradient, in all trials; 0 without privacy."""
        if setting.epsilon is None:
            return 0.0
        clients, privacy = self.clients(setting.case, [0]), self.privacy
        records = clients.records.shape[2]
        if privacy.delta * records >= 1:
            raise ValueError(
                f"privacy.delta={privacy.delta:g} must be < {1 / records:.3g}, 1 over the {records} records of a "
                "client: a larger δ permits a mechanism that publishes one of them"
            )
        released = self._released(clients, setting, 1.0, self.training.rounds)
        return calibrate(privacy.accountant, released, setting.epsilon, privacy.delta)

    def _released(self, clients: Federation, setting: Setting, sigma: float, rounds: int) -> Mechanism:
        """The mechanism of these rounds: per-client and summed releases have equal noise and sensitivity."""
        sampling = self._gradients(clients, setting).sampling
        step = mean_step(self.privacy.clip, sigma, sampling, sampling.neighbours)
        return private_training(step, local_steps=1, rounds=rounds, records=clients.owners, sketch="compressed")

    def _spent(self, setting: Setting, sigma: float) -> float | None:
        """`Pair.spent`: ε of all rounds, as if all had a tuning's larger share of the records."""
        if setting.epsilon is None:
            return None
        clients = self._federation(self._held_out, "tuning", setting.case, [0])
        released = self._released(clients, setting, sigma, self._all_rounds)
        return account(self.privacy.accountant, released, self.privacy.delta)

    @property
    def _all_rounds(self) -> int:
        """The rounds of a training, and the most rounds of the choice of its rate."""
        return self.training.rounds + self.tuning.all_rounds(self.training.rounds)

    def _sums(self, setting: Setting) -> SecureSum:
        """The sums of clients' gradients over a training, and their budget; MORE is the risk of a larger norm."""
        clients, privacy, batch = self.clients(setting.case, [0]), self.privacy, self.training.batch
        sampling = self._gradients(clients, setting).sampling
        records = clients.taking_part * sampling.records
        assert setting.epsilon is not None
        return SecureSum(
            clients=clients.taking_part,
            sensitivity=mean_sensitivity(privacy.clip, batch, sampling.neighbours),
            largest=privacy.clip * float(stats.binom.isf(MORE, records, sampling.rate)) / batch,
            rounds=self.training.rounds,
            rate=sampling.rate,
            epsilon=setting.epsilon,
            delta=privacy.delta,
        )

    def _spent_in_integers(self, setting: Setting, grid: Grid) -> float:
        """`_spent`, for the noise of a grid."""
        clients = self._federation(self._held_out, "tuning", setting.case, [0])
        return grid.spent(self._all_rounds, self._gradients(clients, setting).sampling.rate, self.privacy.delta)


def _join(stacks: Sequence[Reached], rate: ChosenRate) -> Reached:
    return Reached(
        np.concatenate([one.start for one in stacks]),
        np.concatenate([one.end for one in stacks]),
        np.concatenate([one.course for one in stacks], axis=1),
        sum(one.diverged for one in stacks),
        max(one.bytes_up for one in stacks),
        float(np.mean([one.bytes_down for one in stacks])),
        rate,
    )

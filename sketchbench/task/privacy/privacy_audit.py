"""An audit of private training: the ε that a membership attack proves, beside the accounted ε."""

import logging
import math
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from sketchbench.attack.membership import Evidence, Statistics, likelihood_ratio, most_visible, worlds
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, NonNegative, Positive, Probability
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import Kernels
from sketchbench.learning.objective.canary import Canary
from sketchbench.measure.audit import epsilon_lower_bound, strongest_threshold
from sketchbench.measure.row import Row
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Mechanism, mean_sensitivity, with_sigma
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.sketch.family import Family
from sketchbench.task.sketches import trials as blocks

log = logging.getLogger(__name__)
ERROR = 1e-3  # error probability of the ε that a row says is proven
STRICT = 1e-7  # error probability in the choice of the threshold, about a claim's: rare events prove little
BOUND = 1.0  # ℓ, the bound of gradients, and the norm of the canary's gradient
LARGEST_SHIFT = 1e9  # the largest written shift, for trainings with hardly any noise


@dataclass(frozen=True)
class AuditedTraining(Checked):
    """The audited training."""

    clients: Count  # the number of clients; the first is the victim
    records: Count  # the number of records of each client
    batch: Count  # records of a batch that is not full
    rounds: Count  # of communication
    local_steps: Count  # of a round


class Account(NamedTuple):
    """The privacy account of a training: the sampling of batches, the accountant's name, the mechanism, and its σ."""

    sampling: Sampling
    accountant: str
    mechanism: Mechanism
    sigma: float


class AuditBlock(NamedTuple):
    """Trials that are trained together, the same for every level of noise."""

    trials: int  # their number
    key: int  # of their sketches
    training: int  # seed of their batches and noise
    direction: Statistics  # the canary's gradient, (trials, d), which the trial's operators show best


@dataclass(frozen=True)
class PrivacyAudit(Checked):
    """Tests whether an attacker who knows all records but one, the canary, proves more than the accounted ε.

    Each sampling's accountant calibrates the standard deviation σ of the noise to `epsilon` at the first of `deltas`.
    Trainings use σ times each of `noises`; 1 is the accounted noise. The attack is `attack.membership`, on `trials`
    trainings in each of two worlds, with and without the canary: the record that the operators show best. The first
    half of the trainings chooses the threshold above which the attack reports the canary; the second half is counted.
    Rows by sampling (`case`), for each of `noises`:

    - `audit`, for each δ: numbers of hits and false alarms, and the distance of the worlds' mean statistics (`shift`,
      in standard deviations); value: the ε that they prove with confidence 99.9 %; bound: the accounted ε.
    - `visible`: mean of the part of the canary's norm that the sketches show (`Evidence.visible`).
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: AtLeastTwo  # trainings in each world, an even number
    samplings: dict[Kind, str]  # the accountant's name by sampling of batches
    training: AuditedTraining  # the audited training
    epsilon: Positive  # to which the noise is calibrated
    deltas: list[Probability]  # values of δ
    noises: list[NonNegative]  # factors of σ

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials % 2:
            raise ValueError(f"trials={self.trials} must be even: one half chooses a threshold, the other is counted")

    def run(self) -> list[Row]:
        rows: list[Row] = []
        for kind, accountant in self.samplings.items():
            account = self._account(kind, accountant)
            both = {present: self._blocks(account.sampling, present) for present in (True, False)}
            for noise in self.noises:
                rows += self._rows(account, noise, both)
            log.info("%s batches: %d trainings in each world", kind, self.trials)
        return rows

    def _account(self, kind: Kind, accountant: str) -> Account:
        trained = self.training
        sampling = Sampling(kind, trained.records if kind == "full" else trained.batch, trained.records)
        canary = Canary(self.kernels, np.ones(self.family.d), trained.clients, trained.records)
        # the account is of the object that trains, at another σ
        mechanism = self._training(sampling, 1.0).mechanism(canary, trained.rounds, sampling.neighbours)
        sigma = calibrated_sigma(accountant, mechanism, self.epsilon, self.deltas[0])
        return Account(sampling, accountant, with_sigma(mechanism, sigma), sigma)

    def _training(self, sampling: Sampling, sigma: float) -> PrivateSketching:
        algorithm = IterativeSketching(self.family, 1.0, self.training.local_steps)
        return PrivateSketching(algorithm, sampling, sigma, bound=BOUND)

    def _blocks(self, sampling: Sampling, present: bool) -> list[AuditBlock]:
        """The trials of one world, with the canary (`present`) or without, in blocks."""
        trained, kernels, found = self.training, self.kernels, []
        name = f"{sampling.kind} {'present' if present else 'absent'}"
        size = trained.clients * self.family.d * max(self.family.d, trained.records)
        for first, count in blocks.blocks(self.trials, size):
            axes: dict[str, int | str] = {"task": "audit", "world": name, "first": first}
            key = seeds.key(self.seed, **axes, family=repr(self.family))
            noise = seeds.key(self.seed, **axes, part="training")
            public = [
                self.family.draw(key, operators=count, first=t * count, kernels=kernels) for t in range(trained.rounds)
            ]
            found.append(AuditBlock(count, key, noise, kernels.to_numpy(most_visible(public, kernels))))
        return found

    def _evidence(self, world: list[AuditBlock], sampling: Sampling, sigma: float, present: bool) -> Evidence:
        """Train all trials of a world; return the attacker's evidence."""
        trained, kernels, parts = self.training, self.kernels, []
        training = self._training(sampling, sigma)
        for count, key, noise, direction in world:
            canary, none = worlds(
                direction, sampling.neighbours, clients=trained.clients, records=trained.records, kernels=kernels
            )
            sent = training.run(canary if present else none, noise, key, trials=count, rounds=trained.rounds)
            parts.append(likelihood_ratio(sent, direction, kernels, rounds=trained.rounds))
        return Evidence(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _rows(self, account: Account, noise: float, blocks_by_world: dict[bool, list[AuditBlock]]) -> list[Row]:
        sampling = account.sampling
        present, absent = (
            self._evidence(world, sampling, noise * account.sigma, with_canary)
            for with_canary, world in blocks_by_world.items()
        )
        settings = Row("visible", case=sampling.kind, neighbours=sampling.neighbours, noise=float(noise))
        rows = [settings.mean(np.concatenate([present.visible, absent.visible]))]
        about = settings.replace(
            quantity="audit",
            sensitivity=mean_sensitivity(BOUND, sampling.batch, sampling.neighbours),
            sigma=float(account.sigma),
        )
        for delta in self.deltas:
            row = about.replace(delta=delta, bound=float(accounted(account.accountant, account.mechanism, delta)))
            rows.append(audit(row, present.statistic, absent.statistic))
        return rows


def audit(row: Row, present: Statistics, absent: Statistics) -> Row:
    """Complete a row `audit` with the ε that an attack proves at the row's δ, from its statistic in two worlds. The
    first half of the trials chooses the threshold above which the attack reports the canary; the second is counted.
    `present` and `absent` are the statistics with and without the canary, (trials,), for an even number."""
    (choosing_in, counted_in), (choosing_out, counted_out) = np.split(present, 2), np.split(absent, 2)
    delta, trials = float(cast(float, row["delta"])), counted_in.size
    threshold = strongest_threshold(choosing_in, choosing_out, delta=delta, error=STRICT)
    hits, alarms = (int((side >= threshold).sum()) for side in (counted_in, counted_out))
    row = row.replace(hits=hits, false_alarms=alarms, trials=trials, shift=_shift(counted_in, counted_out))
    return row.number(epsilon_lower_bound(hits, alarms, trials, delta=delta, error=ERROR))


def _shift(present: Statistics, absent: Statistics) -> float:
    """The distance of the mean statistics (trials,) of two worlds, in standard deviations; at most LARGEST_SHIFT."""
    spread = math.sqrt((present.var() + absent.var()) / 2)
    return min(float(present.mean() - absent.mean()) / max(spread, 1e-12), LARGEST_SHIFT)

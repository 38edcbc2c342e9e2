"""A membership game on what private training releases, against its accounts."""

import logging
import math
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np

from sketchbench import seeds
from sketchbench.attack.membership import Evidence, Statistics, likelihood_ratio, most_visible, worlds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import Kernels
from sketchbench.measure.audit import epsilon_lower_bound, strongest_threshold
from sketchbench.measure.row import Row
from sketchbench.objective.canary import Canary
from sketchbench.parameters import Checked, Count, NonNegative, Positive, Probability, Several
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Mechanism, mean_sensitivity, with_sigma
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.sketch.family import Family
from sketchbench.task import trials as blocks

log = logging.getLogger(__name__)
ERROR = 1e-3  # of the ε that a row says is proven
STRICT = 1e-7  # error at which the threshold is chosen: about that of a claim, for which rare events prove little
BOUND = 1.0  # ℓ, of gradients, which is also the canary's norm
LARGEST_SHIFT = 1e9  # what is written where there is hardly any noise


@dataclass(frozen=True)
class AuditedTraining(Checked):
    """The training that is audited.

    Arguments:
        clients: their number; the first is the victim.
        records: of each client.
        batch: records of a batch, where it is not all of them.
        rounds: of communication.
        local_steps: of a round.
    """

    clients: Count
    records: Count
    batch: Count
    rounds: Count
    local_steps: Count


class Account(NamedTuple):
    """What is accounted for: how batches are drawn, what accounts for ε, the mechanism, and its σ."""

    sampling: Sampling
    accountant: str
    mechanism: Mechanism
    sigma: float


class Block(NamedTuple):
    """Trials that are trained together, whatever the noise: their number, the keys of their sketches and of their
    training, and the canary's gradients (trials, d), those that their operators show best."""

    trials: int
    key: int
    training: int
    direction: Statistics


@dataclass(frozen=True)
class PrivacyAudit(Checked):
    """Whether an attacker who knows everything but one record can prove more than the accounted ε.

    The standard deviation σ of the noise is calibrated by each sampling's accountant to `epsilon` at the first of
    `deltas`; training uses σ times each of `noises`, which is 1 for what was accounted for. The attack is
    `attack.membership`, on `trials` trainings in each of the two worlds, with the record that their operators show
    best. The first half of them chooses the threshold above which it says that the canary was there; the second half is
    counted. Rows, for each of `noises`:

    - `audit`, per sampling and δ: hits, false alarms, and the distance of the two worlds' mean statistics (`shift`);
      the ε proven at 99.9 % (`value`), and the accounted one (`bound`).
    - `visible`, per sampling: the part of the canary's norm that the sketches leave visible (`Evidence.visible`).
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: Several
    samplings: dict[Kind, str]
    training: AuditedTraining
    epsilon: Positive
    deltas: list[Probability]
    noises: list[NonNegative]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials % 2:
            raise ValueError(f"trials={self.trials} must be even: one half chooses a threshold, the other is counted")

    def run(self) -> list[Row]:
        rows: list[Row] = []
        for kind, accountant in self.samplings.items():
            account = self._account(kind, accountant)
            found = {present: self._blocks(account.sampling, present) for present in (True, False)}
            for noise in self.noises:
                rows += self._rows(account, noise, found)
            log.info("%s batches: %d trainings in each world", kind, self.trials)
        return rows

    def _account(self, kind: Kind, accountant: str) -> Account:
        """The noise that is needed with this sampling."""
        trained = self.training
        sampling = Sampling(kind, trained.records if kind == "full" else trained.batch, trained.records)
        canary = Canary(self.kernels, np.ones(self.family.d), trained.clients, trained.records)
        # the mechanism that is accounted for is that of the very object that trains, at another σ
        mechanism = self._training(sampling, 1.0).mechanism(canary, trained.rounds, sampling.neighbours)
        sigma = calibrated_sigma(accountant, mechanism, self.epsilon, self.deltas[0])
        return Account(sampling, accountant, with_sigma(mechanism, sigma), sigma)

    def _training(self, sampling: Sampling, sigma: float) -> PrivateSketching:
        algorithm = IterativeSketching(self.family, 1.0, self.training.local_steps)
        return PrivateSketching(algorithm, sampling, sigma, bound=BOUND)

    def _blocks(self, sampling: Sampling, present: bool) -> list[Block]:
        """The trials of one world: that with the canary, or the other."""
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
            found.append(Block(count, key, noise, kernels.to_numpy(most_visible(public, kernels))))
        return found

    def _evidence(self, world: list[Block], sampling: Sampling, sigma: float, present: bool) -> Evidence:
        """What the attacker makes of all trials in a world."""
        trained, kernels, parts = self.training, self.kernels, []
        training = self._training(sampling, sigma)
        for count, key, noise, direction in world:
            canary, none = worlds(
                direction, sampling.neighbours, clients=trained.clients, records=trained.records, kernels=kernels
            )
            sent = training.run(canary if present else none, noise, key, trials=count, rounds=trained.rounds)
            parts.append(likelihood_ratio(sent, direction, kernels, rounds=trained.rounds))
        return Evidence(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _rows(self, account: Account, noise: float, found: dict[bool, list[Block]]) -> list[Row]:
        """What is visible, and a row for each δ."""
        sampling = account.sampling
        there, absent = (
            self._evidence(world, sampling, noise * account.sigma, present) for present, world in found.items()
        )
        settings = Row("visible", case=sampling.kind, neighbours=sampling.neighbours, noise=float(noise))
        rows = [settings.mean(np.concatenate([there.visible, absent.visible]))]
        about = settings.but(
            quantity="audit",
            sensitivity=mean_sensitivity(BOUND, sampling.batch, sampling.neighbours),
            sigma=float(account.sigma),
        )
        for delta in self.deltas:
            row = about.but(delta=delta, bound=float(accounted(account.accountant, account.mechanism, delta)))
            rows.append(audited(row, there.statistic, absent.statistic))
        return rows


def audited(row: Row, present: Statistics, absent: Statistics) -> Row:
    """The row with what an attack proves at its δ, from a statistic (trials,) in each of two worlds, trials even.

    The first half of the trials chooses the threshold above which the attack says that the canary was there; the
    second half is counted.
    """
    (choosing_in, counted_in), (choosing_out, counted_out) = np.split(present, 2), np.split(absent, 2)
    delta, trials = float(cast(float, row["delta"])), counted_in.size
    threshold = strongest_threshold(choosing_in, choosing_out, delta=delta, error=STRICT)
    hits, alarms = (int((side >= threshold).sum()) for side in (counted_in, counted_out))
    row = row.but(hits=hits, false_alarms=alarms, trials=trials, shift=_shift(counted_in, counted_out))
    return row.number(epsilon_lower_bound(hits, alarms, trials, delta=delta, error=ERROR))


def _shift(present: Statistics, absent: Statistics) -> float:
    """The distance of the mean statistics (trials,) of two worlds, in standard deviations; LARGEST_SHIFT at most."""
    spread = math.sqrt((present.var() + absent.var()) / 2)
    return min(float(present.mean() - absent.mean()) / max(spread, 1e-12), LARGEST_SHIFT)

"""A membership game on what private training releases, against its accounts."""

import logging
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sketchbench import seeds
from sketchbench.attack.membership import Evidence, Statistics, likelihood_ratio, worlds
from sketchbench.federated.iterative_sketching import IterativeSketching
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import Kernels
from sketchbench.measure.audit import epsilon_proven, strongest_threshold
from sketchbench.measure.row import Row, exceeding
from sketchbench.objective.canary import Canary
from sketchbench.objective.problem import Vector
from sketchbench.parameters import Checked, Count, NonNegative, Positive, Probability, Several
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Mechanism, mean_sensitivity, with_sigma
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.sketch.family import Family
from sketchbench.task import trials as blocks

log = logging.getLogger(__name__)
ERROR = 1e-3  # of the ε that a row says is proven
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


class Audit(NamedTuple):
    """A private training with its account, and what the attacker makes of it in both worlds."""

    mechanism: Mechanism
    sigma: float
    present: Evidence
    absent: Evidence


@dataclass(frozen=True)
class PrivacyAudit(Checked):
    """Whether an attacker who knows everything but one record can prove more than the accounted ε.

    The standard deviation σ of the noise is calibrated by each sampling's accountant to `epsilon` at the first of
    `deltas`; training uses σ times `noise`, which is 1 for what was accounted for. The attack is
    `attack.membership`, on `trials` trainings in each of the two worlds. The first half of them chooses the threshold
    above which it says that the canary was there; the second half is counted. Rows:

    - `audit`, per sampling and δ: hits, false alarms, and the distance of the two worlds' mean statistics (`shift`);
      the ε proven at 99.9 % (`value`), and the accounted one (`bound`).
    - `visible`, once: the part of the canary's norm that the sketches leave visible (`Evidence.visible`), with the
      number of trainings where it exceeds 1, which none can.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: Several
    samplings: dict[Kind, str]
    training: AuditedTraining
    epsilon: Positive
    deltas: list[Probability]
    noise: NonNegative

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials % 2:
            raise ValueError(f"trials={self.trials} must be even: one half chooses a threshold, the other is counted")

    def run(self) -> list[Row]:
        rows: list[Row] = []
        visible: list[Statistics] = []
        for kind, accountant in self.samplings.items():
            trained = self.training
            sampling = Sampling(kind, trained.records if kind == "full" else trained.batch, trained.records)
            audit = self._audited(sampling, accountant)
            rows += self._rows(sampling, accountant, audit)
            visible += [audit.present.visible, audit.absent.visible]
            log.info("%s batches: %d trainings in each world", kind, self.trials)
        values = np.concatenate(visible)
        return [*rows, Row("visible", bound=1.0, count=exceeding(values, 1.0)).mean(values)]

    def _audited(self, sampling: Sampling, accountant: str) -> Audit:
        direction = seeds.generator(self.seed, data="canary").standard_normal(self.family.d)
        direction /= np.linalg.norm(direction)
        trained = self.training
        present, absent = worlds(
            direction, sampling.neighbours, clients=trained.clients, records=trained.records, kernels=self.kernels
        )
        algorithm = IterativeSketching(self.family, 1.0, trained.local_steps)
        # the mechanism that is accounted for is that of the very object that trains, at another σ
        blank = PrivateSketching(algorithm, sampling, 1.0, bound=BOUND)
        mechanism = blank.mechanism(present, trained.rounds, sampling.neighbours)
        sigma = calibrated_sigma(accountant, mechanism, self.epsilon, self.deltas[0])
        training = PrivateSketching(algorithm, sampling, self.noise * sigma, bound=BOUND)
        evidence = [
            self._evidence(training, world, f"{sampling.kind} {name}", direction)
            for name, world in (("present", present), ("absent", absent))
        ]
        return Audit(with_sigma(mechanism, sigma), sigma, *evidence)

    def _evidence(self, training: PrivateSketching, world: Canary, name: str, direction: Vector) -> Evidence:
        """What the attacker makes of all trials in one world."""
        rounds, parts = self.training.rounds, []
        size = self.training.clients * self.family.d * max(self.family.b, self.training.records)
        for first, count in blocks.blocks(self.trials, size):
            axes: dict[str, int | str] = {"task": "audit", "world": name, "first": first}
            key = seeds.key(self.seed, **axes, family=repr(self.family))
            noise = seeds.key(self.seed, **axes, part="training")
            sent = training.run(world, noise, key, trials=count, rounds=rounds)
            parts.append(likelihood_ratio(sent, direction, self.kernels, rounds=rounds))
        return Evidence(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _rows(self, sampling: Sampling, accountant: str, audit: Audit) -> list[Row]:
        """A row for each δ."""
        (choosing_in, counted_in), (choosing_out, counted_out) = (
            np.split(evidence.statistic, 2) for evidence in (audit.present, audit.absent)
        )
        spread = math.sqrt((counted_in.var() + counted_out.var()) / 2)
        shift = float(counted_in.mean() - counted_out.mean()) / max(spread, 1e-12)
        about = Row(
            "audit",
            case=sampling.kind,
            neighbours=sampling.neighbours,
            sensitivity=mean_sensitivity(BOUND, sampling.batch, sampling.neighbours),
            sigma=float(audit.sigma),
            shift=min(shift, LARGEST_SHIFT),
            trials=counted_in.size,
        )
        rows = []
        for delta in self.deltas:
            threshold = strongest_threshold(choosing_in, choosing_out, delta=delta, error=ERROR)
            hits, alarms = (int((side >= threshold).sum()) for side in (counted_in, counted_out))
            row = about.but(delta=delta, hits=hits, false_alarms=alarms)
            row = row.but(bound=float(accounted(accountant, audit.mechanism, delta)))
            rows.append(row.number(epsilon_proven(hits, alarms, counted_in.size, delta=delta, error=ERROR)))
        return rows

"""A membership game on what private training releases, against its accounts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench import seeds
from sketchbench.federated.iterative_sketching import IterativeSketching, Round
from sketchbench.federated.private_sketching import PrivateSketching
from sketchbench.kernels import Array, Kernels
from sketchbench.measure.audit import epsilon_proven, strongest_threshold
from sketchbench.measure.row import exceeding
from sketchbench.measure.summary import summarize
from sketchbench.objective.canary import Canary
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import mean_sensitivity, with_sigma
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.sketch.family import Family
from sketchbench.task import trials as blocks

Row = dict[str, Any]
ERROR = 1e-3  # of the ε that a row says is proven
RIDGE = 1e-9  # keeps RRᵀ invertible where a row of R is empty


@dataclass(frozen=True)
class PrivacyAudit:
    """Whether an attacker who knows everything but one record can prove more than the accounted ε.

    σ is calibrated by the sampling's accountant to `epsilon` at the first of `deltas`; training uses σ
    times `noise`, 1 for what was accounted. The canary has gradient ℓu, for a random unit vector u, or, in the
    other world, -ℓu (neighbours replace_one) or none (add_remove). Of the victim's sketches and their
    operators the attacker computes the likelihood ratio of full batches, in `trials` runs in each world. A
    first half of them chooses the threshold, the second is counted. Rows

    `audit`, per sampling and δ: hits and false alarms, the ε proven at 99.9 % (`value`), and the accounted one
    (`bound`); the two worlds' statistics are `shift` standard deviations apart.
    `visible`, once: which part of the canary's norm sketches leave visible, √(mean of ‖P u‖² over rounds),
    P the projection onto the operator's rows; never more than 1.
    """

    family: Family
    kernels: Kernels
    seed: int
    trials: int
    samplings: dict[Kind, str]
    batch: int
    records: int
    clients: int
    rounds: int
    local_steps: int
    epsilon: float
    deltas: list[float]
    noise: float

    def run(self) -> list[Row]:
        blocks.check_deltas(self.deltas)
        if not self.noise >= 0:
            raise ValueError(f"noise={self.noise} must be >= 0, relative to what is accounted")
        rows: list[Row] = []
        visible: list[Array] = []
        for kind, accountant in self.samplings.items():
            rows += self._audited(kind, accountant, visible)
        values = np.concatenate(visible)
        count = exceeding(values, 1.0)
        return [
            *rows,
            {"quantity": "visible", "bound": 1.0, "count": count, **summarize(values)},
        ]

    def _audited(self, kind: Kind, accountant: str, visible: list[Array]) -> list[Row]:
        sampling = Sampling(kind, self.records if kind == "full" else self.batch, self.records)
        direction = seeds.generator(self.seed, data="canary").standard_normal(self.family.d)
        direction /= np.linalg.norm(direction)
        algorithm = IterativeSketching(self.family, 1.0, self.local_steps)
        present = Canary(self.kernels, direction, self.clients, self.records)
        other = -direction if sampling.neighbours == "replace_one" else 0 * direction
        absent = Canary(self.kernels, other, self.clients, self.records)

        # σ: of a mechanism that is made by the very object that trains.
        blank = PrivateSketching(algorithm, sampling, 1.0, bound=1.0)
        mechanism = blank.mechanism(present, self.rounds, sampling.neighbours)
        sigma = calibrated_sigma(accountant, mechanism, self.epsilon, self.deltas[0])
        mechanism = with_sigma(mechanism, sigma)
        training = PrivateSketching(algorithm, sampling, self.noise * sigma, bound=1.0)
        seen = [
            self._statistics(training, world, direction, f"{kind} {name}", visible)
            for name, world in (("present", present), ("absent", absent))
        ]
        (choosing_in, counted_in), (choosing_out, counted_out) = (np.split(s, 2) for s in seen)
        spread = math.sqrt((counted_in.var() + counted_out.var()) / 2)
        shift = float(counted_in.mean() - counted_out.mean()) / max(spread, 1e-12)
        rows = []
        for delta in self.deltas:
            threshold = strongest_threshold(choosing_in, choosing_out, delta=delta, error=ERROR)
            hits, alarms = (int((side >= threshold).sum()) for side in (counted_in, counted_out))
            rows.append(
                {
                    "quantity": "audit",
                    "case": kind,
                    "delta": delta,
                    "neighbours": sampling.neighbours,
                    "sensitivity": mean_sensitivity(1.0, sampling.batch, sampling.neighbours),
                    "sigma": sigma,
                    "shift": min(shift, 1e9),
                    "hits": hits,
                    "false_alarms": alarms,
                    "trials": counted_in.size,
                    "value": epsilon_proven(hits, alarms, counted_in.size, delta=delta, error=ERROR),
                    "bound": accounted(accountant, mechanism, delta),
                }
            )
        return rows

    def _statistics(
        self,
        training: PrivateSketching,
        world: Canary,
        direction: NDArray[np.float64],
        name: str,
        visible: list[Array],
    ) -> NDArray[np.float64]:
        """The attacker's statistic in each of the trials."""
        found = []
        size = self.clients * self.family.d * max(self.family.b, self.records)
        for first, count in blocks.blocks(self.trials, size):
            axes: dict[str, int | str] = {"task": "audit", "world": name, "first": first}
            key = seeds.key(self.seed, **axes, family=repr(self.family))
            noise = seeds.key(self.seed, **axes, part="training")
            rounds = training.run(world, noise, key, trials=count, rounds=self.rounds)
            statistic, seen = self._attack(rounds, direction)
            found.append(statistic)
            visible.append(seen)
        return np.concatenate(found)

    def _attack(
        self, rounds: Iterable[Round], direction: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ_t (R_t u)ᵀ (R_t R_tᵀ)⁻¹ y_t of the victim's sketches y_t, downhill; and what of u is visible."""
        xp = self.kernels.xp
        u = self.kernels.asarray(direction)
        statistic: Array = 0
        seen: Array = 0
        for at in rounds:
            if at.messages is None or at.operators is None:
                continue
            R = at.operators.materialize()
            gram = R @ R.swapaxes(-1, -2) + RIDGE * xp.eye(R.shape[-2])
            sketched = R @ u
            weights = xp.linalg.solve(gram, sketched[..., None])[..., 0]
            statistic = statistic - (weights * at.messages[:, 0]).sum(axis=-1)
            seen = seen + (weights * sketched).sum(axis=-1) / self.rounds
        return self.kernels.to_numpy(statistic), self.kernels.to_numpy(xp.sqrt(seen))

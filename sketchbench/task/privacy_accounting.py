"""ε over the rounds of private training, and the noise for a given ε, by every accountant that knows how."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sketchbench.kernels import Kernels
from sketchbench.privacy.accountant import RefusedError
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import (
    Mechanism,
    mean_sensitivity,
    mean_step,
    private_training,
)
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.theory.privacy import OutOfRangeError

Row = dict[str, Any]


@dataclass(frozen=True)
class PrivacyAccounting:
    """For each sampling and accountant, rows

    `epsilon`: ε after each of `rounds`, with the noise multiplier given, σ/sensitivity;
    `sigma`: the σ that is needed for each of `epsilons` after the last round.
    An accountant that has no theorem for the sampling has one row of the status `refused`, with the reason;
    where a lemma's condition is not met, the row is `out of range`. No randomness.

    multipliers: by sampling. neighbours: of a full batch, replace_one; else as the sampling needs it.
    """

    kernels: Kernels
    seed: int
    accountants: list[str]
    multipliers: dict[Kind, float]
    rounds: list[int]
    local_steps: int
    batch: int
    records: int
    clients: int
    bound: float
    delta: float
    epsilons: list[float]

    def run(self) -> list[Row]:
        return [
            row for kind in self.multipliers for accountant in self.accountants for row in self._rows(kind, accountant)
        ]

    def _mechanism(self, kind: Kind, rounds: int) -> tuple[Mechanism, Row]:
        batch = self.records if kind == "full" else self.batch
        sampling = Sampling(kind, batch, self.records)
        sensitivity = mean_sensitivity(self.bound, batch, sampling.neighbours)
        sigma = self.multipliers[kind] * sensitivity
        step = mean_step(self.bound, sigma, sampling, sampling.neighbours)
        numbers = range(self.clients * self.records)
        clients = tuple(frozenset(numbers[c :: self.clients]) for c in range(self.clients))
        mechanism = private_training(step, local_steps=self.local_steps, rounds=rounds, records=clients, sketch="any")
        told = {"neighbours": step.neighbours, "batch": batch, "sensitivity": sensitivity}
        return mechanism, {**told, "delta": self.delta, "sigma": sigma}

    def _rows(self, kind: Kind, accountant: str) -> Iterator[Row]:
        shared = {"case": accountant, "sampling": kind}
        try:
            for rounds in self.rounds:
                mechanism, told = self._mechanism(kind, rounds)
                row = {"quantity": "epsilon", **shared, **told, "round": rounds}
                try:
                    value = accounted(accountant, mechanism, self.delta)
                    yield {**row, "status": "accounted", "value": value}
                except OutOfRangeError as reason:
                    yield {**row, "status": "out of range", "reason": str(reason)}
            for goal in self.epsilons:
                mechanism, told = self._mechanism(kind, self.rounds[-1])
                sigma = calibrated_sigma(accountant, mechanism, goal, self.delta)
                row = {"quantity": "sigma", **shared, **told, "round": self.rounds[-1]}
                yield {
                    **row,
                    "epsilon": goal,
                    "sigma": sigma,
                    "status": "accounted",
                    "value": sigma,
                }
        except RefusedError as reason:
            yield {"quantity": "epsilon", **shared, "status": "refused", "reason": str(reason)}

"""ε of private training over its rounds, and the noise for a given ε, by every accountant."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from sketchbench.base.parameters import Checked, Count, NonEmpty, NonEmptyList, Positive, Probability, choose
from sketchbench.measure.row import Row
from sketchbench.privacy.accountant import ACCOUNTANTS, FloorError, RefusedError
from sketchbench.privacy.accountant import epsilon as accounted
from sketchbench.privacy.calibration import calibrated_sigma
from sketchbench.privacy.mechanism import Mechanism, mean_sensitivity, mean_step, private_training
from sketchbench.privacy.sampling import Kind, Sampling
from sketchbench.theory.privacy import OutOfRangeError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PrivacyAccounting(Checked):
    """Computes ε of private iterative sketching (song2023 Algorithm 2), and the noise for a given ε, by accountant.

    There is no randomness. The relation of neighbouring data sets is that for which the sampling amplifies privacy; for
    full batches they differ in one replaced record.

    Rows for each `sampling` and accountant (`case`):
        epsilon: ε after each number of `rounds`; the status is `out of range` if the condition of a lemma is not met.
        sigma: the smallest σ with which each of `epsilons` holds after the last round.
    An accountant without a theorem for the sampling has one row `epsilon` with the status `refused`, and the reason; so
    has each number that is too small for an accountant.
    """

    accountants: NonEmptyList[str]  # names of `privacy.accountant.ACCOUNTANTS`
    multipliers: Annotated[dict[Kind, Positive], NonEmpty]  # noise multipliers, σ over the sensitivity, by sampling
    rounds: NonEmptyList[Count]  # numbers of rounds T, in ascending order
    local_steps: Count  # private steps of a round, K
    batch: Count  # samples of a batch that is not full
    records: Count  # records of a client
    clients: Count  # number of clients
    bound: Positive  # largest norm of a record's gradient, ℓ
    delta: Probability  # δ of the whole training
    epsilons: list[Positive]  # values of ε for which σ is computed; may be empty

    def __post_init__(self) -> None:
        super().__post_init__()
        for accountant in self.accountants:
            choose("accountants", accountant, ACCOUNTANTS)

    def run(self) -> list[Row]:
        return [
            row for kind in self.multipliers for accountant in self.accountants for row in self._rows(kind, accountant)
        ]

    def _rows(self, kind: Kind, accountant: str) -> Iterator[Row]:
        try:
            yield from self._epsilons(kind, accountant)
            yield from self._sigmas(kind, accountant)
            log.info("sampling=%s: accounted by %s", kind, accountant)
        except RefusedError as error:
            log.info("sampling=%s: refused by %s", kind, accountant)
            yield Row("epsilon", case=accountant, sampling=kind).without_number("refused", str(error))

    def _epsilons(self, kind: Kind, accountant: str) -> Iterator[Row]:
        for rounds in self.rounds:
            mechanism, row = self._training("epsilon", kind, accountant, rounds)
            try:
                yield row.replace(status="accounted").number(accounted(accountant, mechanism, self.delta))
            except OutOfRangeError as error:
                yield row.without_number("out of range", str(error))
            except FloorError as error:
                yield row.without_number("refused", str(error))

    def _sigmas(self, kind: Kind, accountant: str) -> Iterator[Row]:
        for goal in self.epsilons:
            mechanism, row = self._training("sigma", kind, accountant, self.rounds[-1])
            try:
                sigma = calibrated_sigma(accountant, mechanism, goal, self.delta)
            except FloorError as error:
                yield row.replace(epsilon=goal).without_number("refused", str(error))
                continue
            yield row.replace(epsilon=goal, sigma=sigma, status="accounted").number(sigma)

    def _training(self, quantity: str, kind: Kind, accountant: str, rounds: int) -> tuple[Mechanism, Row]:
        """The mechanism of a training of `rounds` rounds, and the columns of a row about it."""
        batch = self.records if kind == "full" else self.batch
        sampling = Sampling(kind, batch, self.records)
        neighbours = sampling.neighbours
        sensitivity = mean_sensitivity(self.bound, batch, neighbours)
        sigma = self.multipliers[kind] * sensitivity
        step = mean_step(self.bound, sigma, sampling, neighbours)
        numbers = range(self.clients * self.records)
        clients = tuple(frozenset(numbers[c :: self.clients]) for c in range(self.clients))
        mechanism = private_training(step, local_steps=self.local_steps, rounds=rounds, records=clients, sketch="any")
        row = Row(quantity, case=accountant, sampling=kind, neighbours=neighbours, batch=batch, round=rounds)
        return mechanism, row.replace(sensitivity=sensitivity, delta=self.delta, sigma=sigma)

"""What every compressor must keep before what is learnt through it is worth measuring."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from sketchbench import seeds
from sketchbench.compressor import contract
from sketchbench.compressor.compressor import MakeCompressor
from sketchbench.compressor.contract import Subject, Values
from sketchbench.compressor.message import WORD, Layout, limit_of
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row, Value
from sketchbench.measure.summary import ROUNDING
from sketchbench.parameters import Checked, Count, NonEmptyList, Positive, Range, Several
from sketchbench.sketch.family import SizeError
from sketchbench.task import trials

log = logging.getLogger(__name__)
Compression = Annotated[float, Range(1)]
FEW = 400  # draws, below which a mean is not worth measuring
APPLICATIONS = 20  # of an operator in a trial
EVENT = 0.5  # between what is 0 and what is 1


@dataclass(frozen=True)
class Budget(Checked):
    """How much is measured.

    Arguments:
        draws: of messages of one vector, whose mean is looked at; none where `entries` allow fewer than FEW.
        vectors: of each kind, whose loss is looked at.
        trials, clients, rounds: of exchanges.
        entries: of the matrices of all draws, d times the words of a message each, that there may be; and of all
            trials, each applied APPLICATIONS times, but of 2 trials at least.
    """

    draws: Several
    vectors: Several
    trials: Several
    clients: Several
    rounds: Count
    entries: Positive

    def within(self, subject: Subject) -> "Budget":
        """With the draws and trials that one compressor may have."""
        most = int(self.entries / (subject.compressor.layout.d * max(1, subject.compressor.limit // WORD)))
        trials = min(self.trials, most // APPLICATIONS)
        return replace(self, draws=max(2, min(self.draws, most)), trials=max(2, trials))


@dataclass(frozen=True)
class CompressorContract(Checked):
    """Measures whether a compressor keeps what it says and what a training relies on, on networks of each layout (d)
    and at each compression. Of one that is refused at all of these there is one row, `bytes`, with the reason. Means:

        along, direction, entry: of what says that it is unbiased, what E C(x) = x says along x, and where the first
            half of the draws found it most violated (see `contract.bias`); `exact`.
        loss: of what states a δ, ‖C(x) - x‖² / ‖x‖², by kind of vectors (`case`); bound: 1 - δ, and rounding.

    Counts of trials:

        feedback: of what conserves, those where a share of the updates above `tolerance` is lost or doubled.
        summed: of what says that messages add up, those where the mean message gives a step that is off by more than
            `tolerance`. not_summed: of the others, those where it isn't, so that they do add up.
        bytes: those with a client's messages above the limit. bytes_up, bytes_down: where others are told.
        sameness: those where a second call with the same key gives another message or step.
        renewal, neighbours: with a key, those whose operator is not another one in the next round (or not the same, as
            the compressor says), and not another one in the next trial; where less than all is sent.

    Arguments:
        layouts: of networks: the shapes of their parameters.
        compressions: bytes of an update in float32 over those of a message.
        tolerance: relative, of what float32 rounds.
    """

    compressor: MakeCompressor
    kernels: Kernels
    seed: int
    layouts: NonEmptyList[NonEmptyList[NonEmptyList[Count]]]
    compressions: NonEmptyList[Compression]
    budget: Budget
    tolerance: Positive

    def run(self) -> list[Row]:
        """Measure; returns the rows."""
        rows: list[Row] = []
        reason = ""
        for shapes in self.layouts:
            layout = Layout(tuple(tuple(shape) for shape in shapes))
            for compression in self.compressions:
                try:
                    made = self.compressor(layout=layout, limit=limit_of(layout, compression))
                except SizeError as error:
                    reason = str(error)
                    continue
                where: dict[str, Value] = {"d": layout.d, "compression": float(compression)}
                seed = seeds.key(self.seed, task="compressor contract", compression=f"{compression:g}", d=layout.d)
                rows += [row.but(**where) for row in self._rows(Subject(made, self.kernels, seed), compression)]
                log.info("d=%d, compression %g", layout.d, compression)
        return rows or [Row("bytes").lost("refused", reason)]

    def _rows(self, subject: Subject, compression: float) -> Iterator[Row]:
        budget = self.budget.within(subject)
        yield from self._unbiased(subject, budget.draws)
        yield from _contracts(subject, budget.vectors)
        yield from self._rounds(subject, budget)
        yield _events("sameness", contract.differs(subject, budget.trials, budget.clients))
        if subject.compressor.keyed and compression > 1:
            renewal, neighbours = contract.renewed(subject, budget.trials)
            yield _events("renewal", renewal)
            yield _events("neighbours", neighbours)

    def _unbiased(self, subject: Subject, draws: int) -> Iterator[Row]:
        """The rows about the mean; that of an entry, which may hardly ever be sent, only of all draws."""
        if not subject.compressor.unbiased or draws < FEW:
            return
        found = contract.bias(subject, draws, max(1, trials.WORKSPACE // (4 * subject.compressor.layout.d)))
        yield Row("along", exact=1.0).mean(found.along)
        yield Row("direction", exact=0.0).mean(found.direction)
        if draws == self.budget.draws:
            yield Row("entry", exact=0.0).mean(found.entry)

    def _rounds(self, subject: Subject, budget: Budget) -> Iterator[Row]:
        """The rows about exchanges."""
        compressor = subject.compressor
        rounds = contract.played(subject, budget.trials, budget.clients, budget.rounds)
        if compressor.feedback != "none" and compressor.conserves:
            yield Row("feedback").exceedances(contract.unaccounted(subject, rounds), self.tolerance)
        distance = contract.apart(subject, rounds, budget.clients, budget.rounds)
        if compressor.adds_up:
            yield Row("summed").exceedances(distance, self.tolerance)
        else:
            yield _events("not_summed", (distance <= self.tolerance).astype(float))
        sizes = contract.sizes(subject, rounds, budget.clients, budget.rounds)
        yield Row("bytes").exceedances(sizes.sent, float(compressor.limit))
        yield _events("bytes_up", sizes.up)
        yield _events("bytes_down", sizes.down)


def _contracts(subject: Subject, count: int) -> Iterator[Row]:
    contraction = subject.compressor.contraction
    if contraction is None:
        return
    for kind in contract.KINDS:
        yield Row("loss", case=kind, bound=1 - contraction + ROUNDING).mean(contract.losses(subject, kind, count))


def _events(quantity: str, values: Values) -> Row:
    """How many trials have a 1, or more, instead of a 0."""
    return Row(quantity).exceedances(values, EVENT)

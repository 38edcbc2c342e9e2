"""What every compressor must keep before what is learnt through it is worth measuring."""

import itertools
import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from sketchbench import seeds
from sketchbench.compressor import contract
from sketchbench.compressor.compressor import MakeCompressor
from sketchbench.compressor.contract import Subject, Values
from sketchbench.compressor.message import WORD, Layout, byte_limit
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
Size = dict[str, Value]  # columns
EVENT = 0.5  # between what is 0 and what is 1


@dataclass(frozen=True)
class Budget(Checked):
    """How much is measured.

    Arguments:
        draws: of messages of one vector, whose mean is looked at; none where `entries` allow fewer than FEW.
        vectors: of each kind, whose loss is looked at; as many more tell where.
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


class Candidate(NamedTuple):
    """A mean at one size: how far off a search showed it to be, what the row is about, and the values that measure it,
    which the search did not see."""

    score: float
    row: Row
    values: Values


@dataclass(frozen=True)
class CompressorContract(Checked):
    """Measures whether a compressor keeps what it says and what a training relies on, on networks of each layout (d)
    and at each compression. A row is about all of these that it takes, and names the one that is furthest off; of one
    that is refused at all of them there is one row, `bytes`, with the reason. Means, at the size where other draws
    showed them furthest off:

        along, direction, entry: of what says that it is unbiased, how far the mean of C(x) is from x, relative to ‖x‖:
            along x, and where other draws found it furthest off (see `contract.bias`); `exact`: 0.
        loss: of what states a δ, ‖C(x) - x‖² / ‖x‖², by kind of vectors (`case`); bound: 1 - δ, and rounding.

    Counts of trials, at all sizes together; `maximum` is in units of what is allowed:

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
        events: dict[str, list[tuple[Size, Values]]] = defaultdict(list)
        means: dict[tuple[Value, Value], list[Candidate]] = defaultdict(list)
        reason = ""
        for layout, compression in itertools.product(self.layouts, self.compressions):
            try:
                subject = self._subject(Layout(tuple(map(tuple, layout))), compression)
            except SizeError as error:
                reason = str(error)
                continue
            size: Size = {"d": subject.compressor.layout.d, "compression": float(compression)}
            budget = self.budget.within(subject)
            for name, values in self._events(subject, budget, keyed=compression > 1):
                events[name].append((size, values))
            for one in (*self._unbiased(subject, budget.draws), *_contracting(subject, budget.vectors)):
                means[one.row["quantity"], one.row.get("case")].append(one._replace(row=one.row.but(**size)))
            log.info("d=%d, compression %g", subject.compressor.layout.d, compression)
        if not events:
            return [Row("bytes").lost("refused", reason)]
        furthest = [max(several, key=lambda one: one.score) for several in means.values()]
        return [*(_counted(*item) for item in events.items()), *(one.row.mean(one.values) for one in furthest)]

    def _subject(self, layout: Layout, compression: float) -> Subject:
        made = self.compressor(layout=layout, limit=byte_limit(layout, compression))
        seed = seeds.key(self.seed, task="compressor contract", compression=f"{compression:g}", d=layout.d)
        return Subject(made, self.kernels, seed)

    def _events(self, subject: Subject, budget: Budget, keyed: bool) -> Iterator[tuple[str, Values]]:
        """What is counted in each trial, in units of what is allowed."""
        compressor, clients, number = subject.compressor, budget.clients, budget.rounds
        rounds = contract.play_rounds(subject, budget.trials, clients, number)
        if compressor.feedback != "none" and compressor.conserves:
            yield "feedback", contract.lost_share(subject, rounds) / self.tolerance
        distance = contract.step_distance(subject, rounds, clients, number) / self.tolerance
        if compressor.adds_up:
            yield "summed", distance
        else:
            yield "not_summed", (distance <= 1) / EVENT
        sizes = contract.message_sizes(subject, rounds, clients, number)
        yield "bytes", sizes.sent / compressor.limit
        yield "bytes_up", sizes.up / EVENT
        yield "bytes_down", sizes.down / EVENT
        yield "sameness", contract.count_changes(subject, budget.trials, clients) / EVENT
        if compressor.keyed and keyed:
            renewal, neighbours = contract.check_renewal(subject, budget.trials)
            yield "renewal", renewal / EVENT
            yield "neighbours", neighbours / EVENT

    def _unbiased(self, subject: Subject, draws: int) -> Iterator[Candidate]:
        """What the mean is off; at an entry, which may hardly ever be sent, only of all draws."""
        if not subject.compressor.unbiased or draws < FEW:
            return
        found = contract.bias(subject, draws, max(1, trials.WORKSPACE // (4 * subject.compressor.layout.d)))
        for name, one in found._asdict().items():
            if name != "entry" or draws == self.budget.draws:
                yield Candidate(one.score, Row(name, exact=0.0), one.values)


def _contracting(subject: Subject, count: int) -> Iterator[Candidate]:
    """What vectors of each kind lose; the first half of them tells how near this is to what is stated."""
    contraction = subject.compressor.contraction
    if contraction is None:
        return
    bound = 1 - contraction + ROUNDING
    for kind in contract.KINDS:
        lost = contract.losses(subject, kind, 2 * count)
        yield Candidate(float(lost[:count].mean()) / bound, Row("loss", case=kind, bound=bound), lost[count:])


def _counted(quantity: str, found: list[tuple[Size, Values]]) -> Row:
    """In how many trials at all sizes more happens than is allowed, and where most."""
    size = max(found, key=lambda one: float(one[1].max()))[0]
    return Row(quantity, **size).exceedances(np.concatenate([values for _, values in found]), 1.0)

"""The contract of compressors: what every compressor must keep before trainings with it are worth measuring."""

import itertools
import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Natural, NonEmptyList, Positive, Range
from sketchbench.compressor import contract, traits
from sketchbench.compressor.compressor import MakeCompressor
from sketchbench.compressor.contract import CompressorSubject, Values
from sketchbench.compressor.message import WORD, Layout, byte_limit
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row, Value
from sketchbench.measure.summary import ROUNDING
from sketchbench.sketch.family import SizeError
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
Compression = Annotated[float, Range(1)]
FEW = 400  # draws below which a mean is not worth measuring
APPLICATIONS = 20  # of an operator in a trial
Size = dict[str, Value]  # the columns d and compression
PATIENCE = 32  # rounds without a message after which a compressor is taken to send nothing for ever
EVENT = 0.5  # the threshold of an indicator that is 0 or 1


@dataclass(frozen=True)
class Budget(Checked):
    """The numbers of draws, vectors and trials.

    Arguments:
        draws: messages of one vector, whose mean tests for bias; no test if `entries` allow fewer than FEW draws.
        vectors: of each kind, whose loss is measured; as many more vectors choose the worst size.
        trials, clients, rounds: of exchanges.
        entries: the most entries of all matrices together, with d times the words of a message for each draw, or for
            each of APPLICATIONS uses in a trial. They limit draws and trials, but to no fewer than 2.
    """

    draws: AtLeastTwo
    vectors: AtLeastTwo
    trials: AtLeastTwo
    clients: AtLeastTwo
    rounds: Count
    entries: Positive

    def within(self, subject: CompressorSubject) -> "Budget":
        """The budget of one compressor, whose size limits draws and trials."""
        most = int(self.entries / (subject.compressor.layout.d * max(1, subject.compressor.limit // WORD)))
        trials = min(self.trials, most // APPLICATIONS)
        return replace(self, draws=max(2, min(self.draws, most)), trials=max(2, trials))


class Candidate(NamedTuple):
    """A mean at one size; the size with the largest `score` is chosen, a deviation found on other draws."""

    score: float
    row: Row
    values: Values


@dataclass(frozen=True)
class CompressorContract(Checked):
    """Tests whether a compressor C keeps its statements, and what every training relies on, at each size.

    A size is a layout of a network's parameters (d) and a compression. Sizes that the compressor refuses are left out;
    if it refuses all, there is a single row `bytes` with the status `refused` and the reason.

    Means at the size with the largest deviation, which other draws choose:

        along, direction, entry: for a compressor that states that it is unbiased, C(x) - x relative to ‖x‖: along x, in
            the direction, and at the entry, of the largest mean deviation (see `contract.bias`); exact: 0.
        loss: for a compressor that states a δ, ‖C(x) - x‖²/‖x‖², by kind of vectors (`case`); bound: 1 - δ, plus
            rounding.

    Counts of trials at all sizes together in which the compressor fails, with the worst size; `maximum` is in units of
    the allowance, and the bound is 1:

        feedback: error feedback loses or doubles more than `tolerance` of the updates, although it states that it
            conserves them.
        summed: messages are stated to add up, but the step from their mean is off by more than `tolerance`.
        not_summed: messages are stated not to add up, but the step from their mean is not off.
        bytes: a client's messages exceed the limit.
        bytes_up, bytes_down: the stated numbers of bytes differ from the counted numbers.
        sameness: a second call with the same key gives another message or step.
        renewal: the next round's operator is the same though `fresh`, or another though not `fresh`; for compressors
            with a key, at compressions above 1.
        neighbours: the next trial has the same operator; for the same compressors.
        unit: steps of the same updates in tiny or huge units are off by more than `tolerance`, although it states that
            its steps scale.
        refusal: an update with NaN or infinity is accepted, or changes the memory.
        restart: after an update of zeros, nothing of other updates is sent for PATIENCE rounds.
    """

    compressor: MakeCompressor
    kernels: Kernels
    seed: int
    layouts: NonEmptyList[NonEmptyList[list[Natural]]]  # of networks: the shapes of their parameters
    compressions: NonEmptyList[Compression]  # bytes of a float32 update over bytes of a message
    budget: Budget  # the numbers of draws, vectors and trials
    tolerance: Positive  # the relative error that float32 rounding may cause

    def run(self) -> list[Row]:
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
            for one in (*self._biases(subject, budget.draws), *_losses(subject, budget.vectors)):
                means[one.row["quantity"], one.row.get("case")].append(one._replace(row=one.row.replace(**size)))
            log.info("d=%d, compression %g", subject.compressor.layout.d, compression)
        if not events:
            return [Row("bytes").without_number("refused", reason)]
        furthest = [max(several, key=lambda one: one.score) for several in means.values()]
        return [*(_count(*item) for item in events.items()), *(one.row.mean(one.values) for one in furthest)]

    def _subject(self, layout: Layout, compression: float) -> CompressorSubject:
        made = self.compressor(layout=layout, limit=byte_limit(layout, compression))
        seed = seeds.key(self.seed, task="compressor contract", compression=f"{compression:g}", d=layout.d)
        return CompressorSubject(made, self.kernels, seed)

    def _events(self, subject: CompressorSubject, budget: Budget, keyed: bool) -> Iterator[tuple[str, Values]]:
        """The counted quantities, with their values in each trial, in units of the allowance."""
        compressor, clients, number = subject.compressor, budget.clients, budget.rounds
        rounds = contract.play_rounds(subject, budget.trials, clients, number)
        if compressor.feedback != "none" and traits.conserves(compressor):
            yield "feedback", contract.lost_share(subject, rounds) / self.tolerance
        distance = contract.step_distance(subject, rounds, clients, number) / self.tolerance
        if compressor.adds_up:
            yield "summed", distance
        elif contract.denies_sums(compressor):
            yield "not_summed", (distance <= 1) / EVENT
        sizes = contract.message_sizes(subject, rounds, clients, number)
        yield "bytes", sizes.sent / compressor.limit
        yield "bytes_up", sizes.up / EVENT
        yield "bytes_down", sizes.down / EVENT
        yield "sameness", contract.detect_changes(subject, budget.trials, clients) / EVENT
        if traits.keyed(compressor) and keyed:
            renewal, neighbours = contract.check_renewal(subject, budget.trials)
            yield "renewal", renewal / EVENT
            yield "neighbours", neighbours / EVENT
        if traits.scales(compressor):
            yield "unit", contract.scale_distance(subject, budget.trials, clients, number) / self.tolerance
        yield "refusal", contract.detect_traces(subject, rounds, clients, number) / EVENT
        yield "restart", contract.detect_silence(subject, budget.trials, clients, PATIENCE) / EVENT

    def _biases(self, subject: CompressorSubject, draws: int) -> Iterator[Candidate]:
        """The deviations of the mean of C(x). `entry` needs all draws: a compressor may seldom send an entry."""
        if not subject.compressor.unbiased or draws < FEW:
            return
        deviations = contract.bias(subject, draws, max(1, trials.WORKSPACE // (4 * subject.compressor.layout.d)))
        for name, one in deviations._asdict().items():
            if name != "entry" or draws == self.budget.draws:
                yield Candidate(one.score, Row(name, exact=0.0), one.values)


def _losses(subject: CompressorSubject, count: int) -> Iterator[Candidate]:
    """The losses of vectors of each kind; the first half of the vectors gives the score."""
    contraction = traits.contraction(subject.compressor)
    if contraction is None:
        return
    bound = 1 - contraction + ROUNDING
    for kind in contract.KINDS:
        lost = contract.losses(subject, kind, 2 * count)
        yield Candidate(float(lost[:count].mean()) / bound, Row("loss", case=kind, bound=bound), lost[count:])


def _count(quantity: str, parts: list[tuple[Size, Values]]) -> Row:
    """Count the trials of all sizes with a value above 1; the row names the size with the largest value."""
    size = max(parts, key=lambda part: float(part[1].max()))[0]
    return Row(quantity, **size).exceedances(np.concatenate([values for _, values in parts]), 1.0)

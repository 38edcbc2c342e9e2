"""The contract of compressors: the checks that a compressor must pass before trainings with it are worth measuring."""

import itertools
import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple

import numpy as np

from sketchbench import kernels as backends
from sketchbench.attack.lens import Unseen
from sketchbench.base import seeds
from sketchbench.base.parameters import AtLeastTwo, Checked, Count, Natural, NonEmptyList, Positive, Range
from sketchbench.compressor import contract, endurance, parties, private_noise, traits
from sketchbench.compressor.compressor import MakeCompressor
from sketchbench.compressor.contract import CompressorSubject, MessageDeviation, Values
from sketchbench.compressor.message import WORD, Layout, byte_limit
from sketchbench.kernels import Kernels
from sketchbench.measure.row import Row, Value
from sketchbench.measure.summary import ROUNDING
from sketchbench.sketch.family import SizeError
from sketchbench.task.compressors import attackers_view
from sketchbench.task.sketches import trials

log = logging.getLogger(__name__)
Compression = Annotated[float, Range(1)]
FEW = 400  # draws below which a mean is not worth measuring
APPLICATIONS = 20  # of an operator in a trial
Size = dict[str, Value]  # the columns d and compression
PATIENCE = 32  # rounds without a message after which a compressor is taken to send nothing for ever
LARGEST = 1e30  # the value of a trial that has none, as a row's numbers are finite
EVENT = 0.5  # the threshold of an indicator that is 0 or 1
LARGE_WORDS, LARGE_DRAWS = 1024, 2  # of messages of large updates; one region of 9 gets 227 of their words
MIDDLE = 2**17  # entries of the largest update with a whole round
CLIENTS = 3  # of a long run
OTHERS = 4  # vectors of other kinds than normal ones have one draw for so many of these


def _large() -> list[list[list[int]]]:
    """Layouts of filters with 9/8 times 2^12, 2^16 and 2^20 entries, and a single number."""
    return [[[72, 16, 2, 2], []], [[1152, 16, 2, 2], []], [[18432, 16, 2, 2], []]]


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


class Biases(NamedTuple):
    """Deviations of an unbiased compressor, from the draws of one size: counted events by name, and means."""

    events: list[tuple[str, Values]]
    means: list[Candidate]


@dataclass(frozen=True)
class CompressorContract(Checked):
    """Tests at each size the statements of a compressor C, and the properties on which every training relies.

    A size is a layout of a network's parameters (d) and a compression. Sizes that the compressor refuses are left out;
    if it refuses all, there is a single row `bytes` with the status `refused` and the reason.

    Means at the size with the largest deviation, which other draws choose, by kind of vectors (`case`):

        along, direction, entry: for a compressor that states that it is unbiased, C(x) - x relative to ‖x‖: along x, in
            the direction, and at the entry, of the largest mean deviation (see `contract.bias`); exact: 0. A linear
            compressor has normal vectors alone: `linear` extends them to all.
        loss: for a compressor that states a δ, ‖C(x) - x‖²/‖x‖²; bound: 1 - δ, plus rounding.
        variance: ‖C(x) - x‖²/‖x‖², for an unbiased compressor that states a number `variance`, which is the bound.
        noise: for a compressor with `protect`, see `private_noise.noise`; exact: 1 for the square, 0 for products.

    Counts of trials at all sizes together in which the compressor fails, with the worst size; `maximum` is in units of
    the allowance, and the bound is 1:

        each_loss: as `loss`, of every vector and message, if messages depend on nothing random.
        round: in one round, or for one client, the mean along x is off, although the compressor states that it is
            unbiased.
        correlated: deviations of rounds or trials depend on one another, as above.
        region: a part of a large update is off in the mean, although it states that it is unbiased.
        feedback: error feedback loses or doubles more than `tolerance` of the updates, although it states that it
            conserves them.
        summed: messages are stated to add up, but the step from their mean is off by more than `tolerance`.
        not_summed: messages are stated not to add up, but the step from their mean is not off.
        repeated: the step from each message twice is off from the step from each message once.
        linear: messages are stated to be linear, but the mean message is not that of the mean update.
        bytes: a client's messages exceed the limit.
        bytes_up, bytes_down: the stated numbers of bytes differ from the counted numbers.
        served: a server in another process, which knows the key and gets the bytes of messages, makes another step.
        sameness: a second call with the same key gives another message or step.
        apart: a client's message, or a trial's step or memory, changes with the updates of others; or the first trials'
            steps with the number of trials, by more than `tolerance`.
        renewal: the next round's operator is the same though `fresh`, or another though not `fresh`; for compressors
            with a key, at compressions above 1. Without a key, messages depend on one.
        neighbours: the next trial has the same operator, or at least half of many trials share theirs; for the same
            compressors.
        own: two rounds or clients have the same private randomness, in messages or in the noise of sums.
        unit: steps of the same updates in tiny or huge units are off by more than `tolerance`, although it states that
            its steps scale.
        refusal: an update with NaN or infinity is accepted, or changes the memory.
        restart: after an update of zeros, nothing of other updates is sent for PATIENCE rounds.
        view: an attacker's view of a message contradicts it; see `attackers_view.view`.
        hidden: an attacker's view lacks something that is decoded; see `attackers_view.hidden`.

    At the smallest layout and its highest compression, these are measured in long runs, too: see `endurance`.
    """

    compressor: MakeCompressor
    kernels: Kernels
    seed: int
    layouts: NonEmptyList[NonEmptyList[list[Natural]]]  # of networks: the shapes of their parameters
    compressions: NonEmptyList[Compression]  # bytes of a float32 update over bytes of a message
    budget: Budget  # the numbers of draws, vectors and trials
    tolerance: Positive  # the relative error that float32 rounding may cause
    large: list[list[list[Natural]]] = field(default_factory=_large)  # layouts for few draws, with the most compression

    def run(self) -> list[Row]:
        events: dict[str, list[tuple[Size, Values]]] = defaultdict(list)
        means: dict[tuple[Value, Value], list[Candidate]] = defaultdict(list)
        reason, smallest = "", list[tuple[Size, CompressorSubject]]()
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
            losses, biases = list(_losses(subject, budget.vectors)), self._biases(subject, budget.draws)
            if losses and endurance.deterministic(subject):
                events["each_loss"] += [(size, one.values / float(str(one.row["bound"]))) for one in losses]
            for name, values in biases.events:
                events[name].append((size, values))
            for one in (*biases.means, *losses):
                means[one.row["quantity"], one.row.get("case")].append(one._replace(row=one.row.replace(**size)))
            log.info("d=%d, compression %g", subject.compressor.layout.d, compression)
            if not smallest or subject.compressor.layout.d == smallest[0][1].compressor.layout.d:
                smallest.append((size, subject))
        if not smallest:
            return [Row("bytes").without_number("refused", reason)]
        size, subject = smallest[-1]
        fresh = self._fresh_events(smallest[0][1], subject, float(str(size["compression"])) > 1)
        for name, values in itertools.chain(self._long_events(subject), fresh):
            events[name].append((size, values))
        for one in _noises(subject, self.budget.draws):
            means[one.row["quantity"], one.row["case"]].append(one)
        for size, name, values in self._large_events():
            events[name].append((size, values))
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
        yield "apart", contract.detect_crosstalk(subject, rounds, clients, number) / EVENT
        if traits.keyed(compressor) and keyed:
            renewal, neighbours = contract.check_renewal(subject, budget.trials)
            yield "renewal", renewal / EVENT
            yield "neighbours", neighbours / EVENT
        if traits.scales(compressor):
            many = 2 * contract.LARGEST + 1 if self._is_small(subject) else budget.trials
            yield "unit", contract.scale_distance(subject, many, 1, 2) / self.tolerance
            yield "unit", contract.scale_distance(subject, budget.trials, clients, number) / self.tolerance
        yield "refusal", contract.detect_traces(subject, rounds, clients, number) / EVENT
        yield "restart", contract.detect_silence(subject, budget.trials, clients, PATIENCE) / EVENT

    def _is_small(self, subject: CompressorSubject) -> bool:
        return subject.compressor.layout.shapes == tuple(map(tuple, self.layouts[0]))

    def _long_events(self, subject: CompressorSubject) -> Iterator[tuple[str, Values]]:
        """What is counted in each round of long runs, and for each number of clients, as `_events`."""
        if subject.kernels.NAME == "cupy":  # another process can't use the device
            subject = replace(subject, kernels=backends.load("numba"))
        audits, seen = [], True
        delta = traits.contraction(subject.compressor) if endurance.deterministic(subject) else None
        for numbers in contract.windows(subject):
            with parties.server(subject.compressor, subject.kernels) as ask:
                for played in endurance.play(subject, numbers, 2, CLIENTS):
                    first = played.at.round == numbers.start
                    audits.append(endurance.audit(subject, played))
                    if delta is not None:
                        yield "each_loss", endurance.losses(subject, played, delta)
                    audits[-1]["served"] = endurance.served(subject, ask, played, first)
                    try:
                        if seen:
                            audits[-1]["view"] = attackers_view.view(subject, played, self.tolerance)
                        if seen and (first or not numbers.start):
                            entries = attackers_view.SUBSTITUTES if first else 1
                            yield "hidden", attackers_view.hidden(subject, played, entries) / EVENT
                    except Unseen:
                        seen = False
        for name, values in (*endurance.worst(audits).items(), *endurance.crowds(subject).items()):
            yield name, values / self._allowed(name)

    def _allowed(self, quantity: str) -> float:
        return {"served": EVENT, "view": EVENT, "bytes": 1.0}.get(quantity, self.tolerance)

    def _fresh_events(
        self, least: CompressorSubject, most: CompressorSubject, compressed: bool
    ) -> Iterator[tuple[str, Values]]:
        """Whether randomness is new in each round: of a key at the most compression, and of clients at the least, where
        messages have enough of it."""
        key = endurance.freshness_of_keys(most, compressed)
        if key is not None:
            yield "renewal", key / EVENT
        if traits.keyed(most.compressor) and compressed:
            yield "neighbours", endurance.freshness_of_trials(most) / EVENT
        crowding = endurance.crowding(most)
        if crowding is not None:
            yield "apart", crowding / self.tolerance
        if least.compressor.unbiased and not least.compressor.adds_up:
            yield "round", endurance.along_of_clients(least)
        safe = private_noise.protected(least)
        for subject, clients in ((least, 2), (safe, private_noise.SUMS.clients)):
            own = None if subject is None else endurance.freshness_of_clients(subject, clients)
            if own is not None:
                yield "own", own / EVENT

    def _large_events(self) -> Iterator[tuple[Size, str, Values]]:
        """What few draws show of large updates, at the highest compression that the compressor takes."""
        for layout in self.large:
            shapes = Layout(tuple(map(tuple, layout)))
            for compression in (shapes.d / LARGE_WORDS, 16.0, 4.0, 1.0):
                try:
                    subject = self._subject(shapes, compression)
                except SizeError:
                    continue
                size: Size = {"d": shapes.d, "compression": compression}
                if subject.compressor.unbiased:
                    yield size, "region", contract.regions(subject, LARGE_DRAWS)
                delta = traits.contraction(subject.compressor)
                if delta is not None and endurance.deterministic(subject):
                    yield size, "each_loss", contract.last_loss(subject) / (1 - delta + ROUNDING)
                if shapes.d <= MIDDLE:
                    played = next(endurance.play(subject, range(1), 1, 2))
                    for name, values in endurance.audit(subject, played).items():
                        yield size, name, values / self._allowed(name)
                break

    def _biases(self, subject: CompressorSubject, draws: int) -> "Biases":
        """The deviations of the mean of C(x). `entry`, and the events, need all draws, which normal updates have: a
        compressor may seldom send an entry."""
        found = Biases([], [])
        if not subject.compressor.unbiased or draws < FEW:
            return found
        variance = getattr(subject.compressor, "variance", None)
        full = draws == self.budget.draws
        block = max(1, trials.WORKSPACE // (4 * subject.compressor.layout.d))
        for kind in contract.KINDS if full and not subject.compressor.linear else contract.KINDS[:1]:
            first = kind == contract.KINDS[0]
            bias = contract.bias(subject, kind, draws if first else max(FEW, draws // OTHERS), block, full and first)
            for name in ("along", "direction", "entry"):
                if name != "entry" or (full and first):
                    one: MessageDeviation = getattr(bias, name)
                    found.means.append(Candidate(one.score, Row(name, case=kind, exact=0.0), one.values))
            if isinstance(variance, float) and kind != "spike":  # whose loss is of one entry, and takes two values
                bound = variance + ROUNDING
                row = Row("variance", case=kind, bound=bound)
                found.means.append(Candidate(bias.square.score / bound, row, bias.square.values))
            if full and first:
                found.events.extend([("round", bias.rounds), ("correlated", bias.correlations)])
        return found


def _losses(subject: CompressorSubject, count: int) -> Iterator[Candidate]:
    """The losses of vectors of each kind; the first half of the vectors gives the score."""
    contraction = traits.contraction(subject.compressor)
    if contraction is None:
        return
    bound = 1 - contraction + ROUNDING
    for kind in contract.KINDS:
        lost = contract.losses(subject, kind, 2 * count)
        yield Candidate(float(lost[:count].mean()) / bound, Row("loss", case=kind, bound=bound), lost[count:])


def _noises(subject: CompressorSubject, draws: int) -> Iterator[Candidate]:
    safe = private_noise.protected(subject)
    if safe is not None:
        for name, exact, values in private_noise.noise(safe, draws):
            yield Candidate(0.0, Row("noise", case=name, exact=exact), values)


def _count(quantity: str, parts: list[tuple[Size, Values]]) -> Row:
    """Count the trials of all sizes with a value above 1, or none; the row names the size with the largest value."""
    finite = [(size, np.nan_to_num(values, nan=LARGEST, posinf=LARGEST).clip(max=LARGEST)) for size, values in parts]
    size = max(finite, key=lambda part: float(part[1].max()))[0]
    return Row(quantity, **size).exceedances(np.concatenate([values for _, values in finite]), 1.0)

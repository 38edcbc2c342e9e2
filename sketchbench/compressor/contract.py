"""The contract of compressors, measured trial by trial."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.compressor import door, operators, traits
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Layout, Message, Reply
from sketchbench.kernels import Array, Kernels

Values = NDArray[np.float64]  # (trials,)
KINDS = ("gaussian", "heavy-tailed", "sparse", "constant", "spike", "layers")
TINY = 1e-30  # a divisor in the place of 0
LARGEST = 100  # updates are tried in the units 2^-100 to 2^100, exact in float32; their squares are not
EXACT = 2.0**-20  # deviations that are all smaller are float32 rounding, which has a mean of its own
NUMBERLESS = (float("nan"), float("inf"), float("-inf"))
NONZEROS = 16  # one of so many entries of a sparse vector is not 0
SPIKE = 3  # the largest entry of a vector with a spike, over the norm of all others
LAYERS = 8  # layers of unequal scale are multiplied by powers of two, up to 2^8 and down to 2^-8
REGIONS = 9  # equal parts of an update of 9/8 times a power of two, of which the last part lies beyond the power
PERIOD = 32  # rounds of a window
LATE = (2**10, 2**20)  # the second window begins in one of these rounds
CLEAR = 8  # standard errors beyond which the mean of one round, or a correlation, is no chance
CORRELATED = 0.25  # excess of the variance of a sum over the sum of variances, below which it is not looked at
MAGNITUDE = 1.2  # of the entries of a constant vector: between powers of two, where rounding costs nearly most
LOST = 0.75  # deviation of a region that refutes unbiasedness: 6 standard deviations or more of REGION_WORDS words


class MessageDeviation(NamedTuple):
    """A mean that should be 0: its distance from 0 in the first half of the draws, in standard errors, and the values
    of the second half, (draws,)."""

    score: float
    values: Values


class Bias(NamedTuple):
    """The deviation C(x) - x relative to ‖x‖, with a mean of 0 if C is unbiased: along x, along the largest mean
    deviation in the first half of the draws, and at the entry with the largest one there, in standard errors; and its
    square, whose mean is the variance. Two events, which are above 1 in a wrong one: the mean along x in each round,
    and the correlations of rounds and of trials."""

    along: MessageDeviation
    direction: MessageDeviation
    entry: MessageDeviation
    square: MessageDeviation
    rounds: Values
    correlations: Values


class PlayedRounds(NamedTuple):
    """Sums over some rounds, in T trials: of the server's steps and the clients' mean updates, (T, d), and of the part
    `cells` of the mean messages, (T, b), 0 without that part; and the memory after the rounds."""

    steps: Array
    updates: Array
    cells: Array
    memory: Memory


@dataclass(frozen=True)
class CompressorSubject:
    """A compressor that is tested, with the backend and the root seed of the test."""

    compressor: Compressor
    kernels: Kernels
    seed: int

    def random(self, part: str) -> np.random.Generator:
        """Return the generator of test vectors for a part of the test."""
        return seeds.generator(self.seed, contract=part)

    def updates(self, part: str, trials: int, clients: int) -> Array:
        """Draw normal vectors (T, C, d), float32; standard deviations rise from 1 for the first client to 2."""
        shape = (trials, clients, self.compressor.layout.d)
        x = self.random(part).standard_normal(shape, dtype=np.float32)
        return self.kernels.asarray(x * np.linspace(1, 2, clients, dtype=np.float32)[:, None])

    def at(self, trials: int, number: int = 0, part: str = "rounds") -> At:
        """Return the round with this number, for a part of the test."""
        return At(self.kernels, seeds.key(self.seed, contract=part), number, trials)

    def phases(
        self, x: Array, memory: Memory, at: At, summed: bool, decided: bool = True
    ) -> tuple[list[Message], list[Reply]]:
        """Return messages and replies of all phases; the server gets the mean message if `summed`, else all. Unless
        `decided`, the last reply, with the step, is left out."""
        messages: list[Message] = []
        replies: list[Reply] = []
        server = memory
        for phase in range(traits.phases(self.compressor)):
            messages.append(self.compressor.encode(x, memory, at, replies))
            if not decided and phase == traits.phases(self.compressor) - 1:
                break
            received = messages[-1]
            if summed:
                received = traits.receive(self.compressor, received, at) if self.compressor.adds_up else received.mean()
            reply, server = self.compressor.answer(received, server, at, replies)
            replies.append(reply)
        return messages, replies

    def compress(self, x: Array, at: At) -> Array:
        """Return C(x) for vectors x (T, d), from the first round of a single client."""
        memory = self.compressor.begin(at.trials, 1, self.kernels)
        messages, replies = self.phases(x[:, None], memory, at, summed=False, decided=False)
        return self.compressor.decode(messages[-1], at, replies)[:, 0]


def vectors(kind: str, random: np.random.Generator, count: int, layout: Layout) -> NDArray[np.float32]:
    """Draw vectors (count, d) of a kind: `gaussian`, `heavy-tailed` (Student's t with 2 degrees of freedom), `sparse`
    (normal, with most entries 0), `constant` (entries ±MAGNITUDE, all of one sign in every other vector), `spike`
    (normal, with one large entry), or `layers` (normal, with a scale for each parameter)."""
    d = layout.d
    if kind == "heavy-tailed":
        x = random.standard_t(2, (count, d))
    elif kind == "constant":
        x = MAGNITUDE * random.choice([-1.0, 1.0], (count, d))
        x[::2] = x[::2, :1]
    else:
        x = random.standard_normal((count, d))
    if kind == "sparse":
        kept = random.permuted(np.tile(np.arange(d), (count, 1)), axis=1) < max(1, d // NONZEROS)
        x = x * kept
    if kind == "spike":
        x[np.arange(count), random.integers(d, size=count)] = SPIKE * d**0.5
    if kind == "layers":
        x = x * np.repeat(2.0 ** random.integers(-LAYERS, LAYERS + 1, len(layout.sizes)), layout.sizes)
    return x.astype(np.float32)


def windows(subject: CompressorSubject) -> tuple[range, range]:
    """Return the numbers of PERIOD rounds in a row from round 0 on, and of as many from a late round on."""
    late = int(subject.random("late").integers(*LATE))
    return range(PERIOD), range(late, late + PERIOD)


def bias(subject: CompressorSubject, kind: str, draws: int, block: int, every: bool) -> Bias:
    """Measure the deviation of C(x) from one vector x of a kind over `draws` keys, in blocks of at most `block` draws,
    each in another round: as many blocks as both windows have rounds if `every` round is judged."""
    part = "bias" if kind == "gaussian" else f"bias {kind}"
    x = vectors(kind, subject.random(part), 1, subject.compressor.layout)
    size = float(np.linalg.norm(x))
    numbers = subject.random(part).permutation(np.concatenate(windows(subject)))
    block = min(block, draws // len(numbers)) if every else block
    renewed = traits.fresh(subject.compressor)
    coded = []
    for place, first in enumerate(range(0, draws, block)):
        count = min(block, draws - first)
        shared = subject.kernels.asarray(np.repeat(x, count, axis=0))
        number = int(numbers[place % len(numbers)])
        at = subject.at(count, number, part if renewed and place < len(numbers) else f"{part} {first}")
        coded.append(_numpy(subject, subject.compress(shared, at)))
    off = (np.concatenate(coded) - x.astype(np.float64)) / size
    whole = off[: block * (len(off) // block)].reshape(-1, block, off.shape[1]) if every else off[None, :0]
    search, measure = off[: draws // 2], off[draws // 2 :]
    mean, error = search.mean(axis=0), search.std(axis=0) / len(search) ** 0.5
    scores = abs(mean) / np.maximum(error, error.mean() + TINY)  # the error of one entry may be small by chance
    worst, length = int(scores.argmax()), float(np.linalg.norm(mean))
    towards = mean / max(length, TINY)
    unit = x[0].astype(np.float64) / size
    along, judged = (half @ unit for half in (search, measure))
    return Bias(
        _deviation(abs(along.mean()) / (along.std() / len(search) ** 0.5 + TINY), judged),
        _deviation(length / (float(np.linalg.norm(error)) + TINY), measure @ towards),
        _deviation(float(scores[worst]), measure[:, worst]),
        MessageDeviation(float((search**2).sum(axis=1).mean()), (measure**2).sum(axis=1)),
        round_means(whole @ unit),
        np.array([_correlation(whole), _correlation(whole[: len(numbers)].swapaxes(0, 1))]),
    )


def round_means(along: Values) -> Values:
    """The mean deviation along x in each round, of all (rounds, draws), over what is no chance: (rounds,)."""
    error = along.std() / max(1, along.shape[1]) ** 0.5 if along.size else 0.0
    return abs(along.mean(axis=1)) / max(CLEAR * error, EXACT) if along.size else np.zeros(1)


def _correlation(off: Values) -> float:
    """By how much the square of the sum of n deviations, of (groups, n, d), exceeds the sum of squares, of which it has
    the mean if they are independent, over what is no chance."""
    squares = (off**2).sum(axis=(1, 2))
    if not squares.size or squares.max() <= EXACT**2 * off.shape[1]:
        return 0.0
    ratios = (off.sum(axis=1) ** 2).sum(axis=1) / squares.mean()
    return float((ratios.mean() - 1) / max(CORRELATED, CLEAR * ratios.std() / len(ratios) ** 0.5))


def _deviation(score: float, values: Values) -> MessageDeviation:
    """Return the deviation, or 0 if all values are rounding."""
    return MessageDeviation(score, values) if abs(values).max() > EXACT else MessageDeviation(0.0, 0 * values)


def losses(subject: CompressorSubject, kind: str, trials: int) -> Values:
    """Return ‖C(x) - x‖² / ‖x‖² for random vectors x of a kind, (trials,)."""
    x = vectors(kind, subject.random(kind), trials, subject.compressor.layout)
    number = int(subject.random(f"round of {kind}").choice(np.concatenate(windows(subject))))
    coded = subject.compress(subject.kernels.asarray(x), subject.at(trials, number, kind))
    exact = x.astype(np.float64)
    lost: Values = ((_numpy(subject, coded) - exact) ** 2).sum(axis=1) / (exact**2).sum(axis=1)
    return lost


def regions(subject: CompressorSubject, draws: int) -> Values:
    """Return how far the mean of C(x) is off in each of REGIONS parts of a large normal vector x, over LOST: the mean
    over `draws` keys of ⟨C(x) - x, x⟩/‖x‖² in a part, (REGIONS,). It is 1/LOST for a part that is never sent."""
    x = vectors("gaussian", subject.random("regions"), 1, subject.compressor.layout)
    shared = subject.kernels.asarray(np.repeat(x, draws, axis=0))
    coded = raw(subject, subject.compress(shared, subject.at(draws, part="regions"))).mean(axis=0, dtype=np.float64)
    parts = zip(np.array_split(coded, REGIONS), np.array_split(x[0].astype(np.float64), REGIONS), strict=True)
    return np.array([abs((ours - exact) @ exact) / (exact @ exact) for ours, exact in parts]) / LOST


def last_loss(subject: CompressorSubject) -> Values:
    """Return ‖C(x) - x‖² / ‖x‖², (1,), of a normal vector x with a spike at the last place."""
    x = vectors("gaussian", subject.random("last"), 1, subject.compressor.layout)
    x[0, -1] = SPIKE * len(x[0]) ** 0.5
    coded = _numpy(subject, subject.compress(subject.kernels.asarray(x), subject.at(1, part="last")))
    lost: Values = ((coded - x) ** 2).sum(axis=1) / (x.astype(np.float64) ** 2).sum(axis=1)
    return lost


def play_rounds(subject: CompressorSubject, trials: int, clients: int, rounds: int) -> PlayedRounds:
    """Run rounds of the compressor with normal updates, and sum what they exchange."""
    memory = subject.compressor.begin(trials, clients, subject.kernels)
    steps = updates = cells = subject.kernels.xp.zeros((1, 1))
    for number in range(rounds):
        x = subject.updates(f"round {number}", trials, clients)
        done = subject.compressor.exchange(x, memory, subject.at(trials, number))
        memory, steps, updates = done.memory, steps + done.step, updates + x.mean(axis=1, dtype="float64")
        if "cells" in done.messages[-1].parts:
            cells = cells + done.messages[-1].parts["cells"].mean(axis=1, dtype="float64")
    return PlayedRounds(steps, updates, cells, memory)


def lost_share(subject: CompressorSubject, rounds: PlayedRounds) -> Values:
    """Return the length of the updates that are neither in steps nor in the memory, relative to the updates, (T,). With
    feedback at the server, it is that of their sketches."""
    if subject.compressor.feedback == "client":
        kept: Array = rounds.memory.clients
        return relative(subject, rounds.steps + kept.mean(axis=1, dtype="float64"), rounds.updates)
    trials = len(rounds.steps)
    steps = rounds.steps[:, None].astype("float32")
    sketched = subject.compressor.encode(steps, rounds.memory, subject.at(trials), ()).parts["cells"][:, 0]
    return relative(subject, sketched + rounds.memory.server, rounds.cells)


def denies_sums(compressor: Compressor) -> bool:
    """Return whether a class states that messages do not add up; a class that says nothing denies nothing."""
    stated = any("adds_up" in vars(kind) for kind in type(compressor).__mro__ if kind is not Compressor)
    return stated and not compressor.adds_up


def step_distance(subject: CompressorSubject, rounds: PlayedRounds, clients: int, number: int) -> Values:
    """Return the distance of the mean message's step from the step of all messages, relative to the latter, in round
    `number`, (T,); infinite if messages do not add up, and their mean can't be decoded."""
    trials = len(rounds.steps)
    x, at = subject.updates("sum", trials, clients), subject.at(trials, number)
    other = subject.phases(x, rounds.memory, at, summed=False)[1][-1].content
    try:
        one = subject.phases(x, rounds.memory, at, summed=True)[1][-1].content
    except ValueError:
        if subject.compressor.adds_up:
            raise
        return np.full(trials, np.inf)
    return relative(subject, one, other)


class Bytes(NamedTuple):
    """Bytes in each trial, (T,): the most that a client sends, counted from the arrays of its messages, and the
    differences, `up` and `down`, between the bytes that `Exchange` states and the counted bytes."""

    sent: Values
    up: Values
    down: Values


def message_sizes(subject: CompressorSubject, rounds: PlayedRounds, clients: int, number: int) -> Bytes:
    """Count the bytes of the messages and replies of round `number`."""
    compressor, trials = subject.compressor, len(rounds.steps)
    x, at = subject.updates("sizes", trials, clients), subject.at(trials, number)
    carried = x if rounds.memory.clients is None else x + rounds.memory.clients
    messages, replies = subject.phases(carried, rounds.memory, at, summed=compressor.adds_up)
    said = compressor.exchange(x, rounds.memory, at)
    parts = [part for message in messages for part in message.parts.values()]
    sent = np.array([sum(part[t, client].nbytes for part in parts) for t in range(trials) for client in range(clients)])
    down = said.bytes_down - traits.key_nbytes(compressor, number) - sum(reply.nbytes for reply in replies)
    largest = sent.reshape(trials, clients).max(axis=1).astype(np.float64)
    return Bytes(largest, abs(largest - said.bytes_up), np.full(trials, float(abs(down))))


def detect_changes(subject: CompressorSubject, trials: int, clients: int) -> Values:
    """Return 1 for each trial whose messages or step change in a second call with the same key, else 0: (T,)."""
    x, joined = subject.updates("sameness", trials, clients), []
    for _ in range(2):
        operators.forget()
        again = dataclasses.replace(subject, compressor=dataclasses.replace(subject.compressor))
        memory = again.compressor.begin(trials, clients, subject.kernels)
        done = again.compressor.exchange(x, memory, again.at(trials))
        joined.append(_join([*done.messages, Message({"step": done.step[:, None]})]))
    return np.asarray(_differ(subject, *joined).any(axis=1), dtype=np.float64)


def detect_crosstalk(subject: CompressorSubject, rounds: PlayedRounds, clients: int, number: int) -> Values:
    """Return 1 for each trial with a message that changes if only other clients' updates change, or with a step or a
    memory that changes if only other trials do, in round `number`, else 0: (T,). Earlier replies stay. If the form of a
    message changes, all trials are wrong."""
    compressor, trials, at = subject.compressor, len(rounds.steps), subject.at(len(rounds.steps), number)
    x, others = (subject.updates(part, trials, clients) for part in ("here", "others"))
    kept = np.ones((trials, clients), dtype=bool)
    kept[1::2] = subject.random("kept").permuted(np.arange(clients) % 2 == 0)
    changed = subject.kernels.xp.where(subject.kernels.asarray(kept)[..., None], x, 4 * others)
    one, other = (compressor.exchange(y, rounds.memory, at) for y in (x, changed))
    carried = changed if rounds.memory.clients is None else changed + rounds.memory.clients
    wrong = np.zeros(trials, dtype=bool)
    for phase, message in enumerate(one.messages):
        again = compressor.encode(carried, rounds.memory, at, one.replies[:phase]) if phase else other.messages[0]
        wrong |= (_differ(subject, message, again) & kept).any(axis=1)
    for ours, theirs in zip(*(door.arrays((done.step, *done.memory)) for done in (one, other)), strict=True):
        wrong |= raw(subject, ours != theirs).reshape(trials, -1).any(axis=1) & kept.all(axis=1)
    return wrong.astype(np.float64)


def check_renewal(subject: CompressorSubject, trials: int) -> tuple[Values, Values]:
    """Check whether operators are drawn anew as the compressor states, by the messages of one vector.

    Returns two arrays (T,) of 1 for a failure and 0 else: the next round's operator is the same though `fresh`, or
    another though not `fresh`; the next trial has the same operator.
    """
    x = subject.kernels.xp.repeat(subject.updates("renewal", 1, 1), trials, axis=0)
    memory = subject.compressor.begin(trials, 1, subject.kernels)
    rounds = (subject.phases(x, memory, subject.at(trials, number), False, decided=False)[0] for number in (0, 1))
    now, later = map(_join, rounds)
    shifted = Message({name: subject.kernels.xp.roll(part, 1, axis=0) for name, part in now.parts.items()})
    fresh, apart = (np.asarray(_differ(subject, now, one).any(axis=1), dtype=np.float64) for one in (later, shifted))
    return np.abs(fresh - traits.fresh(subject.compressor)), np.abs(apart - 1)


def scale_distance(subject: CompressorSubject, trials: int, clients: int, rounds: int) -> Values:
    """Return the relative distance of the steps of updates in other units from the steps of the same updates in unit 1,
    (T,); 1 if float32 can't hold the sums. Each trial has a unit of its own, from 2^-LARGEST to 2^LARGEST: both ends,
    and others in steps of 1 for 2 LARGEST + 1 trials, else at random."""
    if trials > 2 * LARGEST:
        exponents = np.arange(trials) % (2 * LARGEST + 1) - LARGEST
    else:
        exponents = subject.random("units").integers(-LARGEST, LARGEST + 1, trials)
        exponents[:2] = -LARGEST, LARGEST
    units = subject.kernels.asarray(np.ldexp(np.float32(1), exponents).astype(np.float32)[:, None, None])
    plain = _steps(subject, trials, clients, rounds, subject.kernels.xp.ones_like(units))
    try:
        scaled = _steps(subject, trials, clients, rounds, units)
    except OverflowError:
        return np.ones(trials)
    return relative(subject, scaled.astype("float64") / units[:, 0], plain)


def _steps(subject: CompressorSubject, trials: int, clients: int, rounds: int, units: Array) -> Array:
    """The steps of some rounds of updates in these units (T, 1, 1): (T, rounds d)."""
    memory, steps = subject.compressor.begin(trials, clients, subject.kernels), []
    for number in range(rounds):
        x = subject.updates(f"unit, round {number}", trials, clients)
        done = subject.compressor.exchange(x * units, memory, subject.at(trials, number))
        steps.append(done.step)
        memory = done.memory
    return subject.kernels.xp.concatenate(steps, axis=1)


def detect_traces(subject: CompressorSubject, rounds: PlayedRounds, clients: int, number: int) -> Values:
    """Return 1 for each trial whose memory changes by an update with a NaN or infinity, else 0: (T,). All are 1 if
    round `number` accepts the update."""
    trials = len(rounds.steps)
    before = [array.copy() for array in door.arrays(tuple(rounds.memory))]
    random = subject.random("places without a number")
    for entry in NUMBERLESS:
        x = subject.updates("no number", trials, clients)
        x[tuple(random.integers(x.shape))] = entry
        try:
            subject.compressor.exchange(x, rounds.memory, subject.at(trials, number))
        except (ValueError, ArithmeticError):
            continue
        return np.ones(trials)
    same = np.ones(trials, dtype=bool)
    for old, new in zip(before, door.arrays(tuple(rounds.memory)), strict=True):
        same &= raw(subject, old == new).reshape(trials, -1).all(axis=1)
    return 1.0 - same


def detect_silence(subject: CompressorSubject, trials: int, clients: int, most: int) -> Values:
    """Return 1 for each trial with steps of zeros in `most` rounds after an update of zeros, else 0: (T,).

    The later updates are normal in the last rows and columns of each matrix, and 0 elsewhere.
    """
    layout, xp = subject.compressor.layout, subject.kernels.xp
    last = np.zeros(layout.d, dtype=np.float32)
    for table in layout.tables:
        table.of(last)[table.n // 2 :, table.m // 2 :] = table.m > 1
    x = subject.updates("last rows", trials, clients) * subject.kernels.asarray(last if last.any() else 1 - last)
    memory = subject.compressor.begin(trials, clients, subject.kernels)
    memory = subject.compressor.exchange(0 * x, memory, subject.at(trials)).memory
    silent = xp.ones(trials, dtype=bool)
    for number in range(1, most + 1):
        done = subject.compressor.exchange(x, memory, subject.at(trials, number))
        memory, silent = done.memory, silent & (done.step == 0).all(axis=1)
        if not silent.any():
            break
    return _numpy(subject, silent)


def _join(messages: Sequence[Message]) -> Message:
    """One message with the parts of all phases."""
    return Message({f"{phase} {name}": part for phase, one in enumerate(messages) for name, part in one.parts.items()})


def _differ(subject: CompressorSubject, one: Message, other: Message) -> NDArray[np.bool_]:
    """Return for each trial and client whether two messages differ in a bit, (T, C); (T, 1) if they do in their form,
    or of parts for all clients; (1, 1) of messages without parts, such as a phase in which nothing is left to send."""
    trials = len(next(iter(one.parts.values()), [one]))
    found = np.full((trials, 1), _form(one) != _form(other))
    if not found.any():
        for name, part in one.parts.items():
            bits = raw(subject, part) != raw(subject, other.parts[name])
            found = found | bits.reshape(*part.shape[:2], -1).any(axis=2)
    return found


def _form(message: Message) -> dict[str, tuple[int, ...]]:
    return {name: part.shape for name, part in message.parts.items()}


def raw(subject: CompressorSubject, array: Array) -> NDArray[Any]:
    """Return an array as one of NumPy."""
    return np.asarray(subject.kernels.to_numpy(array))


def _numpy(subject: CompressorSubject, array: Array) -> Values:
    return raw(subject, array).astype(np.float64)


def relative(subject: CompressorSubject, actual: Array, wanted: Array, least: Any = TINY) -> Values:
    """Return the distance between vectors (T, n), over the length of the wanted vectors, (T,); 0 if both are 0. Wanted
    vectors that are shorter than `least`, a number or (T,), count as so long."""
    ours, theirs = _numpy(subject, actual), _numpy(subject, wanted)
    distance, length = np.linalg.norm(ours - theirs, axis=1), np.linalg.norm(theirs, axis=1)
    return np.asarray(distance / np.where(distance > 0, np.maximum(length, np.maximum(least, TINY)), 1.0))

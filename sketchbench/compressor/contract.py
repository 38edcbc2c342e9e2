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
from sketchbench.compressor.message import Message, Reply
from sketchbench.kernels import Array, Kernels

Values = NDArray[np.float64]  # (trials,)
KINDS = ("gaussian", "heavy-tailed", "sparse", "constant")
TINY = 1e-30  # a divisor in the place of 0
EXTREMES = (2.0**-100, 2.0**100)  # units of updates, exact in float32; their squares are not
EXACT = 2.0**-20  # deviations that are all smaller are float32 rounding, which has a mean of its own
NUMBERLESS = (float("nan"), float("inf"), float("-inf"))
NONZEROS = 16  # one of so many entries of a sparse vector is not 0


class MessageDeviation(NamedTuple):
    """A mean that should be 0: its distance from 0 in the first half of the draws, in standard errors, and the values
    of the second half, (draws,)."""

    score: float
    values: Values


class Bias(NamedTuple):
    """The deviation C(x) - x relative to ‖x‖, with a mean of 0 if C is unbiased: along x, along the largest mean
    deviation in the first half of the draws, and at the entry with the largest one there, in standard errors."""

    along: MessageDeviation
    direction: MessageDeviation
    entry: MessageDeviation


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

    def phases(self, x: Array, memory: Memory, at: At, summed: bool) -> tuple[list[Message], list[Reply]]:
        """Return messages and replies of all phases; the server gets the mean message if `summed`, else all."""
        messages: list[Message] = []
        replies: list[Reply] = []
        server = memory
        for _ in range(traits.phases(self.compressor)):
            messages.append(self.compressor.encode(x, memory, at, replies))
            received = messages[-1]
            if summed:
                received = traits.receive(self.compressor, received, at) if self.compressor.adds_up else received.mean()
            reply, server = self.compressor.answer(received, server, at, replies)
            replies.append(reply)
        return messages, replies

    def compress(self, x: Array, at: At) -> Array:
        """Return C(x) for vectors x (T, d), from the first round of a single client."""
        memory = self.compressor.begin(at.trials, 1, self.kernels)
        messages, replies = self.phases(x[:, None], memory, at, summed=False)
        return self.compressor.decode(messages[-1], at, replies[:-1])[:, 0]


def vectors(kind: str, random: np.random.Generator, count: int, d: int) -> NDArray[np.float32]:
    """Draw vectors (count, d) of a kind: `gaussian`, `heavy-tailed` (Student's t with 2 degrees of freedom), `sparse`
    (normal, with most entries 0), or `constant` (entries ±1)."""
    if kind == "heavy-tailed":
        x = random.standard_t(2, (count, d))
    elif kind == "constant":
        x = random.choice([-1.0, 1.0], (count, d))
    else:
        x = random.standard_normal((count, d))
    if kind == "sparse":
        kept = random.permuted(np.tile(np.arange(d), (count, 1)), axis=1) < max(1, d // NONZEROS)
        x = x * kept
    return x.astype(np.float32)


def bias(subject: CompressorSubject, draws: int, block: int) -> Bias:
    """Measure the deviation of C(x) from one normal vector x over `draws` keys, in blocks of `block` draws."""
    d = subject.compressor.layout.d
    x = vectors("gaussian", subject.random("bias"), 1, d)
    size = float(np.linalg.norm(x))
    coded = []
    for first in range(0, draws, block):
        count = min(block, draws - first)
        shared = subject.kernels.asarray(np.repeat(x, count, axis=0))
        coded.append(_numpy(subject, subject.compress(shared, subject.at(count, part=f"bias {first}"))))
    off = (np.concatenate(coded) - x.astype(np.float64)) / size
    search, measure = off[: draws // 2], off[draws // 2 :]
    mean, error = search.mean(axis=0), search.std(axis=0) / len(search) ** 0.5
    scores = abs(mean) / np.maximum(error, error.mean() + TINY)  # the error of one entry may be small by chance
    worst, length = int(scores.argmax()), float(np.linalg.norm(mean))
    towards = mean / max(length, TINY)
    along, judged = (half @ x[0].astype(np.float64) / size for half in (search, measure))
    return Bias(
        _deviation(abs(along.mean()) / (along.std() / len(search) ** 0.5 + TINY), judged),
        _deviation(length / (float(np.linalg.norm(error)) + TINY), measure @ towards),
        _deviation(float(scores[worst]), measure[:, worst]),
    )


def _deviation(score: float, values: Values) -> MessageDeviation:
    """Return the deviation, or 0 if all values are rounding."""
    return MessageDeviation(score, values) if abs(values).max() > EXACT else MessageDeviation(0.0, 0 * values)


def losses(subject: CompressorSubject, kind: str, trials: int) -> Values:
    """Return ‖C(x) - x‖² / ‖x‖² for random vectors x of a kind, (trials,)."""
    x = vectors(kind, subject.random(kind), trials, subject.compressor.layout.d)
    coded = subject.compress(subject.kernels.asarray(x), subject.at(trials, part=kind))
    exact = x.astype(np.float64)
    lost: Values = ((_numpy(subject, coded) - exact) ** 2).sum(axis=1) / (exact**2).sum(axis=1)
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
        return _relative(subject, rounds.steps + kept.mean(axis=1, dtype="float64"), rounds.updates)
    trials = len(rounds.steps)
    steps = rounds.steps[:, None].astype("float32")
    sketched = subject.compressor.encode(steps, rounds.memory, subject.at(trials), ()).parts["cells"][:, 0]
    return _relative(subject, sketched + rounds.memory.server, rounds.cells)


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
    return _relative(subject, one, other)


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
    return 1.0 - _equal(subject, *joined).astype(np.float64)


def check_renewal(subject: CompressorSubject, trials: int) -> tuple[Values, Values]:
    """Check whether operators are drawn anew as the compressor states, by the messages of one vector.

    Returns two arrays (T,) of 1 for a failure and 0 else: the next round's operator is the same though `fresh`, or
    another though not `fresh`; the next trial has the same operator.
    """
    x = subject.kernels.xp.repeat(subject.updates("renewal", 1, 1), trials, axis=0)
    memory = subject.compressor.begin(trials, 1, subject.kernels)
    rounds = (subject.phases(x, memory, subject.at(trials, number), summed=False)[0] for number in (0, 1))
    now, later = map(_join, rounds)
    same = _equal(subject, now, later)
    shifted = Message({name: subject.kernels.xp.roll(part, 1, axis=0) for name, part in now.parts.items()})
    wrong = same if traits.fresh(subject.compressor) else ~same
    return wrong.astype(np.float64), _equal(subject, now, shifted).astype(np.float64)


def scale_distance(subject: CompressorSubject, trials: int, clients: int, rounds: int) -> Values:
    """Return the relative distance of the steps of updates in the units EXTREMES from the steps of the same updates
    in unit 1, (T,), for the worse unit; 1 if float32 can't hold the sums."""
    plain = _steps(subject, trials, clients, rounds, 1.0)
    distances = []
    for unit in EXTREMES:
        try:
            scaled = _steps(subject, trials, clients, rounds, unit)
        except OverflowError:
            return np.ones(trials)
        distances.append(_relative(subject, scaled.astype("float64") / unit, plain))
    return np.max(distances, axis=0)


def _steps(subject: CompressorSubject, trials: int, clients: int, rounds: int, unit: float) -> Array:
    """The steps of some rounds of updates in a unit, (T, rounds d)."""
    memory, steps = subject.compressor.begin(trials, clients, subject.kernels), []
    for number in range(rounds):
        x = subject.updates(f"unit, round {number}", trials, clients)
        done = subject.compressor.exchange(x * x.dtype.type(unit), memory, subject.at(trials, number))
        steps.append(done.step)
        memory = done.memory
    return subject.kernels.xp.concatenate(steps, axis=1)


def detect_traces(subject: CompressorSubject, rounds: PlayedRounds, clients: int, number: int) -> Values:
    """Return 1 for each trial whose memory changes by an update with a NaN or infinity, else 0: (T,). All are 1 if
    round `number` accepts the update."""
    trials = len(rounds.steps)
    before = [array.copy() for array in door.arrays(tuple(rounds.memory))]
    for entry in NUMBERLESS:
        x = subject.updates("no number", trials, clients)
        x[:, -1, -1] = entry
        try:
            subject.compressor.exchange(x, rounds.memory, subject.at(trials, number))
        except (ValueError, ArithmeticError):
            continue
        return np.ones(trials)
    same = np.ones(trials, dtype=bool)
    for old, new in zip(before, door.arrays(tuple(rounds.memory)), strict=True):
        same &= _raw(subject, old == new).reshape(trials, -1).all(axis=1)
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


def _equal(subject: CompressorSubject, one: Message, other: Message) -> NDArray[np.bool_]:
    """Return whether all parts of two messages are equal bit for bit, in each trial (T,)."""
    equal: Sequence[Any] = [
        (_raw(subject, part) == _raw(subject, other.parts[name])).reshape(len(part), -1).all(axis=1)
        for name, part in one.parts.items()
    ]
    return np.all(equal, axis=0)


def _raw(subject: CompressorSubject, array: Array) -> NDArray[Any]:
    return np.asarray(subject.kernels.to_numpy(array))


def _numpy(subject: CompressorSubject, array: Array) -> Values:
    return _raw(subject, array).astype(np.float64)


def _relative(subject: CompressorSubject, actual: Array, wanted: Array) -> Values:
    """The distance between vectors (T, n), over the length of the wanted vectors, (T,); 0 where both are 0."""
    ours, theirs = _numpy(subject, actual), _numpy(subject, wanted)
    distance, length = np.linalg.norm(ours - theirs, axis=1), np.linalg.norm(theirs, axis=1)
    return np.asarray(distance / np.where(distance > 0, np.maximum(length, TINY), 1.0))

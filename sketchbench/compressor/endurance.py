"""Long runs of a compressor: the checks of every round, every number of clients, and every key.

A run has `windows`: PERIOD rounds in a row from round 0 on, and as many from a late round on. A defect in one round of
every p is met in both, for each period p up to PERIOD.
"""

import dataclasses
import pickle
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sketchbench.base import seeds
from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Exchange, Memory
from sketchbench.compressor.contract import (
    KINDS,
    CompressorSubject,
    Values,
    raw,
    relative,
    round_means,
    vectors,
    windows,
)
from sketchbench.compressor.message import Message
from sketchbench.compressor.parties import Ask, Change, SentRound, party, rooted, same, to_bytes
from sketchbench.kernels import Array
from sketchbench.measure.summary import ROUNDING

LEAST = 0.01  # of a client's length: a shorter mean counts as so long, as it may be the clients' rounding alone
IDLE = 7  # in one of so many rounds there are updates of zeros
CROWDS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64)  # numbers of clients
MANY = 300  # trials side by side; operators that repeat with a period up to MANY / 2 are seen
SEVERAL = 8  # clients, each of which must be unbiased
Events = dict[str, Values]  # in each trial, (T,)


class RunRound(NamedTuple):
    """A round of a long run: the updates plus the clients' memory, (T, C, d), the memory before it, and its result."""

    carried: Array
    memory: Memory
    at: At
    done: Exchange

    @property
    def message(self) -> Message:
        """The clients' messages, with the parts of all phases."""
        return Message({name: part for one in self.done.messages for name, part in one.parts.items()})


def play(subject: CompressorSubject, numbers: range, trials: int, clients: int) -> Iterator[RunRound]:
    """Run these rounds with updates of all kinds in turn. Every round begins as after a restart, with a new compressor
    and with a memory from a file."""
    compressor = subject.compressor
    memory = compressor.begin(trials, clients, subject.kernels)
    for number in numbers:
        x = _updates(subject, KINDS[number % len(KINDS)], number, trials, clients)
        at = party(subject.at(trials, number, "endurance"), own=rooted(1))
        carried = x if memory.clients is None else x + memory.clients
        done = dataclasses.replace(compressor).exchange(x, memory, at)
        yield RunRound(carried, memory, at, done)
        memory = pickle.loads(pickle.dumps(done.memory))


def _updates(subject: CompressorSubject, kind: str, number: int, trials: int, clients: int) -> Array:
    """Random updates; in one of IDLE rounds those of the first trial, and of a client of the last one, are 0."""
    drawn = vectors(kind, subject.random(f"endurance {number}"), trials * clients, subject.compressor.layout)
    x = drawn.reshape(trials, clients, -1)
    if number % IDLE == IDLE - 1:
        x[0] = x[-1, number % clients] = 0
    return subject.kernels.asarray(x)


def served(subject: CompressorSubject, ask: Ask, played: RunRound, first: bool) -> Values:
    """Return 1 for each trial in which a server in another process, which gets the bytes of the messages, makes another
    step or memory of them, else 0: (T,)."""
    at, done = played.at, played.done
    phases = [to_bytes(message, subject.kernels) for message in done.messages]
    clients = played.carried.shape[1]
    theirs = ask(SentRound(at.seed, at.round, at.trials, clients, phases, first))
    ours = [raw(subject, array) for array in (done.step, *door.arrays(done.memory.server))]
    return 1.0 - same(ours, theirs, at.trials).astype(np.float64)


def audit(subject: CompressorSubject, played: RunRound) -> Events:
    """Return the distances by which a round violates the compressor's statements, relative to the summands, and the
    round's bytes, relative to the limit."""
    compressor, trials = subject.compressor, played.at.trials
    sent = sum(message.nbytes for message in played.done.messages)
    found = {"bytes": np.full(trials, max(sent, played.done.bytes_up) / compressor.limit)}
    if compressor.feedback != "none" and traits.conserves(compressor):
        found["feedback"] = _lost(subject, played)
    if compressor.adds_up or traits.phases(compressor) == 1:
        name = "summed" if compressor.adds_up else "repeated"
        found[name] = relative(subject, _other_step(subject, played), played.done.step, _least(subject, played))
    if compressor.linear:
        found["linear"] = _nonlinearity(subject, played)
    return found


def losses(subject: CompressorSubject, played: RunRound, delta: float) -> Values:
    """Return ‖C(x) - x‖² / ‖x‖² of the client that loses most in a round, over 1 - δ and rounding, (T,)."""
    compressor, (carried, _, at, done) = subject.compressor, played
    decoded = done.messages[-1].decoded_by(lambda: compressor.decode(done.messages[-1], at, done.replies[:-1]))
    shape = (-1, compressor.layout.d)
    lost = relative(subject, decoded.reshape(shape), carried.reshape(shape)).reshape(at.trials, -1)
    return np.asarray(lost.max(axis=1) ** 2 / (1 - delta + ROUNDING))


def _least(subject: CompressorSubject, played: RunRound) -> Values:
    """LEAST of the mean length of a client's update and memory, (T,)."""
    return np.asarray(LEAST * np.linalg.norm(raw(subject, played.carried), axis=2).mean(axis=1))


def _lost(subject: CompressorSubject, played: RunRound) -> Values:
    """The part of a round's updates and memory that is neither in the step nor in the new memory."""
    before, after, step = played.memory, played.done.memory, played.done.step
    if after.clients is not None:
        kept = after.clients.mean(axis=1, dtype="float64")
        return relative(subject, step + kept, played.carried.mean(axis=1, dtype="float64"), _least(subject, played))
    sketched = subject.compressor.encode(step[:, None], before, played.at, ()).parts["cells"][:, 0].astype("float64")
    cells = played.done.messages[-1].parts["cells"].mean(axis=1, dtype="float64")
    return relative(subject, sketched + after.server, cells + before.server, _least(subject, played))


def _other_step(subject: CompressorSubject, played: RunRound) -> Array:
    """The step, from each message in place of the sum if messages add up, else from each message twice, the second
    time in the opposite order."""
    compressor, (_, memory, at, done) = subject.compressor, played
    if compressor.adds_up:
        return subject.phases(played.carried, memory, at, summed=False)[1][-1].content
    parts = done.messages[-1].parts.items()
    twice = Message({name: subject.kernels.xp.concatenate([part, part[:, ::-1]], axis=1) for name, part in parts})
    return compressor.answer(twice, memory, at, ())[0].content


def _nonlinearity(subject: CompressorSubject, played: RunRound) -> Values:
    """The distance of the mean message from the message of the mean update, over the mean length of messages."""
    mean = played.carried.mean(axis=1, keepdims=True)
    alone = subject.compressor.encode(mean, played.memory, played.at, ())
    worst = np.zeros(played.at.trials)
    for name, part in played.message.parts.items():
        each = raw(subject, part).reshape(*part.shape[:2], -1).astype(np.float64)
        off = np.linalg.norm(each.mean(axis=1) - raw(subject, alone.parts[name]).reshape(len(part), -1), axis=1)
        size = np.linalg.norm(each, axis=2).mean(axis=1)
        worst = np.maximum(worst, off / np.where(off > 0, size, 1.0))
    return worst


def crowds(subject: CompressorSubject) -> Events:
    """Audit a round of each number of CROWDS clients, whose updates have other kinds, and two rounds of MANY trials;
    the worst of them, (1,)."""
    found = []
    for trials, clients in (*((1, clients) for clients in CROWDS), (MANY, 1)):
        one = dataclasses.replace(subject, seed=subject.seed + clients)
        for played in play(one, range(clients, clients + 1 + (trials > 1)), trials, clients):
            found.append({name: values.max(keepdims=True) for name, values in audit(one, played).items()})
    return worst(found)


def along_of_clients(subject: CompressorSubject) -> Values:
    """Return the mean deviation along one vector of the messages of each of SEVERAL clients, in MANY trials, over what
    is no chance: (SEVERAL,)."""
    x = vectors("gaussian", subject.random("clients"), 1, subject.compressor.layout)
    sent = subject.kernels.asarray(np.broadcast_to(x, (MANY, SEVERAL, x.shape[1])).copy())
    at = subject.at(MANY, part="clients")
    memory = subject.compressor.begin(MANY, SEVERAL, subject.kernels)
    messages, replies = subject.phases(sent, memory, at, summed=False, decided=False)
    decoded = raw(subject, subject.compressor.decode(messages[-1], at, replies)).astype(np.float64)
    unit = x[0].astype(np.float64) / float((x.astype(np.float64) ** 2).sum())
    return round_means(((decoded - x) @ unit).T)


def crowding(subject: CompressorSubject) -> Values | None:
    """Return the distance of the steps of the first trials, of one and of two, from their steps among MANY: (3,). None
    with randomness of the clients, which is drawn for all trials together."""
    first = _messages(subject, 1, 0, _first, rooted(0))
    if first != _messages(subject, 1, 0, _first, rooted(1)):
        return None
    x, compressor = subject.updates("crowding", MANY, 1), subject.compressor
    some, few, many = (
        compressor.exchange(x[:trials], compressor.begin(trials, 1, subject.kernels), subject.at(trials)).step
        for trials in (1, 2, MANY)
    )
    return np.concatenate([relative(subject, steps, many[: len(steps)]) for steps in (some, few)])


def worst(several: Sequence[Events]) -> Events:
    """Return the largest value of each quantity in each trial."""
    return {name: np.max([one[name] for one in several], axis=0) for name in several[0]}


def freshness_of_keys(subject: CompressorSubject, compressed: bool) -> Values | None:
    """Return 1 for each trial with a wrong key in a long run, else 0: (T,); by the messages of one vector, with the
    clients' randomness held.

    Messages of two rounds differ if a key is `fresh`, and are equal if it is not; without a key, they depend on no key.
    They depend on the root seed by keys and by the clients' randomness alone. None with a key and without compression,
    as operators need not differ.
    """
    held = subject.at(2, 0, "freshness")
    other = dataclasses.replace(subject, seed=subject.seed + 1)
    by_seed = _changes([_messages(one, 1, 0, lambda _: held, lambda _: held) for one in (subject, other)])
    if by_seed.any():
        return by_seed
    if not traits.keyed(subject.compressor):
        return _changes([_messages(subject, 1, 0, keys, _first) for keys in (rooted(0), rooted(1))])
    if not compressed:
        return None
    several = [_messages(subject, 1, number, _any, _first) for number in _numbers(subject)]
    return _repeats(several) if traits.fresh(subject.compressor) else _changes(several)


def freshness_of_clients(subject: CompressorSubject, clients: int) -> Values | None:
    """Return 1 for each trial in which two rounds or clients of a long run have the same randomness, else 0: (T,); by
    the messages of one vector, with the key held. None if the clients' randomness decides nothing."""
    if _messages(subject, clients, 0, _first, rooted(0)) == _messages(subject, clients, 0, _first, rooted(1)):
        return None
    return _repeats([_messages(subject, clients, number, _first, _any) for number in _numbers(subject)])


def freshness_of_trials(subject: CompressorSubject) -> Values:
    """Return the share of MANY trials whose message of one vector is that of another trial, (1,)."""
    x = np.repeat(vectors("gaussian", subject.random("trials"), 1, subject.compressor.layout)[None], MANY, axis=0)
    sent = [one for (one,) in _sent(subject, subject.kernels.asarray(x), subject.at(MANY, part="trials"))]
    return np.array([np.mean([sent.count(one) > 1 for one in sent])])


def _any(at: At) -> At:
    return at


def _first(at: At) -> At:
    return at._replace(round=0)


def _numbers(subject: CompressorSubject) -> list[int]:
    return [number for window in windows(subject) for number in window]


def _messages(subject: CompressorSubject, clients: int, number: int, keys: Change, own: Change) -> list[list[bytes]]:
    """The messages of one normal vector, in two trials."""
    x = vectors("gaussian", seeds.generator(0, contract="freshness"), 1, subject.compressor.layout)
    everywhere = np.broadcast_to(x, (2, clients, x.shape[1])).copy()
    return _sent(subject, subject.kernels.asarray(everywhere), party(subject.at(2, number, "freshness"), keys, own))


def _sent(subject: CompressorSubject, x: Array, at: At) -> list[list[bytes]]:
    """The bytes of the messages of each trial and client."""
    memory = subject.compressor.begin(at.trials, x.shape[1], subject.kernels)
    messages, _ = subject.phases(x, memory, at, subject.compressor.adds_up, decided=False)
    parts = [raw(subject, part) for message in messages for part in message.parts.values()]
    return [[b"".join(part[t, c].tobytes() for part in parts) for c in range(x.shape[1])] for t in range(at.trials)]


def _repeats(rounds: list[list[list[bytes]]]) -> Values:
    """Return 1 for each trial with two equal messages, else 0."""
    each = ([one for several in trial for one in several] for trial in zip(*rounds, strict=True))
    return np.array([float(len(set(several)) < len(several)) for several in each])


def _changes(rounds: list[list[list[bytes]]]) -> Values:
    """Return 1 for each trial with messages that differ from round to round, else 0."""
    return np.array([float(any(one != trial[0] for one in trial)) for trial in zip(*rounds, strict=True)])


def deterministic(subject: CompressorSubject) -> bool:
    """Return whether neither a key nor the clients' randomness changes the messages of a normal vector."""
    x = subject.updates("deterministic", 1, 1)
    one, other = (_sent(subject, x, party(subject.at(1), rooted(root), rooted(root))) for root in (0, 1))
    return not traits.keyed(subject.compressor) and one == other

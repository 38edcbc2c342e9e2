"""Long runs of a compressor: what must hold in every round, for every number of clients, and of every key.

A run has PERIOD rounds in a row from round 0 on, and as many from a late round on. A defect in one round of every p is
met in both, for each period p up to PERIOD.
"""

import dataclasses
import pickle
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Exchange, Memory
from sketchbench.compressor.contract import KINDS, CompressorSubject, Values, raw, relative, vectors
from sketchbench.compressor.message import Message
from sketchbench.compressor.parties import Ask, Change, SentRound, party, rooted, same, to_bytes
from sketchbench.kernels import Array

PERIOD = 32
LATE = (2**10, 2**20)  # a run's late round is one of these
CROWDS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64)  # numbers of clients
Events = dict[str, Values]  # in each trial, (T,)


class Played(NamedTuple):
    """A round of a long run: the updates plus the clients' memory, (T, C, d), the memory before it, and its result."""

    carried: Array
    memory: Memory
    at: At
    done: Exchange

    @property
    def message(self) -> Message:
        """The clients' messages, with the parts of all phases."""
        return Message({name: part for one in self.done.messages for name, part in one.parts.items()})


def windows(subject: CompressorSubject) -> tuple[range, range]:
    """Return the numbers of the rounds of a long run: the first ones, and late ones."""
    late = int(subject.random("late").integers(*LATE))
    return range(PERIOD), range(late, late + PERIOD)


def play(subject: CompressorSubject, numbers: range, trials: int, clients: int) -> Iterator[Played]:
    """Run these rounds with updates of all kinds in turn. Every round begins as after a restart, with a new compressor
    and with a memory from a file."""
    compressor = subject.compressor
    memory = compressor.begin(trials, clients, subject.kernels)
    for number in numbers:
        x = _updates(subject, KINDS[number % len(KINDS)], number, trials, clients)
        at = party(subject.at(trials, number, "endurance"), own=rooted(1))
        carried = x if memory.clients is None else x + memory.clients
        done = dataclasses.replace(compressor).exchange(x, memory, at)
        yield Played(carried, memory, at, done)
        memory = pickle.loads(pickle.dumps(done.memory))


def _updates(subject: CompressorSubject, kind: str, number: int, trials: int, clients: int) -> Array:
    drawn = vectors(kind, subject.random(f"endurance {number}"), trials * clients, subject.compressor.layout)
    return subject.kernels.asarray(drawn.reshape(trials, clients, -1))


def served(subject: CompressorSubject, ask: Ask, played: Played, first: bool) -> Values:
    """Return 1 for each trial in which a server in another process, which gets the bytes of the messages, makes another
    step or memory of them, else 0: (T,)."""
    at, done = played.at, played.done
    phases = [to_bytes(message, subject.kernels) for message in done.messages]
    clients = played.carried.shape[1]
    theirs = ask(SentRound(at.seed, at.round, at.trials, clients, phases, first))
    ours = [raw(subject, array) for array in (done.step, *door.arrays(done.memory.server))]
    return 1.0 - same(ours, theirs, at.trials)


def audit(subject: CompressorSubject, played: Played) -> Events:
    """Return the distances by which a round breaks what the compressor states, relative to what is added up."""
    compressor, found = subject.compressor, {}
    if compressor.feedback != "none" and traits.conserves(compressor):
        found["feedback"] = _lost(subject, played)
    if compressor.adds_up or traits.phases(compressor) == 1:
        name = "summed" if compressor.adds_up else "repeated"
        found[name] = relative(subject, _other_step(subject, played), played.done.step)
    if compressor.linear:
        found["linear"] = _nonlinearity(subject, played)
    return found


def _lost(subject: CompressorSubject, played: Played) -> Values:
    """The part of a round's updates and memory that is neither in the step nor in the new memory."""
    before, after, step = played.memory, played.done.memory, played.done.step
    if subject.compressor.feedback == "client":
        carried, kept = (one.mean(axis=1, dtype="float64") for one in (played.carried, after.clients))
        return relative(subject, step + kept, carried)
    sketched = subject.compressor.encode(step[:, None], before, played.at, ()).parts["cells"][:, 0].astype("float64")
    cells = played.done.messages[-1].parts["cells"].mean(axis=1, dtype="float64")
    return relative(subject, sketched + after.server, cells + before.server)


def _other_step(subject: CompressorSubject, played: Played) -> Array:
    """The step, from each message in place of the sum if messages add up, else from each message twice."""
    compressor, (_, memory, at, done) = subject.compressor, played
    if compressor.adds_up:
        return subject.phases(played.carried, memory, at, summed=False)[1][-1].content
    parts = done.messages[-1].parts.items()
    twice = Message({name: subject.kernels.xp.concatenate([part, part], axis=1) for name, part in parts})
    return compressor.answer(twice, memory, at, ())[0].content


def _nonlinearity(subject: CompressorSubject, played: Played) -> Values:
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
    """Audit a round of each number of CROWDS clients, whose updates have other kinds; the worst of them, (1,)."""
    found = []
    for clients in CROWDS:
        one = dataclasses.replace(subject, seed=subject.seed + clients)
        found.append(audit(one, next(play(one, range(clients, clients + 1), 1, clients))))
    return worst(found)


def worst(several: Sequence[Events]) -> Events:
    """Return the largest value of each quantity in each trial."""
    return {name: np.max([one[name] for one in several], axis=0) for name in several[0]}


class Freshness(NamedTuple):
    """Two arrays (T,) of 1 for a failure, else 0: `key`, of operators, and `own`, of the clients' randomness; None if
    there is none."""

    key: Values | None
    own: Values | None


def freshness(subject: CompressorSubject, keyed: bool, clients: int = 2) -> Freshness:
    """Return whether randomness is drawn anew, by the messages of one vector in all rounds of a long run.

    With the clients' randomness held, messages of two rounds differ if a key is `fresh`, and else are the same; without
    a key they don't depend on one (`keyed` is False at compression 1, too, where operators need not differ). With the
    key held, messages of any two rounds and clients differ, if the clients' randomness decides anything.
    """
    compressor, trials = subject.compressor, 2
    x = vectors("gaussian", subject.random("freshness"), 1, compressor.layout)
    everywhere = subject.kernels.asarray(np.broadcast_to(x, (trials, clients, x.shape[1])).copy())
    rounds = [number for window in windows(subject) for number in window]
    first: Change = lambda at: at._replace(round=0)  # noqa: E731

    def sent(number: int, keys: Change, own: Change) -> list[list[bytes]]:
        return _sent(subject, everywhere, party(subject.at(trials, number, "freshness"), keys, own))

    key = None
    if keyed:
        several = [[one[:1] for one in sent(number, lambda at: at, first)] for number in rounds]
        key = _repeats(several) if traits.fresh(compressor) else _changes(several)
    elif not traits.keyed(compressor):
        key = _changes([sent(0, keys, first) for keys in (rooted(0), rooted(1))])
    if sent(0, first, rooted(0)) == sent(0, first, rooted(1)):
        return Freshness(key, None)
    return Freshness(key, _repeats([sent(number, first, lambda at: at) for number in rounds]))


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

"""A round as one party knows it: clients have randomness that the server lacks, and a server has only bytes."""

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sketchbench.base import seeds
from sketchbench.compressor import door, traits
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import Message, Reply
from sketchbench.kernels import Kernels

PATIENCE = 120  # seconds that a server may take for a round at a small layout
Change = Callable[[At], At]


def party(at: At, keys: Change = lambda at: at, own: Change = lambda at: at) -> At:
    """Return the same round with other randomness: keys are those of `keys(at)`, and the clients' own randomness is
    that of `own(at)`."""

    class PartyAt(At):
        def key(self, part: str, *, every_round: bool = True) -> int:
            return At.key(keys(self), part, every_round=every_round)

        def private(self, part: str) -> np.random.Generator:
            return At.private(own(self), part)

    return PartyAt(*at)


def rooted(root: int) -> Change:
    """Return a change of a round's root seed, which gives other independent randomness for every `root`."""
    return lambda at: at._replace(seed=seeds.key(at.seed, version=root))


class SentRound(NamedTuple):
    """The clients' messages of a round: the bytes of each phase, and the number of clients; `at` has no randomness of
    the clients. A server forgets its memory in the `first` round."""

    seed: int
    round: int
    trials: int
    clients: int
    phases: list[bytes]
    first: bool


def to_bytes(message: Message, kernels: Kernels) -> bytes:
    """Return the bytes of all parts of messages (T, C), one part after the other."""
    return b"".join(np.asarray(kernels.to_numpy(part)).tobytes() for part in message.parts.values())


def from_bytes(form: Message, sent: bytes, kernels: Kernels) -> Message:
    """Return the messages (T, C) of these bytes. `form` has messages with the same names, types and shapes of parts,
    which must not depend on the update; raises TypeError or ValueError if the bytes don't fit it."""
    parts, first = {}, 0
    for name, part in form.parts.items():
        last = first + part.nbytes
        received = np.ndarray(part.shape, part.dtype, buffer=sent[first:last])  # TypeError for too few bytes
        parts[name] = kernels.asarray(received.copy())
        first = last
    if first != len(sent):
        raise ValueError(f"{len(sent)} bytes were sent, and messages of other updates have {first}")
    return Message(parts)


Ask = Callable[[SentRound], Any]  # the step and the memory's arrays, or None if the server fails


@contextmanager
def server(compressor: Compressor, kernels: Kernels) -> Iterator[Ask]:
    """Start a server in a process of its own. It is forked before clients encode, so it knows of their updates only the
    bytes that it receives; no attribute, cache or global variable can reveal more.

    Yields a function that returns the server's step (T, d) and the arrays of its memory after a round, or None if the
    server raised an error. Raises TimeoutError if a round takes more than PATIENCE seconds.
    """
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_serve, args=(theirs, compressor, kernels), daemon=True)
    with warnings.catch_warnings():  # kernels use no threads in a forked child
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()

    def ask(sent: SentRound) -> Any:
        ours.send(sent)
        if not ours.poll(PATIENCE):
            raise TimeoutError(f"the server of {type(compressor).__name__} took more than {PATIENCE} s for a round")
        return ours.recv()

    try:
        yield ask
    finally:
        process.kill()
        process.join()
        ours.close()
        theirs.close()


def _serve(pipe: Connection, compressor: Compressor, kernels: Kernels) -> None:
    memory = Memory()
    while True:
        sent: SentRound = pipe.recv()
        try:
            if sent.first:
                memory = compressor.begin(sent.trials, sent.clients, kernels)
            step, memory = _answer(compressor, sent, memory, kernels)
            pipe.send([kernels.to_numpy(array) for array in (step, *door.arrays(memory.server))])
        except Exception:
            pipe.send(None)


def _answer(compressor: Compressor, sent: SentRound, memory: Memory, kernels: Kernels) -> tuple[Any, Memory]:
    """The server's step and memory after a round. It learns the form of messages from random updates of its own."""
    at = At(kernels, sent.seed, sent.round, sent.trials)
    shape = (sent.trials, sent.clients, compressor.layout.d)
    decoys = kernels.asarray(np.random.default_rng().standard_normal(shape, dtype=np.float32))
    replies: list[Reply] = []
    server = memory
    for phase in sent.phases:
        form = compressor.encode(decoys, memory, at, replies)
        message = traits.receive(compressor, from_bytes(form, phase, kernels), at)
        reply, server = compressor.answer(message, server, at, replies)
        replies.append(reply)
    return replies[-1].content, server


def same(ours: list[NDArray[Any]], theirs: Any, trials: int) -> NDArray[np.bool_]:
    """Return whether the server's arrays (T, ...) equal ours bit for bit, in each trial (T,)."""
    if theirs is None or [array.shape for array in ours] != [array.shape for array in theirs]:
        return np.zeros(trials, dtype=bool)
    equal = [(one == other).reshape(trials, -1).all(axis=1) for one, other in zip(ours, theirs, strict=True)]
    return np.all(equal, axis=0)

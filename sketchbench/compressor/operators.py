"""Compressors that send a sketch of the update, and the operators that client and server draw for it."""

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sketchbench import kernels as backends
from sketchbench.compressor.compressor import At, Compressor, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.kernels import Array
from sketchbench.sketch.family import Family, SizeError
from sketchbench.sketch.operator import Sketch

MakeFamily = Callable[..., Family]  # the `family` of a config, called with d and b


@dataclass(frozen=True)
class SketchedUpdate(Compressor):
    """A compressor whose message is Rx, the sketch of an update x by an operator R of each trial.

    Arguments:
        family: of R, with as many rows as the limit has words, or the next smaller number that the family takes.
    """

    adds_up: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    keyed: ClassVar[bool] = True

    family: MakeFamily

    def check(self) -> None:
        self.needs(WORD)
        self.needs(WORD * self.sketch_family.b)

    @functools.cached_property
    def sketch_family(self) -> Family:
        """The family of R with its sizes d and b."""
        return fit_family(self.family, self.layout.d, self.limit // WORD)

    @abstractmethod
    def _key(self, at: At) -> int:
        """The key that the operators of a round are drawn from."""

    def operators(self, at: At) -> Sketch:
        """The operators of a round, one for each trial."""
        return stack(self.sketch_family, self._key(at), at)

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        return Message({"cells": self.operators(at).sketch(x, check_finite=False)})


def fit_family(make: MakeFamily, d: int, words: int) -> Family:
    """Return the family of sketches of d entries with the most rows that it takes, up to min(d, words).

    Raises SizeError if it takes no number of rows, with the family's reason for refusing one row.
    """
    for b in range(min(d, words), 1, -1):
        try:
            return make(d=d, b=b)
        except SizeError:
            continue
    return make(d=d, b=1)


def stack(family: Family, key: int, at: At) -> Sketch:
    """Return the operators of all trials, as one stack."""
    return _stack(family, key, at.trials, at.kernels.NAME)


def forget() -> None:
    """Empty the cache of operators, so that the next call draws them anew."""
    _stack.cache_clear()


@functools.lru_cache(maxsize=4)  # client and server of a round apply the same operators
def _stack(family: Family, key: int, trials: int, kernels: str) -> Sketch:
    return family.draw(key, operators=trials, kernels=kernels)


def on_cpu(at: At) -> At:
    """Return the same round with a backend on the CPU, where torch's tensors are."""
    return at if at.kernels.NAME != "cupy" else at._replace(kernels=backends.load("numba"))

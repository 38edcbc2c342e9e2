"""What travels between clients and server, as arrays in the type that travels, so that its bytes can be counted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sketchbench.kernels import Array

WORD = 4  # bytes of a float32
ALLOWANCE = 8  # bytes beyond a message's share of the dense update, for norms and the like
KEY = 8  # bytes of a key, which the server draws and sends to all clients


class Layout(NamedTuple):
    """How the d entries of an update lie in a network's parameters.

    Arguments:
        shapes: of the parameters, in their order in the flat update; a matrix is (outputs, inputs).
    """

    shapes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> list[int]:
        """Entries of each parameter."""
        return [math.prod(shape) for shape in self.shapes]

    @property
    def d(self) -> int:
        """Entries of an update."""
        return sum(self.sizes)

    @property
    def nbytes(self) -> int:
        """Of an update that is sent as it is, in float32."""
        return WORD * self.d


@dataclass(frozen=True)
class Message:
    """What each of C clients sends, in each of T trials.

    Arguments:
        parts: by name, arrays of shape (T, C, ...), in the type that travels.
    """

    parts: Mapping[str, Array]

    @property
    def nbytes(self) -> int:
        """Of one client's."""
        return sum(int(part[0, 0].nbytes) for part in self.parts.values())

    def mean(self) -> "Message":
        """All that a server learns that sees the clients' sum and their number, with C = 1, in the types that travel
        (so that integers, and numbers of 16 bits, are rounded)."""
        means = {name: part.mean(axis=1, keepdims=True).astype(part.dtype) for name, part in self.parts.items()}
        return Message(means)


def byte_limit(layout: Layout, compression: float) -> int:
    """The bytes that a client may send in a round at a compression: its share of all, and a key more."""
    return math.floor(layout.nbytes / compression) + ALLOWANCE


class Reply(NamedTuple):
    """What the server sends to every client.

    Arguments:
        content: arrays of T trials, as the compressor needs them: the step (T, d) in the last reply of a round.
        nbytes: what a client receives of it.
    """

    content: Array
    nbytes: int


def sparse_nbytes(step: Array) -> int:
    """Bytes of the first of T steps (T, d), as values and places, or all of its entries where that is shorter."""
    entries = int((step[0] != 0).sum())
    return min(entries * (WORD + place_type(step.shape[1]).itemsize), WORD * step.shape[1])


def place_type(d: int) -> np.dtype[Any]:
    """The smallest unsigned integers that number d places."""
    return np.dtype("uint16" if d <= 2**16 else "uint32")

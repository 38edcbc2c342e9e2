"""Messages between clients and server: arrays in the types that are sent, so that their bytes can be counted."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sketchbench.kernels import Array

WORD = 4  # bytes of a float32
ALLOWANCE = 8  # bytes that a message may have beyond its share of the dense update, such as for a norm
KEY = 8  # bytes of the key that the server draws and sends to all clients


class Layout(NamedTuple):
    """The shapes of a network's parameters, which divide the d entries of a flat update.

    Arguments:
        shapes: of the parameters, in their order in the flat update; a matrix is (outputs, inputs).
    """

    shapes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> list[int]:
        """The number of entries of each parameter."""
        return [math.prod(shape) for shape in self.shapes]

    @property
    def d(self) -> int:
        """The number of entries of an update."""
        return sum(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of an uncompressed update, in float32."""
        return WORD * self.d


@dataclass(frozen=True)
class Message:
    """The messages of C clients in T trials.

    Arguments:
        parts: arrays of shape (T, C, ...) by name, in the types that are sent.
    """

    parts: Mapping[str, Array]

    @property
    def nbytes(self) -> int:
        """Bytes of one client's message."""
        return sum(int(part[0, 0].nbytes) for part in self.parts.values())

    def mean(self) -> "Message":
        """The mean of the clients' messages, with C = 1: all that secure aggregation shows to a server. It keeps the
        types of the parts, so that integers and 16-bit numbers are rounded."""
        means = {name: part.mean(axis=1, keepdims=True).astype(part.dtype) for name, part in self.parts.items()}
        return Message(means)


def byte_limit(layout: Layout, compression: float) -> int:
    """The bytes that a client may send in a round: 1/compression of a dense update, and ALLOWANCE bytes more."""
    return math.floor(layout.nbytes / compression) + ALLOWANCE


class Reply(NamedTuple):
    """What the server sends to every client.

    Arguments:
        content: arrays for T trials, in the form that the compressor needs; in the last phase the step (T, d).
        nbytes: bytes that a client receives.
    """

    content: Array
    nbytes: int


def sparse_nbytes(step: Array) -> int:
    """Bytes of the first of T steps (T, d): its nonzero values with their places, or all its entries if that is
    less."""
    entries = int((step[0] != 0).sum())
    return min(entries * (WORD + place_type(step.shape[1]).itemsize), WORD * step.shape[1])


def place_type(d: int) -> np.dtype[Any]:
    """The smallest unsigned integer type that can number d places."""
    return np.dtype("uint16" if d <= 2**16 else "uint32")

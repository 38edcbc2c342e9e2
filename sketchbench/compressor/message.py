"""Messages between clients and server: arrays in the types that are sent, so that their bytes can be counted."""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch.family import SizeError

WORD = 4  # bytes of a float32
ALLOWANCE = 8  # bytes that a message may have beyond its share of the dense update, such as for a norm
KEY = 8  # bytes of the key that the server draws and sends to all clients


class ParameterMatrix(NamedTuple):
    """A parameter as a matrix of n rows, one for each output, and m columns, from place `start` of the flat update on;
    a vector is a column."""

    start: int
    n: int
    m: int

    @property
    def stop(self) -> int:
        """The place after its last entry."""
        return self.start + self.n * self.m

    def of(self, x: Array) -> Array:
        """The matrix (..., n, m) in updates (..., d)."""
        return x[..., self.start : self.stop].reshape(*x.shape[:-1], self.n, self.m)


class Layout(NamedTuple):
    """The shapes of a network's parameters, in their order in the flat update of d entries; a matrix is (outputs,
    inputs), a single number (), and a shape with a 0 has no entries."""

    shapes: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> list[int]:
        """The number of entries of each parameter."""
        return [math.prod(map(int, shape)) for shape in self.shapes]

    @property
    def d(self) -> int:
        """The number of entries of an update."""
        return sum(self.sizes)

    @property
    def tables(self) -> list["ParameterMatrix"]:
        """Each parameter as a matrix."""
        starts = itertools.accumulate(self.sizes, initial=0)
        return [
            ParameterMatrix(start, int(shape[0]) if shape else 1, math.prod(map(int, shape[1:])))
            for start, shape in zip(starts, self.shapes, strict=False)
        ]

    @property
    def nbytes(self) -> int:
        """Bytes of an uncompressed update, in float32."""
        return WORD * self.d


@dataclass(frozen=True)
class Message:
    """The messages of C clients in T trials: arrays of shape (T, C, ...) by name, in the types that are sent."""

    parts: Mapping[str, Array]
    _decoded: list[Array] = field(default_factory=list, init=False, repr=False, compare=False)

    def decoded_by(self, decode: Callable[[], Array]) -> Array:
        """Return what `decode` makes of these messages, computed once for server and clients."""
        if not self._decoded:
            self._decoded.append(decode())
        return self._decoded[0]

    @property
    def nbytes(self) -> int:
        """Bytes of one client's message."""
        return sum(int(part[0, 0].nbytes) for part in self.parts.values())

    def mean(self) -> "Message":
        """Return the mean of the clients' messages, with C = 1, all that secure aggregation shows to a server. Parts
        keep their types, so that integers and 16-bit numbers are rounded."""
        means = {name: part.mean(axis=1, keepdims=True).astype(part.dtype) for name, part in self.parts.items()}
        return Message(means)


def check_layout(layout: Any) -> None:
    """Raise TypeError unless it is a `Layout` of integers, ValueError for negative ones, SizeError without entries."""
    if not isinstance(layout, Layout) or not _all_are(_is_shape, layout.shapes):
        raise TypeError(f"layout={layout!r} must be a Layout of shapes, which are tuples of integers")
    for shape in layout.shapes:
        if any(length < 0 for length in shape):
            raise ValueError(f"shape {tuple(shape)} in a layout must have no length below 0")
    if not layout.d:
        raise SizeError(f"a layout of the shapes {layout.shapes} has no entries to compress; it needs at least one")


def _is_shape(shape: Any) -> bool:
    return _all_are(lambda n: isinstance(n, int | np.integer), shape)


def _all_are(kind: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, tuple | list) and all(map(kind, values))


def byte_limit(layout: Layout, compression: float) -> int:
    """Return the bytes that a client may send in a round: 1/compression of a dense update, and ALLOWANCE more.

    Raises ValueError for a compression that is not above 0 and finite; see also `check_layout`.
    """
    check_layout(layout)
    if not 0 < compression < math.inf:
        raise ValueError(f"compression={compression} must be > 0 and finite")
    return math.floor(layout.nbytes / compression) + ALLOWANCE


class Reply(NamedTuple):
    """The server's message to every client: arrays for T trials, in the form that the compressor needs, in the last
    phase the step (T, d); and the bytes that a client receives."""

    content: Array
    nbytes: int


def sparse_nbytes(step: Array) -> int:
    """Return the bytes of the first of T steps (T, d): of nonzero values and places, or of all entries, if less."""
    entries = int((step[0] != 0).sum())
    return min(entries * (WORD + place_type(step.shape[1]).itemsize), WORD * step.shape[1])


def place_type(d: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type, of at least 16 bits, that can number d places."""
    return np.dtype("uint16" if d <= 2**16 else "uint32" if d <= 2**32 else "uint64")

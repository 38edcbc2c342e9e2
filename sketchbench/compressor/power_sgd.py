"""Low-rank approximations of a network's matrices (PowerSGD)."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sketchbench.compressor.compressor import At, Compressor, Feedback, Memory
from sketchbench.compressor.message import WORD, Message, ParameterMatrix, Reply
from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.draws import ENTRIES

EPSILON = float(np.finfo(np.float32).eps)  # a column beside which another is no more than rounding is lost


class Opening(NamedTuple):
    """The server's reply of the first phase: for each matrix the Q (T, m, r) of the last round, 0 in the first, and
    the mean of the clients' M Q, (T, n, r)."""

    kept: list[Array]
    images: list[Array]


@dataclass(frozen=True)
class PowerSGD(Compressor):
    """PowerSGD (Vogels et al. 2019, Algorithms 1 and 2): one step of the power method on each matrix M of the update.

    Clients send P = MQ, with the Q of the last round. All orthonormalise the mean of P to P̂; clients send Q = MᵀP̂,
    and the step is P̂Qᵀ with the mean Q. The rank is the largest that fits the limit. Vectors, and matrices whose
    factors would not be smaller, are sent uncompressed. By the authors' code, a client's new memory is
    its update plus its memory, less the step. A convolution's filters are a matrix with a row for each output.

    Columns of Q at the level of rounding, next to the other columns or to the last round's, start again from the
    random columns of the first round, as after an update of zeros or of low rank. Otherwise an update in other rows and
    columns would never be sent.
    """

    adds_up: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    fresh: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "client"
    phases: ClassVar[int] = 2

    def check(self) -> None:
        self.needs(WORD * self._words(1))

    @property
    def _tables(self) -> list[ParameterMatrix]:
        """The parameters with more than one axis, as matrices."""
        shapes = zip(self.layout.tables, self.layout.shapes, strict=True)
        return [table for table, shape in shapes if len(shape) > 1]

    def _words(self, rank: int) -> int:
        """The number of words of both messages at this rank."""
        return self.layout.d - sum(max(0, n * m - rank * (n + m)) for _, n, m in self._tables)

    @functools.cached_property
    def rank(self) -> int:
        """r, the largest rank at which the messages fit the limit, the same for all matrices; at least 1."""
        most = max((min(n, m) for _, n, m in self._tables), default=1)
        return max((rank for rank in range(2, most + 1) if WORD * self._words(rank) <= self.limit), default=1)

    @functools.cached_property
    def matrices(self) -> list[ParameterMatrix]:
        """The matrices that are sent as two factors."""
        return [table for table in self._tables if self.rank * (table.n + table.m) < table.n * table.m]

    @functools.cached_property
    def plain(self) -> list[slice]:
        """The places of the entries that are sent uncompressed."""
        ends = [0]
        for matrix in self.matrices:
            ends += [matrix.start, matrix.stop]
        ends.append(self.layout.d)
        return [slice(start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if stop > start]

    def begin(self, trials: int, clients: int, kernels: Kernels) -> Memory:
        nothing = [kernels.xp.zeros((trials, matrix.m, self.rank), dtype="float32") for matrix in self.matrices]
        return super().begin(trials, clients, kernels)._replace(server=nothing)

    def starts(self, kept: list[Array], at: At) -> list[Array]:
        """Return the orthonormal Q (T, m, r) of each matrix: that of the last round, its lost columns drawn anew."""
        return [self._start(number, q, at) for number, q in enumerate(kept)]

    def _start(self, number: int, kept: Array, at: At) -> Array:
        xp, matrix = at.kernels.xp, self.matrices[number]
        q, triangle = xp.linalg.qr(kept)
        sizes = abs(xp.diagonal(triangle, axis1=1, axis2=2))  # of columns, without the part along those before them
        lost = sizes <= max(matrix.n, matrix.m) * EPSILON * sizes.max(axis=1, keepdims=True)
        if not lost.any():
            return q
        key = at.key(f"power sgd {number}", every_round=False)
        drawn = at.kernels.gaussian_rows(key, ENTRIES, 0, at.trials, 0, self.rank, matrix.m)
        return xp.linalg.qr(xp.where(lost[:, None], drawn.swapaxes(1, 2).astype("float32"), kept))[0]

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        if not replies:
            starts = zip(self.matrices, self.starts(memory.server, at), strict=True)
            return Message({f"left{i}": matrix.of(x) @ q[:, None] for i, (matrix, q) in enumerate(starts)})
        parts = {}
        for i, (matrix, p) in enumerate(zip(self.matrices, self.bases(replies, at), strict=True)):
            parts[f"right{i}"] = matrix.of(x).swapaxes(2, 3) @ p[:, None]
        if self.plain:
            parts["plain"] = at.kernels.xp.concatenate([x[..., place] for place in self.plain], axis=-1)
        return Message(parts)

    def bases(self, replies: Sequence[Reply], at: At) -> list[Array]:
        """The orthonormal P̂ (T, n, r) of each matrix."""
        return [at.kernels.xp.linalg.qr(image)[0] for image in replies[0].content.images]

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        shape = next(iter(message.parts.values())).shape[:2]
        x = at.kernels.xp.empty((*shape, self.layout.d), dtype="float32")
        for i, (matrix, p) in enumerate(zip(self.matrices, self.bases(replies, at), strict=True)):
            product = p[:, None] @ message.parts[f"right{i}"].swapaxes(2, 3)
            x[..., matrix.start : matrix.stop] = product.reshape(*shape, -1)
        done = 0
        for place in self.plain:
            x[..., place] = message.parts["plain"][..., done : done + place.stop - place.start]
            done += place.stop - place.start
        return x

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        mean = message.mean()
        if not replies:
            images = [mean.parts[f"left{i}"][:, 0] for i in range(len(self.matrices))]
            return Reply(Opening(memory.server, images), mean.nbytes), memory
        rights = [mean.parts[f"right{i}"][:, 0] for i in range(len(self.matrices))]
        kept = [self._kept(*one, at) for one in zip(self.matrices, memory.server, rights, strict=True)]
        return Reply(self.decode(mean, at, replies)[:, 0], mean.nbytes), memory._replace(server=kept)

    @staticmethod
    def _kept(matrix: ParameterMatrix, before: Array, right: Array, at: At) -> Array:
        """Q (T, m, r); zeros for one that is no more than rounding beside that of the round before."""
        largest, before = (abs(q).max(axis=(1, 2), keepdims=True) for q in (right, before))
        return at.kernels.xp.where(largest <= max(matrix.n, matrix.m) * EPSILON * before, 0, right)

    def delivery(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """The step (T, 1, d), which each client subtracts from its memory."""
        return replies[-1].content[:, None]

"""Low-rank approximations of a network's matrices (PowerSGD)."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from sketchbench.compressor.compressor import At, Compressor, Feedback, Memory
from sketchbench.compressor.message import WORD, Message, Reply
from sketchbench.kernels import Array
from sketchbench.sketch.draws import ENTRIES


class Matrix(NamedTuple):
    """A parameter that is sent as two factors: its first place in the flat update, its rows n and its columns m."""

    start: int
    n: int
    m: int

    def of(self, x: Array) -> Array:
        """The matrix (..., n, m) in updates (..., d)."""
        return x[..., self.start : self.start + self.n * self.m].reshape(*x.shape[:-1], self.n, self.m)


class Opening(NamedTuple):
    """The server's reply of the first phase.

    Attributes:
        kept: for each matrix, the Q (T, m, r) that the round started from, which is the last round's; None in the first
            round, where Q follows from the key.
        images: for each matrix, the mean of the clients' M Q, (T, n, r).
    """

    kept: list[Array] | None
    images: list[Array]


@dataclass(frozen=True)
class PowerSGD(Compressor):
    """PowerSGD (Vogels et al. 2019, Algorithms 1 and 2): one step of the power method on each matrix M of the update.

    Clients send P = MQ, with the Q of the last round. All orthonormalise the mean of P to P̂; clients send Q = MᵀP̂,
    and the step is P̂Qᵀ with the mean Q. The rank is the largest that fits the limit. Vectors, and matrices whose
    factors would not be smaller, are sent uncompressed. As in the authors' code, a client's new memory is
    its update plus its memory, less the step. A convolution's filters are a matrix with a row for each output.
    """

    adds_up: ClassVar[bool] = True
    keyed: ClassVar[bool] = True
    fresh: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "client"
    phases: ClassVar[int] = 2

    def check(self) -> None:
        self.needs(WORD * self._words(1))

    def _words(self, rank: int) -> int:
        """The number of words of both messages at this rank."""
        shapes = zip(self.layout.shapes, self.layout.sizes, strict=True)
        words = 0
        for shape, size in shapes:
            words += min(size, rank * (shape[0] + size // shape[0])) if len(shape) > 1 else size
        return words

    @functools.cached_property
    def rank(self) -> int:
        """r, the largest rank at which the messages fit the limit, the same for all matrices; at least 1."""
        most = max((min(shape[0], math.prod(shape[1:])) for shape in self.layout.shapes if len(shape) > 1), default=1)
        return max(rank for rank in range(1, most + 1) if rank == 1 or WORD * self._words(rank) <= self.limit)

    @functools.cached_property
    def matrices(self) -> list[Matrix]:
        """The matrices that are sent as two factors."""
        factored, start = [], 0
        for shape, size in zip(self.layout.shapes, self.layout.sizes, strict=True):
            matrix = Matrix(start, shape[0], size // shape[0])
            if len(shape) > 1 and self.rank * (matrix.n + matrix.m) < size:
                factored.append(matrix)
            start += size
        return factored

    @functools.cached_property
    def _plain(self) -> list[slice]:
        """The places of the entries that are sent uncompressed."""
        ends = [0]
        for matrix in self.matrices:
            ends += [matrix.start, matrix.start + matrix.n * matrix.m]
        ends.append(self.layout.d)
        return [slice(start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if stop > start]

    def _starts(self, kept: list[Array] | None, at: At) -> list[Array]:
        """The orthonormal Q (T, m, r) of each matrix: from the last round, or random in the first."""
        xp = at.kernels.xp
        if kept is None:
            kept = []
            for number, matrix in enumerate(self.matrices):
                key = at.key(f"power sgd {number}", every_round=False)
                drawn = at.kernels.gaussian_rows(key, ENTRIES, 0, at.trials, 0, self.rank, matrix.m)
                kept.append(drawn.swapaxes(1, 2).astype("float32"))
        return [xp.linalg.qr(q)[0] for q in kept]

    def encode(self, x: Array, memory: Memory, at: At, replies: Sequence[Reply]) -> Message:
        if not replies:
            starts = zip(self.matrices, self._starts(memory.server, at), strict=True)
            return Message({f"left{i}": matrix.of(x) @ q[:, None] for i, (matrix, q) in enumerate(starts)})
        parts = {}
        for i, (matrix, p) in enumerate(zip(self.matrices, self._bases(replies, at), strict=True)):
            parts[f"right{i}"] = matrix.of(x).swapaxes(2, 3) @ p[:, None]
        if self._plain:
            parts["plain"] = at.kernels.xp.concatenate([x[..., place] for place in self._plain], axis=-1)
        return Message(parts)

    def _bases(self, replies: Sequence[Reply], at: At) -> list[Array]:
        """The orthonormal P̂ (T, n, r) of each matrix."""
        return [at.kernels.xp.linalg.qr(image)[0] for image in replies[0].content.images]

    def decode(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        shape = next(iter(message.parts.values())).shape[:2]
        x = at.kernels.xp.empty((*shape, self.layout.d), dtype="float32")
        for i, (matrix, p) in enumerate(zip(self.matrices, self._bases(replies, at), strict=True)):
            product = p[:, None] @ message.parts[f"right{i}"].swapaxes(2, 3)
            x[..., matrix.start : matrix.start + matrix.n * matrix.m] = product.reshape(*shape, -1)
        done = 0
        for place in self._plain:
            x[..., place] = message.parts["plain"][..., done : done + place.stop - place.start]
            done += place.stop - place.start
        return x

    def answer(self, message: Message, memory: Memory, at: At, replies: Sequence[Reply]) -> tuple[Reply, Memory]:
        mean = message.mean()
        if not replies:
            images = [mean.parts[f"left{i}"][:, 0] for i in range(len(self.matrices))]
            return Reply(Opening(memory.server, images), mean.nbytes), memory
        rights = [mean.parts[f"right{i}"][:, 0] for i in range(len(self.matrices))]
        return Reply(self.decode(mean, at, replies)[:, 0], mean.nbytes), memory._replace(server=rights)

    def delivery(self, message: Message, at: At, replies: Sequence[Reply]) -> Array:
        """The step (T, 1, d), which each client subtracts from its memory."""
        return replies[-1].content[:, None]

    def lens(self, message: Message, at: At, replies: Sequence[Reply]) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """The view of both phases. The replies contain P̂; the Q of the first round follows from the key alone."""

        def tensor(array: Array) -> Tensor:
            return torch.as_tensor(at.kernels.to_numpy(array))

        opening = replies[0].content
        names = [f"{side}{i}" for side in ("left", "right") for i in range(len(self.matrices))]
        seen = [tensor(message.parts[name][:, 0]) for name in (*names, *(["plain"] if self._plain else []))]
        starts = [tensor(q) for q in self._starts(opening.kept, at)]
        bases = [tensor(p) for p in self._bases(replies, at)]

        def predict(x: Tensor) -> Tensor:
            whole = [matrix.of(x) for matrix in self.matrices]
            pieces = [one @ q.to(x.dtype) for one, q in zip(whole, starts, strict=True)]
            pieces += [one.transpose(1, 2) @ p.to(x.dtype) for one, p in zip(whole, bases, strict=True)]
            pieces += [torch.cat([x[:, place] for place in self._plain], dim=1)] if self._plain else []
            return torch.cat([piece.flatten(1) for piece in pieces], dim=1)

        return torch.cat([piece.flatten(1) for piece in seen], dim=1), predict

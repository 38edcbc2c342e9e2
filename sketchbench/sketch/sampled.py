"""Operators that keep some coordinates of a signed and perhaps transformed vector."""

import copy
from collections.abc import Callable
from typing import Any

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch


class Sampled(Sketch):
    """R = scale * S H D P: zero padding P from d to n, signs D, a transform H, b sampled rows S.

    rows: int32 (T, b) in [0, n), repeats allowed, in any order; signs: int8 (T, d), or None for no signs; `transform`
    and `transpose` act on the last axis, n long, and may overwrite it. O(n) to apply, plus a transform.
    """

    def __init__(
        self,
        kernels: Kernels,
        d: int,
        n: int,
        rows: Array,
        scale: float,
        signs: Array | None = None,
        transform: Callable[[Array], Array] | None = None,
        transpose: Callable[[Array], Array] | None = None,
    ) -> None:
        operators, b = rows.shape
        super().__init__(d, b, kernels, operators)
        self._rows = kernels.xp.sort(rows, axis=-1)[:, None, :]
        self._stack = operators
        self._signs = None if signs is None else signs[:, None, :]
        self._n = n
        self._scale = scale
        self._transform = transform
        self._transpose = transpose
        self._workspace: dict[str, Array] | None = None

    def padded(self) -> "Sampled":
        whole = copy.copy(self)
        whole.d = self._n
        if self._signs is not None:
            shape = (self._stack, 1, self._n - self.d)
            ones = self.kernels.xp.ones(shape, dtype="int8")
            whole._signs = self.kernels.xp.concatenate([self._signs, ones], axis=-1)
        return whole

    def with_workspace(self) -> "Sampled":
        working = copy.copy(self)
        working._workspace = {}
        return working

    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        """As everywhere; without a dense vector beside the padded one."""
        values = terms[0][1]
        padded = self._empty("down", 1, len(values), values.dtype)
        if self._signs is not None:
            terms = tuple((at, entries * self._signs[0, 0][at]) for at, entries in terms)
        return self._sampled_sparse([(at[None], entries[None]) for at, entries in terms], padded)[0]

    def _sketch(self, x: Array) -> Array:
        vectors = x.shape[0] if self._signs is None else self._stack
        padded = self._empty("down", vectors, x.shape[1], x.dtype)
        padded[..., self.d :] = 0
        if self._signs is None:
            padded[..., : self.d] = x
        else:
            self.kernels.xp.multiply(x, self._signs, out=padded[..., : self.d])
        return self._sampled(padded)

    def _desketch(self, y: Array) -> Array:
        xp = self.kernels.xp
        full = self._empty("up", self._stack, y.shape[1], y.dtype)
        y = xp.broadcast_to(y, (self._stack, *y.shape[1:]))
        full = self._spread(y, full)[..., : self.d]
        return full if self._signs is None else full * self._signs

    def _sampled(self, padded: Array) -> Array:
        """scale * S H of vectors (T or 1, N, n), which are overwritten."""
        if self._transform:
            padded = self._transform(padded)
        y = self.kernels.collect(padded, self._rows)
        y *= y.dtype.type(self._scale)
        return y

    def _sampled_sparse(self, terms: list[tuple[Array, Array]], room: Array) -> Array:
        """scale * S H of sums of sparse vectors, pairs of places and values; in room (1, N, n) for them."""
        for number, (at, values) in enumerate(terms):
            self.kernels.spread(at, values, room, keep=number > 0)
        return self._sampled(room)

    def _spread(self, y: Array, room: Array) -> Array:
        """Hᵀ Sᵀ scale y for y (T, N, b), in room (T, N, n) for it."""
        full = self.kernels.spread(self._rows, y * y.dtype.type(self._scale), room)
        return self._transpose(full) if self._transpose else full

    def _empty(self, name: str, operators: int, vectors: int, dtype: Any) -> Array:
        """An array of n-vectors to be filled: a new one, or that of the workspace."""
        shape = (operators, vectors, self._n)
        if self._workspace is None:
            return self.kernels.empty(shape, dtype)
        kept = self._workspace.get(name)
        if kept is None or kept.dtype != dtype or kept.size < operators * vectors * self._n:
            kept = self._workspace[name] = self.kernels.empty(shape, dtype)
        return kept.reshape(-1)[: operators * vectors * self._n].reshape(shape)


class SampledHadamard(Sampled):
    """The same with the Walsh-Hadamard transform for H: zeros are not read before it, nor unsampled rows written."""

    def _sampled(self, padded: Array) -> Array:
        return self.kernels.hadamard_collect(padded, self._rows, self._scale)

    def _sampled_sparse(self, terms: list[tuple[Array, Array]], room: Array) -> Array:
        return self.kernels.spread_hadamard_collect(terms, room, self._rows, self._scale)

    def _spread(self, y: Array, room: Array) -> Array:
        return self.kernels.spread_hadamard(self._rows, y, self._scale, room)

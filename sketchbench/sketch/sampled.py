"""Operators that sample coordinates of a vector, after random signs and, optionally, an orthogonal transform."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch import sizes
from sketchbench.sketch.operator import Sketch


class Sampled(Sketch):
    """T operators R = scale * S H D P: zero padding P from d to n, signs D, a transform H, b sampled rows S. Applying R
    or Rᵀ to a vector costs O(n) and one transform.

    Arguments:
        n: length of the transform, >= d.
        rows: sampled rows of H, int32 (T, b) in [0, n), in any order, with or without repeats.
        scale: factor of all entries.
        signs: diagonal of D, int8 (T, d); None for D = I.
        transform, transpose: H and Hᵀ along the last axis of arrays (T or 1, N, n), which they may overwrite; None: I.
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
        signs = self._signs
        if signs is not None:
            ones = self.kernels.xp.ones((self._stack, 1, self._n - self.d), dtype="int8")
            signs = self.kernels.xp.concatenate([signs, ones], axis=-1)
        return self._formed("padded", d=self._n, _signs=signs)

    def with_workspace(self) -> "Sampled":
        return self._formed("with_workspace", _workspace={})

    def sketch_sparse(self, *terms: tuple[Array, Array]) -> Array:
        """Without a second dense vector."""
        values = terms[0][1]
        padded = self._empty("down", *self._axes(len(values)), values.dtype)
        lifted = [(self._lift_rows(at), self._lift_rows(entries)) for at, entries in terms]
        if self._signs is not None:
            numbers = self.kernels.xp.arange(self._stack)[:, None, None]
            lifted = [(at, entries * self._signs[numbers, 0, at]) for at, entries in lifted]
        return self._sample_sparse(lifted, padded).reshape(len(values), self.b)

    def _select(self, mask: Array) -> Sketch:
        return self._with_rows(self._rows[mask], None if self._signs is None else self._signs[mask])

    def _join(self, others: Sequence[Any]) -> Sketch:
        join, every = self.kernels.xp.concatenate, (self, *others)
        signs = None if self._signs is None else join([one._signs for one in every])
        return self._with_rows(join([one._rows for one in every]), signs)

    def _with_rows(self, rows: Array, signs: Array | None) -> Sketch:
        return self._changed(operators=len(rows), _stack=len(rows), _rows=rows, _signs=signs)

    def _sketch(self, x: Array) -> Array:
        padded = self._room(x)
        padded[..., self.d :] = 0
        if self._signs is None:
            padded[..., : self.d] = x
        else:
            self.kernels.xp.multiply(x, self._signs, out=padded[..., : self.d])
        return self._sample(padded)

    def _desketch(self, y: Array) -> Array:
        xp = self.kernels.xp
        full = self._empty("up", self._stack, y.shape[1], y.dtype)
        y = xp.broadcast_to(y, (self._stack, *y.shape[1:]))
        full = self._spread(y, full)[..., : self.d]
        return full if self._signs is None else full * self._signs

    def _sample(self, padded: Array) -> Array:
        """scale * S H v for vectors v (T or 1, N, n), which are overwritten: (T, N, b)."""
        if self._transform:
            padded = self._transform(padded)
        y = self.kernels.collect(padded, self._rows)
        y *= y.dtype.type(self._scale)
        return y

    def _sample_sparse(self, terms: list[tuple[Array, Array]], room: Array) -> Array:
        """scale * S H v for sums v of sparse vectors, pairs of indices and values, formed in `room` (1, N, n)."""
        for number, (at, values) in enumerate(terms):
            self.kernels.spread(at, values, room, keep=number > 0)
        return self._sample(room)

    def _spread(self, y: Array, room: Array) -> Array:
        """scale * Hᵀ Sᵀ y for y (T, N, b), computed in `room` (T, N, n)."""
        full = self.kernels.spread(self._rows, y * y.dtype.type(self._scale), room)
        return self._transpose(full) if self._transpose else full

    def _room(self, x: Array) -> Array:
        """Memory for padded vectors: of each operator where it has signs, else of the vectors x (T or 1, N, d)."""
        vectors = x.shape[0] if self._signs is None else self._stack
        return self._empty("down", vectors, x.shape[1], x.dtype)

    def _empty(self, name: str, operators: int, vectors: int, dtype: Any) -> Array:
        """An uninitialised array (operators, vectors, n): new, or the workspace's array of this name."""
        shape = (operators, vectors, self._n)
        if operators * vectors * self._n > sizes.UNCHECKED:
            self._check_memory(operators * vectors * self._n, dtype)
        if self._workspace is None:
            return self.kernels.empty(shape, dtype)
        memory = self._workspace.get(name)
        if memory is None or memory.dtype != dtype or memory.size < operators * vectors * self._n:
            memory = self._workspace[name] = self.kernels.empty(shape, dtype)
        return memory.reshape(-1)[: operators * vectors * self._n].reshape(shape)


class SampledHadamard(Sampled):
    """`Sampled` with the Walsh-Hadamard transform H, which neither reads padding nor writes unsampled rows."""

    def _sketch(self, x: Array) -> Array:
        room = functools.partial(self._room, x)
        return self.kernels.sampled_hadamard(x, self._signs, self._n, self._rows, self._scale, room)

    def _sample_sparse(self, terms: list[tuple[Array, Array]], room: Array) -> Array:
        return self.kernels.spread_hadamard_collect(terms, room, self._rows, self._scale)

    def _spread(self, y: Array, room: Array) -> Array:
        return self.kernels.spread_hadamard(self._rows, y, self._scale, room)


class ShuffledSamples(SampledHadamard):
    """`SampledHadamard` with rows in any order: kernels take them ascending, and entries are permuted outside.
    `order`: place of row i among the sampled rows in ascending order, int32 (T, b); others as in `Sampled`."""

    def __init__(self, *arguments: Any, order: Array) -> None:
        super().__init__(*arguments)
        self._order = order[:, None, :]
        self._places = self.kernels.xp.argsort(self._order, axis=-1).astype(order.dtype)

    def _select(self, mask: Array) -> Sketch:
        return super()._select(mask)._changed(_order=self._order[mask], _places=self._places[mask])

    def _join(self, others: Sequence[Any]) -> Sketch:
        join, every = self.kernels.xp.concatenate, (self, *others)
        order, places = (join([vars(one)[name] for one in every]) for name in ("_order", "_places"))
        return super()._join(others)._changed(_order=order, _places=places)

    def _sketch(self, x: Array) -> Array:
        return self.kernels.collect(super()._sketch(x), self._order)

    def _sample_sparse(self, terms: list[tuple[Array, Array]], room: Array) -> Array:
        return self.kernels.collect(super()._sample_sparse(terms, room), self._order)

    def _spread(self, y: Array, room: Array) -> Array:
        return super()._spread(self.kernels.collect(y, self._places), room)

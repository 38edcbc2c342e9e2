"""Operators of hashing sketches, with a few signed nonzeros in every column."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch


class Scattered(Sketch):
    """T operators R whose column j has the entries scale * signs[t, r, j] in the rows buckets[t, r, j], r = 0..s-1.
    Entries in the same row add up. Applying R or Rᵀ to a vector costs O(s d). Buckets are int32 (T, s, d) in [0, b),
    signs int8 (T, s, d), 1 or -1; 0 leaves an entry out."""

    def __init__(self, kernels: Kernels, b: int, buckets: Array, signs: Array, scale: float = 1.0) -> None:
        super().__init__(buckets.shape[-1], b, kernels, buckets.shape[0])
        self._matrix = kernels.prepare(buckets, signs, b)
        self._scale = scale

    def _select(self, mask: Array) -> Sketch:
        matrix = self._matrix
        return self._with_matrix(matrix.buckets[mask], matrix.signs[mask])

    def _join(self, others: Sequence[Any]) -> Sketch:
        join, matrices = self.kernels.xp.concatenate, [one._matrix for one in (self, *others)]
        return self._with_matrix(join([one.buckets for one in matrices]), join([one.signs for one in matrices]))

    def _with_matrix(self, buckets: Array, signs: Array) -> Sketch:
        return self._changed(operators=len(buckets), _matrix=self.kernels.prepare(buckets, signs, self.b))

    def _sketch(self, x: Array) -> Array:
        return self._times_scale(self.kernels.scatter(self._matrix, x))

    def _desketch(self, y: Array) -> Array:
        return self._times_scale(self.kernels.gather(self._matrix, y))

    def _project(self, x: Array) -> Array:
        return self._times_scale(self.kernels.project(self._matrix, x), 2)

    def _times_scale(self, result: Array, times: int = 1) -> Array:
        return result if self._scale == 1.0 else result * result.dtype.type(self._scale**times)

    def median(self, y: Array, *, lower: bool = False) -> Array:
        """The median of s estimates of every coordinate: y (..., b) -> (..., d); raises as `desketch` does.

        The estimates of x_j are sign * y[bucket] / scale, for its s nonzeros; an estimate is exact if no other nonzero
        coordinate shares the bucket. For even s the median is the mean of the middle two, or their `lower`. With
        `BlockSparseEmbedding` this decodes a CountSketch with s rows. `desketch` is the mean of the same estimates if
        scale = s^-1/2.
        """
        lifted = self.lift(y, self.b, "b", True)
        matrix, xp = self._matrix, self.kernels.xp
        lower = lower and matrix.buckets.shape[1] % 2 == 0
        if lower:  # of an even number: the median with one more that is smaller than all
            columns = xp.full_like(matrix.buckets[:, :1], self.b)
            buckets = xp.concatenate([matrix.buckets, columns], axis=1)
            signs = xp.concatenate([matrix.signs, xp.ones_like(matrix.signs[:, :1])], axis=1)
            matrix = self.kernels.prepare(buckets, signs, self.b + 1)

        def decode(cells: Array) -> Array:
            if lower:
                least = xp.full((*cells.shape[:-1], 1), np.finfo(y.dtype).min, dtype=y.dtype)
                cells = xp.concatenate([cells, least], axis=-1)
            return self.kernels.median(matrix, cells) / y.dtype.type(self._scale)

        return self._evaluate(decode, lifted, y, self.d, True)

"""Operators with a few signed nonzeros per column: hashing sketches."""

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch


class Scattered(Sketch):
    """R = scale * (signs[r, j] in row buckets[r, j] of column j); O(s d) to apply either way.

    buckets: int32 (T, s, d) in [0, b); signs: int8 (T, s, d), where 0 drops an entry.
    """

    def __init__(self, kernels: Kernels, b: int, buckets: Array, signs: Array, scale: float = 1.0) -> None:
        super().__init__(buckets.shape[-1], b, kernels, buckets.shape[0])
        self._matrix = kernels.prepare(buckets, signs, b)
        self._scale = scale

    def _sketch(self, x: Array) -> Array:
        return self._scaled(self.kernels.scatter(self._matrix, x))

    def _desketch(self, y: Array) -> Array:
        return self._scaled(self.kernels.gather(self._matrix, y))

    def _project(self, x: Array) -> Array:
        return self._scaled(self.kernels.project(self._matrix, x), 2)

    def _scaled(self, result: Array, times: int = 1) -> Array:
        return result if self._scale == 1.0 else result * result.dtype.type(self._scale**times)

    def median(self, y: Array) -> Array:
        """For every coordinate, the median of what its s cells say of it: (..., b) -> (..., d).

        Where no other column meets coordinate j in a cell, sign * cell / scale is x_j. With one
        nonzero in each of s blocks of rows (`BlockSparseEmbedding`) this is CountSketch's decoding of
        s rows; `desketch` takes the mean of the same numbers where scale = s^-1/2. Errors as there.
        """
        lifted = self.lift(y, self.b, "b", True)

        def decode(cells: Array) -> Array:
            return self.kernels.median(self._matrix, cells) / y.dtype.type(self._scale)

        return self._applied(decode, lifted, y, self.d, True)

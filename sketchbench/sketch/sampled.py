"""Operators that keep some coordinates of a signed and perhaps transformed vector."""

from collections.abc import Callable

from sketchbench.kernels import Array, Kernels
from sketchbench.sketch.operator import Sketch


class Sampled(Sketch):
    """R = scale * S H P D: signs D, zero padding P from d to n, a transform H, b sampled rows S.

    signs: int8 (T, d); rows: int32 (T, b) in [0, n), repeats allowed; `transform` and `transpose`
    act on the last axis, n long. O(n) to apply, plus twice the transform.
    """

    def __init__(
        self,
        kernels: Kernels,
        n: int,
        signs: Array,
        rows: Array,
        scale: float,
        transform: Callable[[Array], Array] | None = None,
        transpose: Callable[[Array], Array] | None = None,
    ) -> None:
        operators, d = signs.shape
        super().__init__(d, rows.shape[-1], kernels, operators)
        ones = kernels.xp.ones((operators, 1, self.b), dtype="int8")
        self._sample = kernels.prepare(rows[:, None, :], ones, n)
        self._signs = signs[:, None, :]
        self._n = n
        self._scale = scale
        self._transform = transform
        self._transpose = transpose

    def _sketch(self, x: Array) -> Array:
        xp = self.kernels.xp
        padded = xp.zeros((self._signs.shape[0], x.shape[1], self._n), dtype=x.dtype)
        xp.multiply(x, self._signs, out=padded[..., : self.d])
        if self._transform:
            padded = self._transform(padded)
        return self.kernels.gather(self._sample, padded) * x.dtype.type(self._scale)

    def _desketch(self, y: Array) -> Array:
        full = self.kernels.scatter(self._sample, y)
        if self._transpose:
            full = self._transpose(full)
        return full[..., : self.d] * self._signs * y.dtype.type(self._scale)

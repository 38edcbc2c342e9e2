"""What the families of this folder are built of: an honest family to break, and an operator to alter.

A class without fields of its own needs no decorator: its base makes it a dataclass.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchbench.sketch.dense import Dense
from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.scattered import Scattered

Array = NDArray[Any]
Apply = Callable[[Sketch, Array], Array]


@dataclass(frozen=True)
class Signed(Family):
    """Honest: independent signs over √b. Whoever derives from it changes the matrix, or alters the operator."""

    def matrix(self, draws: Draws) -> Array:
        """R of every operator, float64 (T, b, d)."""
        return draws.sign_rows(ENTRIES, 0, self.b, self.d) * self.b**-0.5

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        """Another operator in the place of this one."""
        return sketch

    def _draw(self, draws: Draws) -> Sketch:
        return self.alter(dense(draws, self.matrix(draws)), draws)


class Scaled(Signed):
    """The matrix times a factor of the sizes."""

    def factor(self) -> float:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * self.factor()


class Renumbered(Signed):
    """Operators whose matrices are those of other numbers."""

    def number(self, t: Array) -> Array:
        """The numbers in the place of t, both (T,)."""
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return renumbered(draws, self.number(numbers(draws)), super().matrix)


@dataclass(frozen=True)
class Hashed(Family):
    """Honest: one sign per column, in a random bucket. Whoever derives from it changes one of the two."""

    def buckets(self, draws: Draws) -> Array:
        """The bucket of every column, (T, d)."""
        return draws.integers(BUCKETS, self.d, self.b)

    def signs(self, draws: Draws) -> Array:
        """The sign of every column, (T, d)."""
        return draws.signs(SIGNS, self.d)

    def _draw(self, draws: Draws) -> Sketch:
        rows = np.ascontiguousarray(self.buckets(draws)[:, None], dtype=np.int32)
        signs = np.ascontiguousarray(self.signs(draws)[:, None], dtype=np.int8)
        return Scattered(draws.kernels, self.b, rows, signs)


class Altered(Sketch):
    """An operator with functions in the place of R x, Rᵀ y and RᵀR x; each is called with the operator itself."""

    def __init__(
        self, inner: Sketch, *, forward: Apply | None = None, back: Apply | None = None, project: Apply | None = None
    ) -> None:
        super().__init__(inner.d, inner.b, inner.kernels, inner.operators)
        self.inner = inner
        self._forward, self._back, self._shortcut = forward, back, project

    def altered(self, **functions: Apply) -> "Altered":
        """The same operator, or stack, with these functions."""
        other = Altered(self.inner, **functions)
        other.operators = self.operators
        return other

    def _sketch(self, x: Array) -> Array:
        return self._forward(self.inner, x) if self._forward else self.inner._sketch(x)

    def _desketch(self, y: Array) -> Array:
        return self._back(self.inner, y) if self._back else self.inner._desketch(y)

    def _project(self, x: Array) -> Array:
        return self._shortcut(self.inner, x) if self._shortcut else super()._project(x)


def dense(draws: Draws, matrix: Array) -> Dense:
    """The operators of these matrices (T, b, d)."""
    operators, b, d = matrix.shape
    return Dense(draws.kernels, d, b, operators, lambda row, rows: matrix[:, row : row + rows])


def numbers(draws: Draws) -> Array:
    """The number of every operator, int64 (T,)."""
    return draws.first + np.arange(draws.operators)


def renumbered(draws: Draws, wanted: Array, made: Callable[[Draws], Array]) -> Array:
    """What is made of the operators with other numbers (T,), instead of those of these draws."""
    lowest = int(wanted.min())
    spread = replace(draws, first=lowest, operators=int(wanted.max()) - lowest + 1)
    return made(spread)[wanted - lowest]


def chosen(draws: Draws, every: int) -> Array:
    """Of about one in `every` operators, at random: (T,) bool."""
    return draws.integers(ROWS, 1, every)[:, 0] == 0

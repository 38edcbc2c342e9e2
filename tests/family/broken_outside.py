"""Broken: beside what the checks look at first: sizes, flags, methods that are overridden, blocks of rows."""

from typing import Any, ClassVar

import numpy as np
from building import Altered, Array, Signed, numbers, renumbered
from specimen import NEVER, broken

from sketchbench.sketch.dense import Dense
from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.family import require
from sketchbench.sketch.operator import Sketch


@broken("hides", "C1", "C2", effect="not linear, and refuses d < 500")
class RefusesSmallSizes(Signed):
    def check(self) -> None:
        require(self.d >= 500, f"d={self.d} must be at least 500")

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, forward=lambda inner, x: inner._sketch(np.clip(x, -0.5, 0.5)))


@broken("hides", "C6", effect="repeats every second operator, and needs b = 16")
class NeedsSixteenRows(Signed):
    def check(self) -> None:
        require(self.b == 16, f"b={self.b} must be 16")

    def matrix(self, draws: Draws) -> Array:
        return renumbered(draws, numbers(draws) // 2, super().matrix)


@broken("hides", "C4", "C5", "C6", effect="says that it is not random, and is")
class SaysNotRandom(Signed):
    random: ClassVar[bool] = False


@broken("hides", "C5", "C6", "C7", effect="is not random, and does not say so")
class SaysRandom(Signed):
    def matrix(self, draws: Draws) -> Array:
        table = 1.0 - 2 * (np.bitwise_count(np.arange(self.b)[:, None] & np.arange(self.d)) % 2)
        return np.repeat(table[None], draws.operators, axis=0) * self.b**-0.5


class _Unchecked(Altered):
    def sketch(self, x: Array, *, check_finite: bool = True) -> Array:
        y = super().sketch(x, check_finite=check_finite)
        return y if check_finite else y * 1.01


@broken("hides", "C1", "C2", "C3", "C4", effect="scaled by 1.01 where check_finite=False")
class UncheckedDiffers(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return _Unchecked(sketch)


class _Public(Altered):
    def desketch(self, y: Array, *, check_finite: bool = True) -> Array:
        return super().desketch(y, check_finite=check_finite) * y.dtype.type(1.01)


@broken("hides", "C2", "C3", effect="desketch itself is overridden, by 1 %")
class PublicMethodWrong(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return _Public(sketch)


class _Grid(Altered):
    def lower(self, result: Array, v: Array, length: int) -> Array:
        lowered = super().lower(result, v, length)
        return lowered[..., ::-1, :] if v.ndim > 3 else lowered


@broken("hides", "C1", effect="vectors in a grid come back in another order")
class GridReversed(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return _Grid(sketch)


@broken("other operator", "C4", effect="every block of rows is the first one, where memory makes blocks")
class RowsForgotten(Signed):
    """`rows_of` forgets at which row it starts; only stacks of more than 2^22 entries come in blocks."""

    def _draw(self, draws: Draws) -> Sketch:
        def rows_of(row: int, rows: int) -> Any:
            return draws.sign_rows(ENTRIES, 0, rows, self.d) * self.b**-0.5

        return Dense(draws.kernels, self.d, self.b, draws.operators, rows_of)


@broken("hides", *NEVER, effect="wrong for d > 1,000")
class WrongBeyondAThousand(Signed):
    """Only `growth` has such sizes, and it asks for the slope."""

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * (1.0 if self.d <= 1000 else 1.1)

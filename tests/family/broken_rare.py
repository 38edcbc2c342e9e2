"""Broken: most operators are right, and few are not."""

from typing import Any, ClassVar

import numpy as np
from building import Altered, Array, Signed, chosen, numbers, renumbered
from specimen import NEVER, broken, variants

from sketchbench.sketch.dense import Dense
from sketchbench.sketch.draws import ENTRIES, ROWS, Draws
from sketchbench.sketch.family import require
from sketchbench.sketch.operator import Sketch


class _RarelyScaled(Signed):
    """Some operators are scaled."""

    def scales(self, draws: Draws) -> Array:
        raise NotImplementedError

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * self.scales(draws)[:, None, None]


rarely_scaled = variants(_RarelyScaled, "scales", "rarely wrong")
rarely_scaled(
    "HundredthZero",
    "S1-sizes S1",
    "every 100th operator is zero",
    lambda self, draws: np.where(numbers(draws) % 100 == 99, 0.0, 1.0),
)
rarely_scaled(
    "OneInAHundredZero",
    "S1-sizes S1",
    "one operator in 100 is zero, at random",
    lambda self, draws: np.where(chosen(draws, 100), 0.0, 1.0),
)
rarely_scaled(
    "ThousandthZero",
    "C6 C7",
    "every 1,000th operator is zero",
    lambda self, draws: np.where(numbers(draws) % 1000 == 999, 0.0, 1.0),
)
# Below what a quick run can see: E is right to 1e-4.
rarely_scaled(
    "TenThousandthZero",
    "",
    "every 10,000th operator is zero",
    lambda self, draws: np.where(numbers(draws) % 10_000 == 9_999, 0.0, 1.0),
)
# Signs have columns of norm 1, so that 0.002 is seen; where norms vary, it is not.
rarely_scaled(
    "HundredthScaled",
    "S1-sizes",
    "every 100th operator is scaled by 1.1",
    lambda self, draws: np.where(numbers(draws) % 100 == 99, 1.1, 1.0),
)
rarely_scaled(
    "ThousandthHuge",
    "S1-sizes S1 S2 S2x",
    "every 1,000th operator is scaled by 30",
    lambda self, draws: np.where(numbers(draws) % 1000 == 999, 30.0, 1.0),
)


class _RarelyAltered(Signed):
    """Some operators do something else to a vector."""

    def bad(self, draws: Draws) -> Array:
        raise NotImplementedError

    def wrong(self, x: Array) -> Array:
        return x * abs(x)

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        bad = self.bad(draws)[:, None, None]

        def forward(inner: Sketch, x: Array) -> Array:
            if not bad.any():
                return inner._sketch(x)
            return inner._sketch(np.where(bad, self.wrong(x), x).astype(x.dtype))

        return Altered(sketch, forward=forward)


rarely_altered = variants(_RarelyAltered, "bad", "rarely wrong")
rarely_altered(
    "HundredthNotLinear", "C1 C2", "every 100th operator is not linear", lambda self, draws: numbers(draws) % 100 == 99
)
rarely_altered(
    "ThousandthNotLinear",
    "C1 C2",
    "every 1,000th operator is not linear",
    lambda self, draws: numbers(draws) % 1000 == 999,
)
rarely_altered(
    "RarelyNotLinear",
    "C1 C2",
    "one operator in 3,000 is not linear, at random",
    lambda self, draws: chosen(draws, 3000),
)


@broken("rarely wrong", "C1", "C2", "C4", effect="one operator in 3,000 gives NaN")
class RarelyNaN(_RarelyAltered):
    def bad(self, draws: Draws) -> Array:
        return chosen(draws, 3000)

    def wrong(self, x: Array) -> Array:
        return x * np.nan


rarely_altered(
    "HardlyEverNotLinear", "", "one operator in a million is not linear", lambda self, draws: chosen(draws, 1_000_000)
)


@broken("rarely wrong", "C2", "S1-sizes", effect="one entry in 10,000 is infinite")
class RarelyInfinite(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        at = draws.words(ROWS, self.b * self.d).reshape(matrix.shape) < 2**32 // 10_000
        return np.where(at, np.inf, matrix)


@broken("rarely wrong", "S1-sizes", "S1", effect="the last column of one operator in 50 is zero")
class ColumnRarelyLost(Signed):
    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        matrix[chosen(draws, 50), :, -1] = 0
        return matrix


# Broken: arguments are changed, results are kept, and vectors of zeros are no vectors


@broken("changes its argument", "C1", effect="x is scaled in place")
class ScalesInPlace(Signed):
    def matrix(self, draws: Draws) -> Array:
        return np.sign(super().matrix(draws))

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        scale = self.b**-0.5

        def forward(inner: Sketch, x: Array) -> Array:
            if x.flags.writeable:
                x *= x.dtype.type(scale)
                return inner._sketch(x)
            return inner._sketch(x * x.dtype.type(scale))

        return Altered(sketch, forward=forward, back=lambda inner, y: inner._desketch(y * y.dtype.type(scale)))


@broken("changes its argument", "C1", effect="y is zeroed after desketching")
class ZeroesSketch(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def back(inner: Sketch, y: Array) -> Array:
            x = inner._desketch(y)
            if y.flags.writeable:
                y[:] = 0
            return x

        return Altered(sketch, back=back)


@broken("keeps state", "C1", "C4", effect="every second call is scaled by 1.01")
class EverySecondCall(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        calls = [0]

        def forward(inner: Sketch, x: Array) -> Array:
            calls[0] += 1
            return inner._sketch(x) * x.dtype.type(1.01 if calls[0] % 2 == 0 else 1)

        return Altered(sketch, forward=forward)


@broken("keeps state", "C1", "C4", effect="the result of the last call is overwritten")
class OneBuffer(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        buffers: dict[Any, Array] = {}

        def back(inner: Sketch, y: Array) -> Array:
            x = inner._desketch(y)
            kept = buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
            kept[:] = x
            return kept

        return Altered(sketch, back=back)


@broken("keeps state", "C1", effect="remembered by the first entry and the shape")
class RemembersByFirstEntry(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        memory: dict[Any, Array] = {}

        def forward(inner: Sketch, x: Array) -> Array:
            place = (x.shape, x.dtype, float(x.flat[0]) if x.size else 0.0)
            if place not in memory:
                memory[place] = inner._sketch(x)
            return memory[place].copy()

        return Altered(sketch, forward=forward)


@broken("keeps state", "C1", effect="remembered by id(x)")
class RemembersById(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        memory: dict[Any, Array] = {}

        def forward(inner: Sketch, x: Array) -> Array:
            base = x if x.base is None else x.base
            place = (id(base), x.shape, x.dtype)
            if place not in memory:
                memory[place] = inner._sketch(x)
            return memory[place].copy()

        return Altered(sketch, forward=forward)


@broken("keeps state", *NEVER, effect="wrong from the thousandth call of one operator")
class WearsOut(Signed):
    """Nothing calls one operator so often in a check."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        calls = [0]

        def forward(inner: Sketch, x: Array) -> Array:
            calls[0] += 1
            return inner._sketch(x) * x.dtype.type(1 if calls[0] < 1000 else 2)

        return Altered(sketch, forward=forward)


@broken("not finite", "C1", "C4", effect="0/0 for a vector of zeros")
class DividesByNorm(Signed):
    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def forward(inner: Sketch, x: Array) -> Array:
            norm = np.sqrt((x**2).sum(axis=-1, keepdims=True))
            with np.errstate(invalid="ignore"):
                return inner._sketch(x / norm) * norm

        return Altered(sketch, forward=forward)


# Broken: beside what the checks look at first: sizes, flags, methods that are overridden, blocks of rows


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

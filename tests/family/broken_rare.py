"""Broken: most operators are right, and few are not."""

import numpy as np
from building import Altered, Array, Signed, chosen, numbers
from specimen import broken, variants

from sketchbench.sketch.draws import ROWS, Draws
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

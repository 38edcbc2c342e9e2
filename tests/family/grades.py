"""Families that are broken by a stated amount; `smallest` finds how small an effect the claims see."""

from dataclasses import dataclass

import numpy as np
from building import Altered, Array, Signed, numbers, renumbered

from sketchbench.sketch.draws import ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class Graded(Signed):
    """Broken by `amount`."""

    amount: float = 0.0

    def struck(self, draws: Draws, rate: float) -> Array:
        """Of operators, at random with this rate: (T,) bool."""
        return draws.words(ROWS, 1)[:, 0] < rate * 2.0**32


class GradedNormal(Graded):
    """The same with normal entries, so that nothing is the same in all operators, and seen by that."""

    def matrix(self, draws: Draws) -> Array:
        return draws.gaussian_rows(ENTRIES, 0, self.b, self.d) * self.b**-0.5


class Scale(GradedNormal):
    """E[RᵀR] = (1 + amount) I."""

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * (1 + self.amount) ** 0.5


class FlatDirection(GradedNormal):
    """E[RᵀR] = I + amount uuᵀ, with u flat; d > 1."""

    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d == 1:
            return matrix
        return matrix + ((1 + self.amount) ** 0.5 - 1) * matrix.mean(axis=-1, keepdims=True)


class SkewDirection(GradedNormal):
    """The same with a direction u that no candidate of a search looks like."""

    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d == 1:
            return matrix
        u = np.sin(1.7 * np.arange(1, self.d + 1) ** 1.3)
        u /= np.linalg.norm(u)
        return matrix + ((1 + self.amount) ** 0.5 - 1) * (matrix @ u)[..., None] * u


class OneEntry(Graded):
    """E[RᵀR] = I but for one entry and its mirror image, which are `amount`: two columns have something in common."""

    def matrix(self, draws: Draws) -> Array:
        matrix = super().matrix(draws)
        if self.d > 3:
            tied = draws.words(ROWS, self.b) < self.amount * 2.0**32
            matrix[..., 3] = np.where(tied, matrix[..., 1], matrix[..., 3])
        return matrix


class SharedEntries(Graded):
    """Each entry of every second operator is that of the one before with probability `amount`: the correlation."""

    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        kept = draws.words(ROWS, self.b * self.d).reshape(-1, self.b, self.d) < self.amount * 2.0**32
        kept &= (t % 2 == 1)[:, None, None]
        return np.where(kept, renumbered(draws, t - t % 2, super().matrix), super().matrix(draws))


class SharedOperators(Graded):
    """Every second operator is the one before with probability `amount`."""

    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        repeated = self.struck(draws, self.amount) & (t % 2 == 1)
        return renumbered(draws, t - repeated, super().matrix)


class SharedNorms(Graded):
    """Scales √(1 ± 0.5) of pairs, correlated by `amount`."""

    def matrix(self, draws: Draws) -> Array:
        t = numbers(draws)
        shared = self.struck(draws, self.amount) & (t % 2 == 1)
        signs = renumbered(draws, t - shared, lambda of: of.signs(SIGNS, 1))
        return super().matrix(draws) * np.sqrt(1 + 0.5 * signs)[..., None]


class RarelyZero(GradedNormal):
    """Zero, at this rate."""

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * ~self.struck(draws, self.amount)[:, None, None]


class RarelyScaled(GradedNormal):
    """Scaled by 1.1, at this rate."""

    def matrix(self, draws: Draws) -> Array:
        return super().matrix(draws) * np.where(self.struck(draws, self.amount), 1.1, 1.0)[:, None, None]


class RarelyNotLinear(Graded):
    """x |x| in the place of x, at this rate."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        bad = self.struck(draws, self.amount)[:, None, None]

        def forward(inner: Sketch, x: Array) -> Array:
            return inner._sketch(np.where(bad, x * abs(x), x).astype(x.dtype) if bad.any() else x)

        return Altered(sketch, forward=forward)


class RarelyNoTranspose(Graded):
    """Desketching is scaled by 1.001, at this rate."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        factors = np.where(self.struck(draws, self.amount), 1.001, 1.0)[:, None, None]
        return Altered(sketch, back=lambda inner, y: inner._desketch(y) * factors.astype(y.dtype))


class NotLinear(Graded):
    """x + amount x³/‖x‖², at every operator: relative to the vector."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        def forward(inner: Sketch, x: Array) -> Array:
            square = (x**2).sum(axis=-1, keepdims=True) + np.finfo(x.dtype).tiny
            return inner._sketch(x + x.dtype.type(self.amount) * x**3 / square)

        return Altered(sketch, forward=forward)


class NoTranspose(Graded):
    """Desketching is scaled by 1 + amount."""

    def alter(self, sketch: Sketch, draws: Draws) -> Sketch:
        return Altered(sketch, back=lambda inner, y: inner._desketch(y) * y.dtype.type(1 + self.amount))

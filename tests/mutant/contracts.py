"""Sketch families that break the contract, each in a way of its own; others are in tests/family."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch import AMS, Family, Sketch, SubsampledHadamard, UniformSampling
from sketchbench.sketch.broken import Matrices, Wrapped
from sketchbench.sketch.draws import Draws

Change = Callable[[Draws, int, int], Array]  # of draws, d and b: the matrices (T, b, d)


def signs(draws: Draws, d: int, b: int) -> Array:
    return AMS(d, b)._draw(draws).materialize()


def under(draws: Draws, **changes: Any) -> Draws:
    return dataclasses.replace(draws, **changes)


def numbers(draws: Draws) -> Array:
    return np.arange(draws.first, draws.first + draws.operators)


def of_numbers(draws: Draws, number_of: Callable[[int], int], d: int, b: int) -> Array:
    """Operators whose numbers are those of others, of one stack that has all of them."""
    wanted = np.array([number_of(int(t)) for t in numbers(draws)])
    first, last = int(wanted.min()), int(wanted.max())
    return signs(under(draws, first=first, operators=last - first + 1), d, b)[wanted - first]


@dataclass(frozen=True)
class Dense(Family):
    """Dense matrices as one of the functions below makes them, by its name."""

    make: str = ""

    def _draw(self, draws: Draws) -> Sketch:
        return Matrices(draws, np.asarray(globals()[self.make](draws, self.d, self.b)))


# C5: bits of the key that don't count


def a_column_for_all_keys(draws: Draws, d: int, b: int) -> Array:
    drawn = signs(draws, d, b)
    drawn[..., 0] = signs(under(draws, key=0), d, b)[..., 0]
    return drawn


def a_row_of_half_the_key(draws: Draws, d: int, b: int) -> Array:
    drawn = signs(draws, d, b)
    drawn[:, 0] = signs(under(draws, key=draws.key % 2**32), d, b)[:, 0]
    return drawn


# C6: operators of a stack that depend on one another


def shared_column(draws: Draws, d: int, b: int) -> Array:
    """The last column is the first one of the operator before."""
    longer = signs(under(draws, first=max(draws.first - 1, 0), operators=draws.operators + 1), d, b)
    drawn = longer[-draws.operators :] if draws.first else longer[: draws.operators]
    before = longer[: draws.operators] if draws.first else np.concatenate([longer[:1], longer[: draws.operators - 1]])
    drawn = drawn.copy()
    drawn[..., -1] = before[..., 0]
    return drawn


def every_500th_again(draws: Draws, d: int, b: int) -> Array:
    return of_numbers(draws, lambda t: t % 500, d, b)


def permuted_by_7(draws: Draws, d: int, b: int) -> Array:
    """Operators 7 apart, in alternate runs of 7, have the same columns in another order."""
    drawn = of_numbers(draws, lambda t: t - 7 * (t // 7 % 2), d, b)
    odd = numbers(draws) // 7 % 2 == 1
    drawn[odd] = drawn[odd][..., ::-1]
    return drawn


def same_up_to_signs(draws: Draws, d: int, b: int) -> Array:
    """Operators 2i and 2i + 1 differ by random signs of all rows and all columns."""
    drawn = of_numbers(draws, lambda t: t - t % 2, d, b)
    rows, columns = (draws.signs(stream, count).astype(float) for stream, count in ((5, b), (6, d)))
    return drawn * rows[:, :, None] * columns[:, None, :]


# Wrong methods of sound operators


@dataclass(frozen=True)
class Method(Family):
    """AMS with a method replaced, as the functions below do it, by its name."""

    name: str = ""
    change: str = ""

    def _draw(self, draws: Draws) -> Sketch:
        inner = AMS(self.d, self.b)._draw(draws)
        change = globals()[self.change]
        return Wrapped(inner, **{self.name: lambda inner, v: change(getattr(inner, self.name)(v), v)})


def shifted(result: Array, v: Array) -> Array:
    return result + 1e-9


def by_the_batch(result: Array, v: Array) -> Array:
    """The last vector of a batch of more than ten counts for nothing."""
    return result * (np.arange(result.shape[1]) < 10)[None, :, None]


def a_billionth(result: Array, v: Array) -> Array:
    return result * (1 + 1e-9)


def every_500th_doubled(result: Array, v: Array) -> Array:
    """Whose faults are found by number only where the stack is large."""
    return result * (1 + (np.arange(len(result)) % 500 == 499))[:, None, None]


# E[RᵀR]


@dataclass(frozen=True)
class RowNeverSampled(SubsampledHadamard):
    """SRHT without signs, that never samples the last row of the transform."""

    signs: bool = False

    def _draw(self, draws: Draws) -> Any:
        sampled = super()._draw(draws)
        sampled._rows = np.sort(UniformSampling(self.n - 1, self.b)._draw(draws)._rows, axis=-1)
        return sampled

    def check(self) -> None:
        UniformSampling(self.n - 1, self.b)


def every_100th_nothing(draws: Draws, d: int, b: int) -> Array:
    return signs(draws, d, b) * (numbers(draws) % 100 != 99)[:, None, None]

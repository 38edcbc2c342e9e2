"""Deliberately broken sketches: each breaks one promise of its family and keeps the others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch import hashing
from sketchbench.sketch.ams import AMS
from sketchbench.sketch.balanced import BalancedCountSketch
from sketchbench.sketch.count_sketch import CountSketch
from sketchbench.sketch.dense import Dense
from sketchbench.sketch.draws import BUCKETS, ENTRIES, ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.gaussian import Gaussian
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered
from sketchbench.sketch.sparse import SparseEmbedding
from sketchbench.sketch.transform import SubsampledHadamard
from sketchbench.sketch.uniform import UniformSampling


def _count_sketch(draws: Draws, b: int, rows: Array, signs: Array) -> Scattered:
    return Scattered(draws.kernels, b, rows[:, None], signs.astype("int8")[:, None])


def rescaled(name: str, base: type[Family], scale: Callable[[Any], float]) -> Any:
    """A family like `base` whose operators have another scale, computed from the family."""

    def _draw(self: Any, draws: Draws) -> Any:
        sketch = base._draw(self, draws)
        sketch._scale = scale(self)
        return sketch

    return type(name, (base,), {"_draw": _draw, "__module__": __name__})


SparseUnscaled = rescaled("SparseUnscaled", SparseEmbedding, lambda family: 1.0)
SamplingScaledByB = rescaled("SamplingScaledByB", UniformSampling, lambda family: (family.d / (family.b + 1)) ** 0.5)
SamplingTwice = rescaled("SamplingTwice", UniformSampling, lambda family: 2 * (family.d / family.b) ** 0.5)
# d is taken for the padded length n.
PaddingMixedUp = rescaled("PaddingMixedUp", SubsampledHadamard, lambda family: (family.d / family.b) ** 0.5)
CountSketchTwice = rescaled("CountSketchTwice", CountSketch, lambda family: 2.0)
# The error no longer falls with b.
CountSketchGrowing = rescaled("CountSketchGrowing", CountSketch, lambda family: (1 + family.b) ** 0.5)


class GaussianUnscaled(Gaussian):
    """The scale is missing: N(0, 1) entries."""

    def _draw(self, draws: Draws) -> Dense:
        def rows_of(row: int, rows: int) -> Array:
            return draws.gaussian_rows(ENTRIES, row, rows, self.d)

        return Dense(draws.kernels, self.d, self.b, draws.operators, rows_of)


class SignsTwoWise(AMS):
    """Signs pairwise independent only: random rows of a Walsh-Hadamard matrix, unbiased."""

    def _draw(self, draws: Draws) -> Dense:
        n = 1 << (self.d - 1).bit_length()
        rows = draws.integers(ROWS, self.b, n)
        flips = draws.signs(SIGNS, self.b)

        def rows_of(row: int, count: int) -> Array:
            part = rows[:, row : row + count, None] & np.arange(self.d)
            parity = np.bitwise_count(part) % 2
            return (1.0 - 2.0 * parity) * flips[:, row : row + count, None] * self.b**-0.5

        return Dense(draws.kernels, self.d, self.b, draws.operators, rows_of)


class SignsBiased(CountSketch):
    """A sign is +1 with probability 3/4."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        signs = np.maximum(draws.signs(SIGNS, self.d), draws.signs(ENTRIES, self.d))
        return _count_sketch(draws, self.b, rows, signs)


class ColumnDropped(CountSketch):
    """The first column is zero."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        signs = hashing.signs(draws, self.hashing, self.d).copy()
        signs[:, 0] = 0
        return _count_sketch(draws, self.b, rows, signs)


class TwoColumnsMeet(CountSketch):
    """Two columns always share a bucket: for these alone the variance is b times what it should be."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b).copy()
        rows[:, 2] = rows[:, 1]
        return _count_sketch(draws, self.b, rows, hashing.signs(draws, self.hashing, self.d))


class BucketNeverUsed(CountSketch):
    """An off-by-one bucket range: the last bucket stays empty."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = draws.integers(BUCKETS, self.d, self.b - 1)
        return _count_sketch(draws, self.b, rows, draws.signs(SIGNS, self.d))


class RowsRepeat(SparseEmbedding):
    """Rows of a column drawn with replacement where without is claimed."""

    def _draw(self, draws: Draws) -> Scattered:
        shape = (draws.operators, self.s, self.d)
        rows = draws.integers(BUCKETS, self.s * self.d, self.b).reshape(shape)
        signs = draws.signs(SIGNS, self.s * self.d).reshape(shape)
        return Scattered(draws.kernels, self.b, rows, signs, self.s**-0.5)


def sampled(family: SubsampledHadamard, draws: Draws, rows: Array) -> Sampled:
    """The family's operator with other rows."""
    scale = (family.n / family.b) ** 0.5
    signs = draws.signs(SIGNS, family.d) if family.signs else None
    transforms = family._transforms(draws.kernels)
    return Sampled(draws.kernels, family.d, family.n, rows, scale, signs, *transforms)


class TransformRowsRepeat(SubsampledHadamard):
    """Rows of the transform drawn with replacement where without is claimed."""

    def _draw(self, draws: Draws) -> Sampled:
        return sampled(self, draws, draws.integers(ROWS, self.b, self.n))


class SamplingRowsRepeat(UniformSampling):
    """Coordinates sampled with replacement where without is claimed."""

    def _draw(self, draws: Draws) -> Sampled:
        rows = draws.integers(ROWS, self.b, self.d)
        signs = draws.signs(SIGNS, self.d)
        return Sampled(draws.kernels, self.d, self.d, rows, (self.d / self.b) ** 0.5, signs)


class PaddingSampledFromFront(SubsampledHadamard):
    """Rows are sampled from the first d of the n rows of the transform only."""

    def _draw(self, draws: Draws) -> Sampled:
        return sampled(self, draws, draws.subset(ROWS, self.b, self.d))


class SignsMissing(SubsampledHadamard):
    """No random signs before the transform."""

    def _draw(self, draws: Draws) -> Sampled:
        return SubsampledHadamard(self.d, self.b, signs=False)._draw(draws)


class BalancedByChance(BalancedCountSketch):
    """Buckets drawn independently: no longer balanced."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = draws.integers(BUCKETS, self.d, self.b)
        return _count_sketch(draws, self.b, rows, draws.signs(SIGNS, self.d))


class _NotTheAdjoint(Scattered):
    """Desketching forgets the signs."""

    _project = Sketch._project  # also where both are done in one step

    def _desketch(self, y: Array) -> Array:
        rows, signs, b = self._matrix
        return self.kernels.gather(self.kernels.prepare(rows, abs(signs), b), y)


class DesketchNotAdjoint(CountSketch):
    """Desketching is another matrix than the transpose of sketching."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        signs = hashing.signs(draws, self.hashing, self.d)
        return _NotTheAdjoint(draws.kernels, self.b, rows[:, None], signs[:, None])


class OperatorReused(CountSketch):
    """Every trial gets the operator of the first one."""

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        signs = hashing.signs(draws, self.hashing, self.d)
        first = Draws(draws.key, 0, 1, draws.kernels)
        row = hashing.buckets(first, self.hashing, self.d, self.b)
        sign = hashing.signs(first, self.hashing, self.d)
        return _count_sketch(draws, self.b, row + 0 * rows, sign + 0 * signs)

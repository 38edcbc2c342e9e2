"""Deliberately broken recoveries, and sensing that they can't work with: each breaks one promise."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from operators import sampled

from sketchbench.kernels import Array
from sketchbench.sketch.draws import ROWS, Draws
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery import FIHT, CountSketchMedian, Recovered
from sketchbench.sketch.recovery.iterative import Iterate, Signals, iterate_at, take
from sketchbench.sketch.recovery.recovery import keep_largest
from sketchbench.sketch.sampled import Sampled
from sketchbench.sketch.scattered import Scattered
from sketchbench.sketch.transform import SubsampledHadamard


class _AdjointUnscaled(Sampled):
    def _desketch(self, y: Array) -> Array:
        return super()._desketch(y / y.dtype.type(self._scale))


class DesketchUnscaled(SubsampledHadamard):
    """Desketching misses its factor √(n/b)."""

    def _draw(self, draws: Draws) -> Sampled:
        return _as(_AdjointUnscaled, super()._draw(draws))


def _as(kind: Any, sketch: Any) -> Any:
    """The same operator with the methods of a subclass."""
    sketch.__class__ = kind
    return sketch


@dataclass(frozen=True)
class RowsFromFront(SubsampledHadamard):
    """All b rows are sampled from the first 1/64 of the transform's."""

    replacement: bool = True

    def _draw(self, draws: Draws) -> Sampled:
        return sampled(self, draws, draws.integers(ROWS, self.b, self.n // 64))


class SmallestKept(FIHT):
    """The support is that of the k smallest magnitudes."""

    def _keep(self, phi: Sketch, y: Array, estimate: Array, domain: int) -> Iterate:
        smallest = float(np.finfo(estimate.dtype).tiny)  # nothing is divided by zero, and nothing overflows
        at = phi.kernels.largest(1 / (smallest + abs(estimate[:, :domain])), self.k)
        return iterate_at(phi, y, at, take(phi, estimate, at))


class SupportOfBefore(FIHT):
    """Every iteration keeps the support of the iterate before it."""

    def _next(self, phi: Sketch, state: Signals, domain: int) -> Iterate:
        def keep(phi: Sketch, y: Array, estimate: Array, domain: int) -> Iterate:
            return iterate_at(phi, y, state.g.at, take(phi, estimate, state.g.at))

        return FIHT._next(cast(FIHT, SimpleNamespace(_keep=keep)), phi, state, domain)


class ResidualStale(FIHT):
    """The second step goes along the residual from before the thresholding."""

    def _next(self, phi: Sketch, state: Signals, domain: int) -> Iterate:
        def desketch(residual: Array, check_finite: bool) -> Array:
            return phi.desketch(state.w.residual, check_finite=False)

        stale = SimpleNamespace(kernels=phi.kernels, desketch=desketch, sketch_sparse=phi.sketch_sparse)
        return super()._next(cast(Sketch, stale), state, domain)


class OneFewer(FIHT):
    """k - 1 entries are kept."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return FIHT._recover(replace(self, k=self.k - 1), sketch, y)


class OneMore(FIHT):
    """k + 1 entries are kept."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return FIHT._recover(replace(self, k=self.k + 1), sketch, y)


class StoppingAbsolute(FIHT):
    """The relative stopping rule forgets what it is relative to."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return FIHT._recover(replace(self, stopping="paper"), sketch, y)


class OneUnit(FIHT):
    """Measurements are taken as they are, even where their squares leave the range of the type."""

    def _recover_in_range(self, sketch: Sketch, y: Array) -> Recovered:
        return self._recover(sketch, y)


class UnitOfTheBatch(FIHT):
    """All signals are recovered in the unit of the largest one."""

    def _recover_in_range(self, sketch: Sketch, y: Array) -> Recovered:
        unit = abs(y).max(initial=0) or y.dtype.type(1)
        found = self._recover(sketch, y / unit)
        return Recovered(found.x * unit, found.iterations, found.trace * unit)


class MedianUnsigned(CountSketchMedian):
    """The median of the cells, without their signs."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        assert isinstance(sketch, Scattered)
        kernels = sketch.kernels
        rows, signs, b = sketch._matrix
        unsigned = kernels.prepare(rows, abs(signs), b)
        return keep_largest(kernels, kernels.median(unsigned, y[None])[0] / sketch._scale, self.k)

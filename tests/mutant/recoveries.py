"""Deliberately broken recoveries, and sensing that they can't work with: each breaks one promise."""

import itertools
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from operators import sampled

from sketchbench.kernels import Array
from sketchbench.sketch.draws import ROWS, Draws
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery import FIHT, CountSketchMedian, Desketch, Recovered
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


# Mutants of the contract, R1 to R7


def _scaled(found: Recovered, factors: Any) -> Recovered:
    return found._replace(x=(found.x * factors).astype(found.x.dtype))


class ManyNonzeros(FIHT):
    """50 nonzeros where k may be smaller."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return FIHT._recover(replace(self, k=min(max(self.k, 50), sketch.d)), sketch, y)


class Singular(Desketch):
    """Normal equations that are singular for more entries than measurements."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return _scaled(super()._recover(sketch, y), 1 if self.k <= sketch.b else np.nan)


class SinglePrecision(Desketch):
    """float64 is computed in float32."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return super()._recover(sketch, y.astype("float32"))


class SixteenBits(Desketch):
    """Places beyond 2^16 are lost."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return _scaled(super()._recover(sketch, y), np.arange(sketch.d) < 2**16)


class WrongAtOne(Desketch):
    """k = 1 is off by one place."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return found._replace(x=np.roll(found.x, 1, axis=1)) if self.k == 1 else found


class WrongAtAll(Desketch):
    """k = d forgets the last place."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return _scaled(super()._recover(sketch, y), np.arange(sketch.d) < sketch.d - (self.k == sketch.d > 1))


class NegativeTooSmall(FIHT):
    """Negative entries are 3 % too small; so the report is false, too."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return _scaled(found, np.where(found.x < 0, 0.97, 1.0))


class FlatTrace(FIHT):
    """The whole trace is its last number."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        last = found.trace[np.arange(len(y)), found.iterations - 1][:, None]
        return found._replace(trace=np.where(np.isnan(found.trace), found.trace, last))


class LargeBatches(Desketch):
    """Batches of 128 signals and more are computed in float16."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return found if len(y) < 128 else found._replace(x=found.x.astype("float16").astype(y.dtype))


class WrongInStacks(Desketch):
    """A stack decodes the measurements of other operators."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return super()._recover(sketch, y if sketch.operators is None else np.roll(y, 1, axis=0))


class StacksOfFive(Desketch):
    """Stacks of five operators and more decode the measurements of other operators."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return super()._recover(sketch, np.roll(y, (sketch.operators or 0) > 4, axis=0))


class EightOfSeven(Desketch):
    """k = 7 keeps eight entries."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return Desketch(min(self.k + (self.k == 7), sketch.d))._recover(sketch, y)


class ElevenBits(Desketch):
    """float32 estimates have the precision of float16."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        mantissas, exponents = np.frexp(found.x)
        half = np.ldexp(np.round(mantissas * 2**11) / 2**11, exponents)
        return found._replace(x=half.astype(y.dtype) if y.dtype == np.float32 else found.x)


class GlobalNoise(Desketch):
    """Noise from NumPy's global generator."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return _scaled(found, 1 + 1e-3 * np.random.standard_normal(found.x.shape))  # noqa: NPY002


_CALLS = itertools.count()


class TenthCall(Desketch):
    """Every tenth call keeps an entry less."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return Desketch(max(1, self.k - (next(_CALLS) % 10 == 9)))._recover(sketch, y)


class HashSeed(CountSketchMedian):
    """Estimates depend on Python's hash seed, which differs between processes."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        share = hash("recovery") % 2**20 / 2**20
        return _scaled(super()._recover(sketch, y), 1 + 1e-3 * share * (1 < self.k < sketch.d))


class Overwrites(Desketch):
    """Measurements are overwritten by zeros."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        y *= 0
        return found


class Ceiling(Desketch):
    """Entries end at 1e6."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return found._replace(x=found.x.clip(-1e6, 1e6).astype(y.dtype))


class PrefersFront(Desketch):
    """Entries count less for the support, the later they stand."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        weights = np.linspace(1, 0.9, sketch.d)
        found = keep_largest(sketch.kernels, (sketch.desketch(y) * weights).astype(y.dtype), self.k)
        return found._replace(x=sketch.desketch(y) * (found.x != 0))


class ForgetsFirst(CountSketchMedian):
    """The first cell counts as 0."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return super()._recover(sketch, y * (np.arange(sketch.b) > 0).astype(y.dtype))


class AcceptsAll(Desketch):
    """NaN and infinities count as 0 and as large numbers."""

    def recover(self, sketch: Sketch, y: Array) -> Recovered:
        return super().recover(sketch, np.nan_to_num(y))


class IgnoresFirst(Desketch):
    """NaN and infinities of all signals but the last count as 0."""

    def recover(self, sketch: Sketch, y: Array) -> Recovered:
        rest = np.nan_to_num(y[:-1], posinf=0, neginf=0)
        return super().recover(sketch, np.concatenate([rest, y[-1:]]))


class StacksOfHundred(Desketch):
    """Stacks of more than 128 operators decode the first 128 measurements again."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return super()._recover(sketch, y[np.arange(len(y)) % 128] if sketch.operators else y)


class FewerInSingle(FIHT):
    """float32 is stopped after four iterations."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        most = min(self.iterations, 4) if y.dtype == np.float32 else self.iterations
        return FIHT._recover(replace(self, iterations=most), sketch, y)

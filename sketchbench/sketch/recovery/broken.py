"""Negative controls of the contract of recoveries: each class breaks the part in its name."""

from dataclasses import dataclass, replace

import numpy as np

from sketchbench.kernels import Array
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.count_sketch import CountSketchMedian
from sketchbench.sketch.recovery.desketch import Desketch
from sketchbench.sketch.recovery.iht import IHT
from sketchbench.sketch.recovery.recovery import Recovered

UNIT = 2.0**-40  # entries below it count as 0 for `AbsoluteThreshold`


class OneMore(Desketch):
    """Desketching that keeps one entry more than k."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return Desketch(min(self.k + 1, sketch.d))._recover(sketch, y)


class TooSmall(Desketch):
    """Desketching with estimates that are 3 % too small."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return found._replace(x=found.x * y.dtype.type(0.97))


class FalseReport(IHT):
    """IHT that reports one iteration and a residual of 0."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return Recovered(found.x, found.iterations**0, 0 * y[:, :1])


class Together(IHT):
    """IHT that stops all signals of a call as soon as one of them stops."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        least = int(super()._recover(sketch, y).iterations.min(initial=self.iterations))
        return IHT._recover(replace(self, iterations=least), sketch, y)


class Reseeding(Desketch):
    """Desketching that seeds NumPy's global generator."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        np.random.seed(0)  # noqa: NPY002
        return super()._recover(sketch, y)


class AbsoluteThreshold(Desketch):
    """Desketching that takes entries below an absolute threshold for 0."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        found = super()._recover(sketch, y)
        return found._replace(x=found.x * (abs(found.x) >= UNIT))


@dataclass(frozen=True)
class Deaf(CountSketchMedian):
    """The median of a table whose last cell counts as 0."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        heard = y.copy()
        heard[:, -1] = 0
        return super()._recover(sketch, heard)

"""Negative controls: useless decoders, which claims about recoveries must reject."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovered, Recovery, keep_largest


@dataclass(frozen=True)
class Nothing(Recovery):
    """The estimate is always 0, so that an algorithm that steps by it does not move."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return keep_largest(sketch.kernels, sketch.kernels.xp.zeros((len(y), sketch.d), dtype=y.dtype), self.k)

"""Negative controls: decoders that recover nothing of use, which the claims about recoveries must reject."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.recovery.recovery import Recovered, Recovery, thresholded
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class Nothing(Recovery):
    """The estimate is 0, whatever was measured. An algorithm that steps by it stands still."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return thresholded(sketch.kernels, sketch.kernels.xp.zeros((len(y), sketch.d), dtype=y.dtype), self.k)

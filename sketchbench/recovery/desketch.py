"""Desketching, cut to the largest entries: the estimate RᵀRx of song2023 in place of the decoder of tang2021."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.recovery.recovery import Recovered, Recovery, thresholded
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class Desketch(Recovery):
    """The k largest entries of Rᵀy, for any sketch. O(d) and one desketch for each signal."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return thresholded(sketch.kernels, sketch.desketch(y, check_finite=False), self.k)

"""Desketching, cut to the largest entries: song2023's estimate RᵀRx in the place of tang2021's decoder."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.recovery.recovery import Recovered, Recovery, thresholded
from sketchbench.sketch.operator import Sketch


@dataclass(frozen=True)
class Desketch(Recovery):
    """The k largest entries of Rᵀy, for any sketch. O(d) and one desketch."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return thresholded(sketch.kernels, sketch.desketch(y, check_finite=False), self.k)

"""Desketching, cut to the largest entries: the estimate Rᵀy of song2023 instead of a decoder."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovered, Recovery, keep_largest


@dataclass(frozen=True)
class Desketch(Recovery):
    """The k entries of largest magnitude of Rᵀy, for any sketch. Rᵀy estimates x without bias (song2023 Theorem 4.2),
    with noise of the size of ‖x‖ in every coordinate. It costs one `desketch` and O(d) for each signal."""

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        return keep_largest(sketch.kernels, sketch.desketch(y, check_finite=False), self.k)

"""The decoding of CountSketch by medians (Charikar, Chen, Farach-Colton 2002; tang2021 Appendix C)."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.recovery.recovery import Recovered, Recovery, thresholded
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class CountSketchMedian(Recovery):
    """The k largest of the medians over the rows of a CountSketch. O(r log(r) d) for each signal.

    A table of r rows and c columns is `BlockSparseEmbedding(d, b=r*c, s=r)`: each block of c cells is one row. For
    even r the median is the mean of the middle two. Other kinds of sketches are refused with a TypeError.
    """

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        if not isinstance(sketch, Scattered):
            raise TypeError(
                f"the median decodes sketches with a few signed cells per coordinate, not "
                f"{type(sketch).__name__}; use BlockSparseEmbedding or CountSketch"
            )
        return thresholded(sketch.kernels, sketch.median(y), self.k)

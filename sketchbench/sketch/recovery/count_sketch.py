"""Decoding of CountSketch by medians (Charikar, Chen, Farach-Colton 2002; tang2021 Appendix C)."""

from dataclasses import dataclass
from typing import Literal

from sketchbench.kernels import Array
from sketchbench.sketch.operator import Sketch
from sketchbench.sketch.recovery.recovery import Recovered, Recovery, keep_largest
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class CountSketchMedian(Recovery):
    """The k entries of largest magnitude among medians over the rows of a CountSketch table.

    A table of r rows and c columns is a sketch by `BlockSparseEmbedding(d, b=r*c, s=r)`, whose blocks are the rows.
    Every row gives an estimate of every coordinate, sign * cell; their median is far off only if half of the rows have
    collisions with large entries (Charikar, Chen, Farach-Colton 2002). It costs O(r log(r) d) for each signal, without
    iterations. Other sketches raise TypeError.

    Arguments:
        middle: of an even number of rows: the `mean` of the middle two, or their `lower` one, as in torch's median and
            so in CSVec, the library of tang2021 Appendix C.2.
    """

    middle: Literal["mean", "lower"] = "mean"

    def _recover(self, sketch: Sketch, y: Array) -> Recovered:
        if not isinstance(sketch, Scattered):
            raise TypeError(
                f"the median decodes sketches with a few signed cells per coordinate, not "
                f"{type(sketch).__name__}; use BlockSparseEmbedding or CountSketch"
            )
        return keep_largest(sketch.kernels, sketch.median(y, lower=self.middle == "lower"), self.k)

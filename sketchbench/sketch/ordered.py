"""Negative control: the first rows of a Walsh-Hadamard matrix instead of random rows."""

from dataclasses import dataclass
from typing import ClassVar

from sketchbench.kernels import Array, index_type
from sketchbench.sketch.draws import ROWS, Draws
from sketchbench.sketch.transform import SubsampledHadamard


@dataclass(frozen=True)
class RowsInOrder(SubsampledHadamard):
    """The first b rows of the transform: columns whose distance is a power of two >= b are equal up to the sign."""

    random: ClassVar[bool] = False

    def _rows(self, draws: Draws) -> Array:
        in_order: Array = draws.kernels.xp.arange(self.b, dtype=index_type(self.b))
        return in_order + 0 * draws.integers(ROWS, self.b, 1)  # for each operator

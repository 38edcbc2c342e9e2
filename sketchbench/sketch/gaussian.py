"""Random Gaussian matrices."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch.dense import Dense
from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.family import Family


@dataclass(frozen=True)
class Gaussian(Family):
    """Independent N(0, 1/b) entries (song2023 Definition D.2)."""

    def _draw(self, draws: Draws) -> Dense:
        def rows_of(row: int, rows: int) -> Array:
            return draws.gaussian_rows(ENTRIES, row, rows, self.d) * self.b**-0.5

        return Dense(draws.kernels, self.d, self.b, draws.operators, rows_of)

"""Random Gaussian matrices."""

from dataclasses import dataclass

from sketchbench.sketch.dense import Generated
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family


@dataclass(frozen=True)
class Gaussian(Family):
    """Independent N(0, 1/b) entries (song2023 Definition D.2)."""

    def _draw(self, draws: Draws) -> Generated:
        return Generated(draws, self.d, self.b, "gaussian", self.b**-0.5)

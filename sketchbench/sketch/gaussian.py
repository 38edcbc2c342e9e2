"""Gaussian sketches."""

from dataclasses import dataclass

from sketchbench.sketch.dense import Generated
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family


@dataclass(frozen=True)
class Gaussian(Family):
    """R with independent N(0, 1/b) entries (song2023 Definition D.2). E[RᵀR] = I. The estimate gᵀRᵀRh of gᵀh has the
    variance (‖g‖²‖h‖² + (gᵀh)²)/b (`theory.second_moment.gaussian`), and E‖RᵀRh - h‖² = (d + 1)/b ‖h‖². Sketching or
    desketching costs O(b d), to generate and multiply; large matrices are never stored."""

    def _draw(self, draws: Draws) -> Generated:
        return Generated(draws, self.d, self.b, "gaussian", self.b**-0.5)

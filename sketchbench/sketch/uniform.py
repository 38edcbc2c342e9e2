"""Uniform sampling of coordinates as a sketch."""

from dataclasses import dataclass

from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled


@dataclass(frozen=True)
class UniformSampling(Family):
    """b <= d coordinates, sampled without replacement, times √(d/b) and random signs (song2023 Definition D.8).
    E[RᵀR] = I. With u_i = g_i h_i, the estimate gᵀRᵀRh of gᵀh has the variance d(d - b)/(b(d - 1)) (Σu_i² - (Σu_i)²/d)
    (`theory.second_moment.uniform_sampling`), which is large for vectors with few large entries: the embedding constant
    a is d. E‖RᵀRh - h‖² = (d/b - 1)‖h‖². Sketching or desketching a vector costs O(d)."""

    def check(self) -> None:
        require(self.b <= self.d, f"sampling b={self.b} coordinates without replacement needs b <= d={self.d}")

    def _draw(self, draws: Draws) -> Sampled:
        rows = draws.subset(ROWS, self.b, self.d)
        signs = draws.signs(SIGNS, self.d)
        return Sampled(draws.kernels, self.d, self.d, rows, (self.d / self.b) ** 0.5, signs)

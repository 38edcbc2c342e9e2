"""Uniform sampling of coordinates."""

from dataclasses import dataclass

from sketchbench.sketch.draws import ROWS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.sampled import Sampled


@dataclass(frozen=True)
class UniformSampling(Family):
    """b coordinates without replacement, with random signs, times sqrt(d/b) (Definition D.8)."""

    def check(self) -> None:
        require(
            self.b <= self.d,
            f"sampling b={self.b} coordinates without replacement needs b <= d={self.d}",
        )

    def _draw(self, draws: Draws) -> Sampled:
        rows = draws.subset(ROWS, self.b, self.d)
        signs = draws.signs(SIGNS, self.d)
        return Sampled(draws.kernels, self.d, self.d, rows, (self.d / self.b) ** 0.5, signs)

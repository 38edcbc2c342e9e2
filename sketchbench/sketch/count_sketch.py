"""CountSketch: one signed nonzero per column."""

from dataclasses import dataclass

from sketchbench.sketch import hashing
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.hashing import Hashing
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class CountSketch(Family):
    """Column j holds one sign in a random row (song2023 Definition D.5, zhang2021 §2).

    hashing: `full` for independent buckets and signs; `polynomial` for 2-wise independent buckets
    and 4-wise independent signs; `logarithmic` for ⌈log₂ d⌉-wise independence of both.
    """

    hashing: Hashing = "full"

    def check(self) -> None:
        hashing.check_hashing(self.hashing)

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        signs = hashing.signs(draws, self.hashing, self.d)
        return Scattered(draws.kernels, self.b, rows[:, None], signs[:, None])

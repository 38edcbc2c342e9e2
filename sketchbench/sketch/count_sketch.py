"""CountSketch: a family with one signed nonzero in every column."""

from dataclasses import dataclass

from sketchbench.sketch import hashing
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.hashing import Hashing
from sketchbench.sketch.scattered import Scattered


@dataclass(frozen=True)
class CountSketch(Family):
    """R whose column j holds one random sign, in a random row (song2023 Definition D.5, zhang2021 §2). E[RᵀR] = I.

    R x adds up the signed entries of x that share a row, their *bucket*. The estimate gᵀRᵀRh of gᵀh has the variance
    (‖g‖²‖h‖² + (gᵀh)² - 2Σ g_i²h_i²)/b, at most 2‖g‖²‖h‖²/b (`theory.second_moment.hashed`), and E‖RᵀRh - h‖² =
    (d - 1)/b ‖h‖². Sketching or desketching a vector costs O(d); an operator stores d buckets and d signs.

    Arguments:
        hashing: randomness of buckets and signs. `full`: all independent. `polynomial`: buckets 2-wise and signs 4-wise
            independent, which the second moments need. `logarithmic`: both ⌈log₂ d⌉-wise independent, at least 4-wise.

    >>> import numpy as np
    >>> R = CountSketch(d=6, b=3).draw(key=1)
    >>> abs(R.materialize()).sum(axis=0)  # one nonzero in every column
    array([1., 1., 1., 1., 1., 1.])
    """

    hashing: Hashing = "full"

    def check(self) -> None:
        hashing.check_hashing(self.hashing, self.d, self.b)

    def _draw(self, draws: Draws) -> Scattered:
        rows = hashing.buckets(draws, self.hashing, self.d, self.b)
        signs = hashing.signs(draws, self.hashing, self.d)
        return Scattered(draws.kernels, self.b, rows[:, None], signs[:, None])

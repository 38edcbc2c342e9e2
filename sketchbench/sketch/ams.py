"""AMS sketches: dense matrices of random signs."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch.dense import Dense, Generated
from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.hashing import Hashing, check_hashing, logarithm


@dataclass(frozen=True)
class AMS(Family):
    """R with entries ±1/√b, every row an independent function of signs (song2023 Definition D.4). E[RᵀR] = I.

    The estimate gᵀRᵀRh of gᵀh has the variance (‖g‖²‖h‖² + (gᵀh)² - 2Σ g_i²h_i²)/b (`theory.second_moment.hashed`), and
    E‖RᵀRh - h‖² = (d - 1)/b ‖h‖². Sketching or desketching costs O(b d), to generate signs and to multiply; large
    matrices are never stored.

    Arguments:
        hashing: randomness of the signs within a row. `full`: independent. `polynomial`: 4-wise independent, which the
            second moments need. `logarithmic`: ⌈log₂ d⌉-wise independent, at least 4-wise.
    """

    hashing: Hashing = "full"

    def check(self) -> None:
        check_hashing(self.hashing, self.d)

    def _draw(self, draws: Draws) -> Dense:
        if self.hashing == "full":
            return Generated(draws, self.d, self.b, "signs", self.b**-0.5)
        independence = 4 if self.hashing == "polynomial" else logarithm(self.d)
        polynomials = draws.polynomials(ENTRIES, self.b, independence)

        def rows_of(row: int, rows: int) -> Array:
            return draws.hash_signs(polynomials[:, row : row + rows], self.d) * self.b**-0.5

        return Dense(draws.kernels, self.d, self.b, draws.operators, rows_of)

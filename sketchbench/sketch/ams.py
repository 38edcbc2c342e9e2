"""AMS sketches: dense matrices of signs."""

from dataclasses import dataclass

from sketchbench.kernels import Array
from sketchbench.sketch.dense import Dense, Generated
from sketchbench.sketch.draws import ENTRIES, Draws
from sketchbench.sketch.family import Family
from sketchbench.sketch.hashing import Hashing, check_hashing, logarithm


@dataclass(frozen=True)
class AMS(Family):
    """Entries +-1/sqrt(b), every row a sign function of its own (song2023 Definition D.4).

    hashing: `full` for independent signs; `polynomial` for a 4-wise independent hash per row; `logarithmic` for a
    ⌈log₂ d⌉-wise independent one.
    """

    hashing: Hashing = "full"

    def check(self) -> None:
        check_hashing(self.hashing)

    def _draw(self, draws: Draws) -> Dense:
        if self.hashing == "full":
            return Generated(draws, self.d, self.b, "signs", self.b**-0.5)
        independence = 4 if self.hashing == "polynomial" else logarithm(self.d)
        polynomials = draws.polynomials(ENTRIES, self.b, independence)

        def rows_of(row: int, rows: int) -> Array:
            return draws.hash_signs(polynomials[:, row : row + rows], self.d) * self.b**-0.5

        return Dense(draws.kernels, self.d, self.b, draws.operators, rows_of)

"""CountSketch by a random permutation (zhang2021 Appendix E): all buckets are equally full."""

from dataclasses import dataclass
from typing import Literal, get_args

from sketchbench.base.parameters import choose
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.scattered import Scattered

Remainder = Literal["refuse", "paper"]


@dataclass(frozen=True)
class BalancedCountSketch(Family):
    """A random permutation deals d >= b signed columns into b buckets of equal size q = d/b (zhang2021 Appendix E).

    As in CountSketch, every column holds one random sign. R Rᵀ = q I: rows are orthogonal, as CountSketch's are, which
    have random norms. E[RᵀR] = I, the variance of gᵀRᵀRh is (q - 1)/(d - 1) (‖g‖²‖h‖² + (gᵀh)² - 2Σ g_i²h_i²)
    (`theory.second_moment.balanced`), and ‖RᵀRh‖² has the mean q‖h‖². Sketching or desketching costs O(d), drawing O(d
    log d).

    Arguments:
        remainder: treatment of a b that does not divide d. `refuse` raises SizeError; `paper` drops the last d mod b
            columns of the permutation, as the paper's listing does, and E[RᵀR] = I fails.
    """

    remainder: Remainder = "refuse"

    def check(self) -> None:
        choose("remainder", self.remainder, get_args(Remainder))
        require(self.b <= self.d, f"b={self.b} buckets need b <= d={self.d}")
        require(
            self.d % self.b == 0 or self.remainder == "paper",
            f"sketch size b={self.b} must divide d={self.d}; choose such a b, or set "
            "remainder=paper to drop columns as zhang2021 Appendix E does",
        )

    def _draw(self, draws: Draws) -> Scattered:
        position = draws.permutation(BUCKETS, self.d)  # of each column in the deal
        kept = position < self.d - self.d % self.b
        signs = draws.signs(SIGNS, self.d) * kept
        return Scattered(draws.kernels, self.b, (position % self.b)[:, None], signs.astype("int8")[:, None])

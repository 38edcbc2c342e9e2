"""The permutation-based CountSketch of zhang2021 Appendix E: every bucket equally full."""

from dataclasses import dataclass
from typing import Literal, get_args

from sketchbench.parameters import choose
from sketchbench.sketch.draws import BUCKETS, SIGNS, Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.scattered import Scattered

Remainder = Literal["refuse", "paper"]


@dataclass(frozen=True)
class BalancedCountSketch(Family):
    """A random permutation deals the columns into b buckets of q = d // b, each with a sign.

    remainder: what to do where b does not divide d. `refuse` is an error; `paper` drops the last
    d mod b columns of the permutation, as the paper's listing does, and E[RᵀR] is no longer I.
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
        position = draws.permutation(BUCKETS, self.d)  # of each column
        kept = position < self.d - self.d % self.b
        signs = draws.signs(SIGNS, self.d) * kept
        return Scattered(draws.kernels, self.b, (position % self.b)[:, None], signs.astype("int8")[:, None])

"""No compression: the baseline."""

from dataclasses import dataclass
from typing import ClassVar

from sketchbench.kernels import Array
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.operator import Sketch


class _Unchanged(Sketch):
    """R = I, for every operator of a stack."""

    def _sketch(self, x: Array) -> Array:
        return self.kernels.xp.repeat(x, (self.operators or 1) // x.shape[0], axis=0)

    def _desketch(self, y: Array) -> Array:
        return self._sketch(y)


@dataclass(frozen=True)
class Identity(Family):
    """R = I, so b = d."""

    random: ClassVar[bool] = False

    def check(self) -> None:
        require(self.b == self.d, f"the identity needs b = d, not b={self.b} and d={self.d}")

    def _draw(self, draws: Draws) -> _Unchanged:
        return _Unchanged(self.d, self.b, draws.kernels, draws.operators)

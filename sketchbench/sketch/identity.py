"""The identity as a sketch: no compression, the baseline of every comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sketchbench.kernels import Array
from sketchbench.sketch.draws import Draws
from sketchbench.sketch.family import Family, require
from sketchbench.sketch.operator import Sketch


class _Unchanged(Sketch):
    def _select(self, mask: Array) -> Sketch:
        return self._changed(operators=int(mask.sum()))

    def _join(self, others: Sequence[Any]) -> Sketch:
        return self._changed(operators=1 + len(others))

    def _sketch(self, x: Array) -> Array:
        return self.kernels.xp.repeat(x, (self.operators or 1) // x.shape[0], axis=0)

    def _desketch(self, y: Array) -> Array:
        return self._sketch(y)


@dataclass(frozen=True)
class Identity(Family):
    """R = I, without compression or randomness, with b = d: the baseline of comparisons."""

    random: ClassVar[bool] = False

    def check(self) -> None:
        require(self.b == self.d, f"the identity needs b = d, not b={self.b} and d={self.d}")

    def _draw(self, draws: Draws) -> _Unchanged:
        return _Unchanged(self.d, self.b, draws.kernels, draws.operators)
